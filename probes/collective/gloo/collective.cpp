#include "probes/collective/gloo/collective.h"

#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/transport/unbound_buffer.h>
#include <gloo/types.h>

#include "probes/collective/gloo/pattern.h"

namespace weft::probes {
namespace {

using ContextPtr = std::shared_ptr<::gloo::Context>;

// Gloo has numbered its own operations up to 0x08.
constexpr std::uint8_t kReduceScatterSlots = 0x41;
constexpr std::uint8_t kSendRecvSlots = 0x42;

void add_floats(void* result, const void* a, const void* b, std::size_t count) {
  auto* sum = static_cast<float*>(result);
  const auto* x = static_cast<const float*>(a);
  const auto* y = static_cast<const float*>(b);
  for (std::size_t i = 0; i < count; ++i)
    sum[i] = x[i] + y[i];
}

/// Counts the elements of `values` that are not `expected(index)`; a NaN is never what was expected.
template <typename Expected>
WrongValues count_wrong(const float* values, std::size_t count, Expected expected) {
  WrongValues wrong;
  for (std::size_t i = 0; i < count; ++i) {
    const float wanted = expected(i);
    if (values[i] >= wanted && values[i] <= wanted) continue;
    if (wrong.count++ == 0) wrong.first = fmt::format("element {} is {} instead of {}", i, values[i], wanted);
  }
  return wrong;
}

void flip(float& value) {
  value = -value - 1;
}

class AllReduce : public Collective {
 public:
  AllReduce(ContextPtr context, std::size_t count) : context_(std::move(context)), values_(count) {}

  void fill(int iteration) override {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = contribution(context_->rank, i, iteration);
  }
  void run(std::uint32_t tag) override {
    ::gloo::AllreduceOptions options(context_);
    options.setAlgorithm(::gloo::AllreduceOptions::Algorithm::RING);
    options.setReduceFunction(add_floats);
    options.setOutput(values_.data(), values_.size());
    options.setTag(tag);
    ::gloo::allreduce(options);
  }
  WrongValues check(int iteration) const override {
    return count_wrong(values_.data(), values_.size(),
                       [&](std::size_t i) { return sum_of_contributions(context_->size, i, iteration); });
  }
  void corrupt() override { flip(values_[values_.size() / 2]); }

 private:
  ContextPtr context_;
  std::vector<float> values_;
};

class AllGather : public Collective {
 public:
  AllGather(ContextPtr context, std::size_t count)
      : context_(std::move(context)), mine_(count / static_cast<std::size_t>(context_->size)), all_(count) {}

  void fill(int iteration) override {
    for (std::size_t i = 0; i < mine_.size(); ++i)
      mine_[i] = contribution(context_->rank, i, iteration);
    std::fill(all_.begin(), all_.end(), 0.0F);
  }
  void run(std::uint32_t tag) override {
    ::gloo::AllgatherOptions options(context_);
    options.setInput(mine_.data(), mine_.size());
    options.setOutput(all_.data(), all_.size());
    options.setTag(tag);
    ::gloo::allgather(options);
  }
  WrongValues check(int iteration) const override {
    return count_wrong(all_.data(), all_.size(), [&](std::size_t i) {
      return contribution(static_cast<int>(i / mine_.size()), i % mine_.size(), iteration);
    });
  }
  void corrupt() override { flip(all_[all_.size() / 2]); }

 private:
  ContextPtr context_;
  std::vector<float> mine_;
  std::vector<float> all_;
};

/// A ring over Gloo's send and receive: Gloo's own reduce-scatter halves and doubles, and so loads links that a ring's
/// bus bandwidth does not count.
class ReduceScatter : public Collective {
 public:
  ReduceScatter(ContextPtr context, std::size_t count)
      : context_(std::move(context)),
        values_(count),
        chunk_(count / static_cast<std::size_t>(context_->size)),
        incoming_(chunk_),
        outgoing_buffer_(context_->createUnboundBuffer(values_.data(), count * sizeof(float))),
        incoming_buffer_(context_->createUnboundBuffer(incoming_.data(), chunk_ * sizeof(float))) {}

  void fill(int iteration) override {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = contribution(context_->rank, i, iteration);
  }
  void run(std::uint32_t tag) override {
    const auto slot = ::gloo::Slot::build(kReduceScatterSlots, tag);
    const int n = context_->size;
    const int next = (context_->rank + 1) % n;
    const int previous = (context_->rank + n - 1) % n;
    for (int step = 0; step < n - 1; ++step) {
      incoming_buffer_->recv(previous, slot);
      outgoing_buffer_->send(next, slot, offset_of(-1 - step) * sizeof(float), chunk_ * sizeof(float));
      incoming_buffer_->waitRecv(context_->getTimeout());
      float* sum = values_.data() + offset_of(-2 - step);
      add_floats(sum, sum, incoming_.data(), chunk_);
      outgoing_buffer_->waitSend(context_->getTimeout());
    }
  }
  WrongValues check(int iteration) const override {
    const std::size_t first = offset_of(0);
    return count_wrong(values_.data() + first, chunk_,
                       [&](std::size_t i) { return sum_of_contributions(context_->size, first + i, iteration); });
  }
  void corrupt() override { flip(values_[offset_of(0) + chunk_ / 2]); }

