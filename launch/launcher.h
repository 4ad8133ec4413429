#pragma once

#include <string>

#include "probes/child_process.h"

namespace weft::launch {

/// A way to get a stdio pipe to an agent on a host. Every launcher is only that.
class Launcher {
 public:
  virtual ~Launcher() = default;

  /// Starts an agent for the host, and gives the local program that carries its standard streams. Throws RunError when
  /// not even that can be started; a host that cannot be reached shows later, as a program that ends without a
  /// greeting.
  virtual probes::ChildProcess start(const std::string& host) = 0;

  /// Under what name or address other hosts reach this one.
  virtual std::string address_of(const std::string& host) const = 0;
  virtual std::string name() const = 0;
};

}  // namespace weft::launch
