#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "probes/collective/line_reader.h"
#include "probes/collective/rank_protocol.h"

namespace weft::probes {

/// A rank's line to its agent: commands in, messages out, and the two promises that hold whatever the collective
/// library does meanwhile: a ping is answered at once, and the process ends when its agent is gone or its time is over.
/// send, enter and begin_iteration may be called from any thread.
class RankChannel {
 public:
  RankChannel(int in_fd, int out_fd);

  /// Blocks until the parameters have come. Ends the process with an error when something else comes, or nothing for
  /// `limit`.
  RankParameters read_parameters(std::chrono::milliseconds limit);

  /// From here on a thread of its own reads commands. It ends the process (`_exit`) on the end of input, on a command
  /// that is none, and `limit` from now.
  void watch(std::chrono::milliseconds limit);

  void send(const RankMessage& message);
  /// Says that a stage begins.
  void enter(Stage stage);
  void begin_iteration() { ++iteration_; }
  Stage stage() const { return stage_; }

  /// Every rank's post, or nothing when it has not come after `limit`.
  std::optional<RankMail> wait_for_mail(std::chrono::milliseconds limit);

  /// Reports the error and ends the process.
  [[noreturn]] void fail(RankError::Kind kind, const std::string& what);

 private:
  using Clock = std::chrono::steady_clock;

  void watch_until(Clock::time_point deadline);
  void obey(const RankCommand& command);
  /// Ends the process when there is nothing more to read, or the deadline has passed.
  std::string next_line(Clock::time_point deadline);

  int in_fd_;
  int out_fd_;
  LineReader lines_{kMaxProtocolLineBytes};
  std::atomic<Stage> stage_{Stage::start};
  std::atomic<int> iteration_{0};
  std::mutex output_;
  std::mutex mail_mutex_;
  std::condition_variable mail_came_;
  std::optional<RankMail> mail_;
};

}  // namespace weft::probes
