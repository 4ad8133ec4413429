// weft-rank-gloo: one rank of a collective over Gloo. Started by `weft agent`, which tells it everything on standard
// input and hears everything on standard output (docs/agent-protocol.md). It takes no arguments.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gloo/common/error.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>
#include <unistd.h>

#include "probes/collective/available_memory.h"
#include "probes/collective/gloo/collective.h"
#include "probes/collective/gloo/loop_ticker.h"
#include "probes/collective/gloo/mail_store.h"
#include "probes/collective/gloo/pacing.h"
#include "probes/collective/gloo/rank_channel.h"
#include "probes/collective/rank_protocol.h"

namespace weft::probes {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kParametersLimit{20'000};
/// The controller ends a stage at its limit and then asks the ranks where they are, so they must still be there.
constexpr double kMargin_s = 10;
constexpr std::uint64_t kSpareMemory = std::uint64_t{64} << 20;

milliseconds to_milliseconds(double seconds) {
  return milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

milliseconds lifetime(const StageTimeouts& limits) {
  return to_milliseconds(limits.start_s + limits.rendezvous_s + limits.init_s + limits.warm_up_s + limits.run_s +
                         2 * kMargin_s);
}

void refuse_what_cannot_run(RankChannel& channel, const RankParameters& p) {
  const auto refuse = [&](const std::string& why) { channel.fail(RankError::Kind::refused, why); };
  if (p.ranks < 2) refuse("a collective needs at least 2 ranks");
  if (moved_bytes(p.op, p.bytes, p.ranks) == 0) {
    refuse(fmt::format("{} bytes are not even one float for each of {} ranks", p.bytes, p.ranks));
  }
  const std::uint64_t needed =
      memory_needed(p.op, p.bytes, p.ranks) * static_cast<std::uint64_t>(p.ranks_on_host) + kSpareMemory;
  const auto available = available_memory_bytes();
  if (available && needed > *available) {
    refuse(fmt::format("{} ranks on this host need {} MiB of memory and {} MiB are available", p.ranks_on_host,
                       needed >> 20, *available >> 20));
  }
}

std::shared_ptr<::gloo::transport::Device> make_device(const RankParameters& p) {
  ::gloo::transport::tcp::attr attributes;
  attributes.iface = p.interface;
  if (p.interface.empty()) attributes.hostname = p.address;
  return ::gloo::transport::tcp::CreateDevice(attributes);
}

class Rank {
 public:
  Rank(RankChannel& channel, const RankParameters& parameters) : channel_(channel), p_(parameters) {}

  RankResult run() {
    connect();
    const auto collective = make_collective(context_, p_.op, p_.bytes);
    channel_.enter(Stage::warm_up);
    context_->setTimeout(to_milliseconds(p_.timeouts.warm_up_s + kMargin_s));
    for (int i = 0; i < p_.warm_up_iterations; ++i)
      iterate(*collective);
    channel_.enter(Stage::run);
    context_->setTimeout(to_milliseconds(p_.timeouts.run_s + kMargin_s));
    RankResult result;
    for (int i = 0; i < p_.iterations; ++i)
      result.iteration_s.push_back(iterate(*collective));
    // Nobody leaves while another may still be reading.
    barrier(context_, next_tag_++);
    channel_.enter(Stage::check);
    check(*collective, result);
    return result;
  }

 private:
  void connect() {
    channel_.enter(Stage::rendezvous);
    if (p_.faults.sleep_before_init_s > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(p_.faults.sleep_before_init_s));
    }
    auto device = make_device(p_);
    MailStore store(channel_, p_, to_milliseconds(p_.timeouts.start_s + p_.timeouts.rendezvous_s + kMargin_s));
    const auto context = std::make_shared<::gloo::rendezvous::Context>(p_.rank, p_.ranks);
    context->setTimeout(to_milliseconds(p_.timeouts.init_s + kMargin_s));
    context_ = context;  // also when connecting fails: the error must not wait for its destructor
    const LoopTicker ticker(std::dynamic_pointer_cast<::gloo::transport::tcp::Device>(device));
    context->connectFullMesh(store, device);
  }

  /// Seconds from the barrier's end to the operation's end.
  double iterate(Collective& collective) {
    channel_.begin_iteration();
    collective.fill(iteration_++);
    barrier(context_, next_tag_++);
    if (iteration_ == p_.warm_up_iterations + p_.iterations / 2 + 1) crash_or_stop();
    const Clock::time_point begin = Clock::now();
    collective.run(next_tag_++);
    const double bytes_per_rank =
        static_cast<double>(moved_bytes(p_.op, p_.bytes, p_.ranks)) * bus_factor(p_.op, p_.ranks);
    pace_iteration(begin, bytes_per_rank, p_.faults);
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  void crash_or_stop() const {
    if (p_.faults.stop_in_run) raise(SIGSTOP);
    if (p_.faults.crash_in_run) {
      std::signal(SIGSEGV, SIG_DFL);
      raise(SIGSEGV);
    }
  }

  void check(Collective& collective, RankResult& result) const {
    if (p_.faults.corrupt) collective.corrupt();
    const WrongValues wrong = collective.check(iteration_ - 1);
    result.wrong_values = wrong.count;
    result.first_wrong = wrong.first;
  }

  RankChannel& channel_;
  const RankParameters& p_;
  std::shared_ptr<::gloo::Context> context_;
  int iteration_ = 0;
  std::uint32_t next_tag_ = 1;
};

/// Gloo's messages begin with the place in its source, which tells a reader nothing.
std::string without_source_place(const std::string& message) {
  const std::size_t end = message.find("] ");
  return message.rfind('[', 0) == 0 && end != std::string::npos ? message.substr(end + 2) : message;
}

[[noreturn]] void run_rank(RankChannel& channel) {
  const RankParameters parameters = channel.read_parameters(kParametersLimit);
  channel.watch(lifetime(parameters.timeouts));
  // It outlives whatever happens: Gloo's destructors wait 10 ms for each peer, and this process has nothing to lose.
  Rank rank(channel, parameters);
  try {
    refuse_what_cannot_run(channel, parameters);
    channel.send(rank.run());
    _exit(0);
  } catch (const RendezvousTimeout& error) {
    channel.fail(RankError::Kind::peer, error.what());
  } catch (const ::gloo::IoException& error) {
    channel.fail(RankError::Kind::peer, without_source_place(error.what()));
  } catch (const std::exception& error) {
    channel.fail(RankError::Kind::local, without_source_place(error.what()));
  }
}

/// Libraries print to standard output as they like, so the protocol gets a descriptor of its own and they get stderr.
int take_standard_output() {
  const int protocol_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return protocol_fd;
}

}  // namespace
}  // namespace weft::probes

int main() {
  std::signal(SIGPIPE, SIG_IGN);
  weft::probes::RankChannel channel(STDIN_FILENO, weft::probes::take_standard_output());
  weft::probes::run_rank(channel);
}
