#pragma once

#include <chrono>
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

struct ConnectionLimits {
  std::chrono::milliseconds greeting{20'000};  ///< from the start to the agent's `hello`: login included
  std::chrono::milliseconds heartbeat{5'000};  ///< between pings
  std::chrono::milliseconds silence{30'000};   ///< without any word from the agent before it is given up
};

/// The controller's end of the pipe to one agent. Never blocks; its owner polls many of them in one loop. Whatever the
/// other side sends, this stays within bounded memory: what cannot be understood loses the connection, with a reason
/// that is fit to print. Not thread safe.
///
/// Before the greeting, lines that are none are taken for the noise of a login (banners, shell start-up files).
class AgentConnection {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  enum class State { greeting, ready, lost };

  AgentConnection(std::string node, probes::ChildProcess program, TimePoint now, const ConnectionLimits& limits);
  /// A connection that was lost before it began.
  AgentConnection(std::string node, std::string lost_reason);

  const std::string& node() const { return node_; }
  State state() const { return state_; }
  /// One sentence without the node's name; empty unless lost.
  const std::string& lost_reason() const { return lost_reason_; }
  /// Of the agent's host; empty before the greeting.
  const HostFacts& host() const { return host_; }
  /// The agent's version of weft; printable, empty before the greeting.
  const std::string& version() const { return version_; }

  void send(const ControllerMessage& message);
  void add_poll_fds(std::vector<pollfd>& fds) const;
  /// Writes what is pending, gives what has come, and watches the limits.
  std::vector<AgentMessage> communicate(TimePoint now);
  /// Forgives the silence of a time in which nobody called communicate.
  void resume(TimePoint now);
  /// Whether communicate should be called again within milliseconds.
  bool is_ending() const { return ended_output_at_.has_value() || (state_ == State::lost && !is_gone()); }

  void lose(std::string reason);
  /// Tells the agent to end its ranks and itself.
  void shut_down();
  void request_end(std::chrono::milliseconds grace);
  /// Whether the local program has ended; asks it.
  bool is_gone_now();
  bool is_gone() const { return !program_; }

 private:
  void read_output(TimePoint now);
  void read_errors();
  void take_line(const std::string& line, std::vector<AgentMessage>& messages);
  void greet(const AgentHello& hello);
  void take_noise(const std::string& line);
  void lose_when_ended(TimePoint now);
  void watch_limits(TimePoint now);
  std::string what_it_said() const;

  std::string node_;
  std::optional<probes::ChildProcess> program_;
  ConnectionLimits limits_;
  State state_ = State::greeting;
  std::string lost_reason_;
  HostFacts host_;
  std::string version_;
  probes::LineReader lines_{kMaxLineBytes};
  PendingOutput output_;
  OutputTail errors_;
  OutputTail noise_;
  std::size_t noise_bytes_ = 0;
  bool errors_open_ = true;
  TimePoint started_;
  TimePoint last_heard_;
  TimePoint last_ping_;
  std::optional<TimePoint> ended_output_at_;
};

}  // namespace weft::launch
