#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include "launch/output_tail.h"
#include "launch/pending_output.h"
#include "launch/protocol.h"
#include "probes/child_process.h"
#include "probes/collective/line_reader.h"

namespace weft::launch {

/// One rank that an agent has started. Never blocks. Not thread safe.
class RankProcess {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Starts the program and gives it its parameters. Throws RunError when it cannot be started.
  RankProcess(const StartRank& start, const std::string& program, TimePoint deadline);

  std::uint64_t probe() const { return probe_; }
  int rank() const { return rank_; }
  std::int64_t pid() const { return child_.pid(); }
  TimePoint deadline() const { return deadline_; }

  void send(const probes::RankCommand& command);
  void add_poll_fds(std::vector<pollfd>& fds) const;
  /// Writes what is pending, and gives what the rank has said since the last time.
  std::vector<probes::RankMessage> communicate();
  /// How it ended, once it and all that it started are gone and everything it said has been given.
  std::optional<RankExited> poll_exit();
  /// Whether its end is near, so that poll_exit should be asked often.
  bool is_ending() const { return ending_ || !output_open_; }

  void request_end();
  /// The same, for a reason of the agent's own, which its last words will tell.
  void request_end_because(const std::string& reason);

 private:
  void read_errors();

  std::uint64_t probe_;
  int rank_;
  TimePoint deadline_;
  probes::ChildProcess child_;
  probes::LineReader lines_{kMaxLineBytes};
  PendingOutput commands_;
  OutputTail errors_;
  bool output_open_ = true;
  bool errors_open_ = true;
  bool ending_ = false;
  bool past_deadline_ = false;
};

}  // namespace weft::launch
