#pragma once

#include <string>
#include <vector>

#include "launch/launcher.h"

namespace weft::launch {

/// An agent process on this machine for each "node", over loopback: for trying weft out and for its tests.
class LocalLauncher : public Launcher {
 public:
  /// `program` is what runs as `program agent`; when empty, the program that runs.
  explicit LocalLauncher(std::string program = "");

  probes::ChildProcess start(const std::string& host) override;
  std::string address_of(const std::string& host) const override;
  std::string name() const override { return "local"; }

 private:
  std::string program_;
};

/// `node1` to `nodeN`. Throws InputError unless 1 ≤ count ≤ 1024.
std::vector<std::string> local_node_names(int count);

}  // namespace weft::launch
