#pragma once

#include <memory>

#include <gloo/transport/tcp/device.h>

namespace weft::probes {

/// Makes connecting fast. Whenever Gloo gives up a listening socket, it waits for a turn of its device's event loop,
/// and without an event a turn takes 10 ms (gloo/transport/tcp/loop.cc): with a socket for each peer, one after the
/// other, that is most of a rendezvous. While this lives, the loop turns every half millisecond. Not to be alive while
/// anything is timed.
class LoopTicker : public ::gloo::transport::tcp::Handler {
 public:
  explicit LoopTicker(std::shared_ptr<::gloo::transport::tcp::Device> device);
  LoopTicker(const LoopTicker&) = delete;
  LoopTicker& operator=(const LoopTicker&) = delete;
  ~LoopTicker() override;

  void handleEvents(int events) override;

 private:
  std::shared_ptr<::gloo::transport::tcp::Device> device_;
  int timer_fd_;
};

}  // namespace weft::probes
