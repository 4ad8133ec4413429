#include "probes/collective/gloo/loop_ticker.h"

#include <cstdint>
#include <utility>

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace weft::probes {
namespace {

constexpr long kTick_ns = 500'000;

}  // namespace

LoopTicker::LoopTicker(std::shared_ptr<::gloo::transport::tcp::Device> device)
    : device_(std::move(device)), timer_fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (timer_fd_ < 0) return;  // connecting is only slower
  const itimerspec every{.it_interval = {0, kTick_ns}, .it_value = {0, kTick_ns}};
  timerfd_settime(timer_fd_, 0, &every, nullptr);
  device_->registerDescriptor(timer_fd_, EPOLLIN, this);
}

LoopTicker::~LoopTicker() {
  if (timer_fd_ < 0) return;
  device_->unregisterDescriptor(timer_fd_, this);
  close(timer_fd_);
}

void LoopTicker::handleEvents(int) {
  std::uint64_t ticks = 0;
  [[maybe_unused]] const ssize_t got = read(timer_fd_, &ticks, sizeof ticks);
}

}  // namespace weft::probes
