#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

namespace weft::launch {

/// Marks every process that this one starts from now on, through its environment, so that they can be found wherever
/// they end up. One mark for each object; the tests of other programs that run at the same time have others.
class MarkedProcesses {
 public:
  MarkedProcesses();
  ~MarkedProcesses();
  MarkedProcesses(const MarkedProcesses&) = delete;
  MarkedProcesses& operator=(const MarkedProcesses&) = delete;

  /// Living marked processes, this one left out; those whose program's name contains `program`, when it is not empty.
  std::vector<pid_t> find(const std::string& program = "") const;
  /// Whether all are gone within `limit`.
  bool all_gone_within(std::chrono::milliseconds limit) const;

 private:
  std::string mark_;
};

}  // namespace weft::launch
