#pragma once

#include <atomic>

namespace weft::cli {

/// While it lives, SIGINT and SIGTERM ask for an orderly end: `requested` becomes true. A second signal ends the
/// program at once (what runs on the nodes ends by itself when its connection closes). One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  const std::atomic<bool>& requested() const;
  int signal() const;  ///< the one that came, 0 before
};

}  // namespace weft::cli