 private:
  /// First element of the chunk that many places after this rank's own.
  std::size_t offset_of(int places) const {
    const int n = context_->size;
    return static_cast<std::size_t>((context_->rank + places + 2 * n) % n) * chunk_;
  }

  ContextPtr context_;
  std::vector<float> values_;
  std::size_t chunk_;
  std::vector<float> incoming_;
  std::unique_ptr<::gloo::transport::UnboundBuffer> outgoing_buffer_;
  std::unique_ptr<::gloo::transport::UnboundBuffer> incoming_buffer_;
};

class Broadcast : public Collective {
 public:
  Broadcast(ContextPtr context, std::size_t count) : context_(std::move(context)), values_(count) {}

  void fill(int iteration) override {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = context_->rank == kRoot ? contribution(kRoot, i, iteration) : -1.0F;
  }
  void run(std::uint32_t tag) override {
    ::gloo::BroadcastOptions options(context_);
    options.setOutput(values_.data(), values_.size());
    options.setRoot(kRoot);
    options.setTag(tag);
    ::gloo::broadcast(options);
  }
  WrongValues check(int iteration) const override {
    return count_wrong(values_.data(), values_.size(),
                       [&](std::size_t i) { return contribution(kRoot, i, iteration); });
  }
  void corrupt() override { flip(values_[values_.size() / 2]); }

 private:
  static constexpr int kRoot = 0;
  ContextPtr context_;
  std::vector<float> values_;
};

/// Everyone sends to the next rank and receives from the one before, as in nccl-tests.
class SendRecv : public Collective {
 public:
  SendRecv(ContextPtr context, std::size_t count)
      : context_(std::move(context)),
        outgoing_(count),
        incoming_(count),
        outgoing_buffer_(context_->createUnboundBuffer(outgoing_.data(), count * sizeof(float))),
        incoming_buffer_(context_->createUnboundBuffer(incoming_.data(), count * sizeof(float))) {}

  void fill(int iteration) override {
    for (std::size_t i = 0; i < outgoing_.size(); ++i)
      outgoing_[i] = contribution(context_->rank, i, iteration);
    std::fill(incoming_.begin(), incoming_.end(), 0.0F);
  }
  void run(std::uint32_t tag) override {
    const auto slot = ::gloo::Slot::build(kSendRecvSlots, tag);
    incoming_buffer_->recv(previous(), slot);
    outgoing_buffer_->send((context_->rank + 1) % context_->size, slot);
    incoming_buffer_->waitRecv(context_->getTimeout());
    outgoing_buffer_->waitSend(context_->getTimeout());
  }
  WrongValues check(int iteration) const override {
    return count_wrong(incoming_.data(), incoming_.size(),
                       [&](std::size_t i) { return contribution(previous(), i, iteration); });
  }
  void corrupt() override { flip(incoming_[incoming_.size() / 2]); }

 private:
  int previous() const { return (context_->rank + context_->size - 1) % context_->size; }

  ContextPtr context_;
  std::vector<float> outgoing_;
  std::vector<float> incoming_;
  std::unique_ptr<::gloo::transport::UnboundBuffer> outgoing_buffer_;
  std::unique_ptr<::gloo::transport::UnboundBuffer> incoming_buffer_;
};

}  // namespace

std::unique_ptr<Collective> make_collective(const ContextPtr& context, Op op, std::uint64_t bytes) {
  const std::size_t count = moved_bytes(op, bytes, context->size) / sizeof(float);
  switch (op) {
    case Op::all_reduce:
      return std::make_unique<AllReduce>(context, count);
    case Op::all_gather:
      return std::make_unique<AllGather>(context, count);
    case Op::reduce_scatter:
      return std::make_unique<ReduceScatter>(context, count);
    case Op::broadcast:
      return std::make_unique<Broadcast>(context, count);
    case Op::sendrecv:
      return std::make_unique<SendRecv>(context, count);
  }
  return nullptr;
}

std::uint64_t memory_needed(Op op, std::uint64_t bytes, int ranks) {
  const std::uint64_t moved = moved_bytes(op, bytes, ranks);
  const auto n = static_cast<std::uint64_t>(ranks);
  switch (op) {
    case Op::all_reduce:
      return moved + 2 * moved / n;  // Gloo's ring keeps two segments of what comes in
    case Op::all_gather:
    case Op::reduce_scatter:
      return moved + moved / n;
    case Op::broadcast:
      return moved;
    case Op::sendrecv:
      return 2 * moved;
  }
  return moved;
}

void barrier(const ContextPtr& context, std::uint32_t tag) {
  ::gloo::BarrierOptions options(context);
  options.setTag(tag);
  ::gloo::barrier(options);
}

}  // namespace weft::probes
