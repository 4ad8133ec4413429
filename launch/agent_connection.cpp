#include "launch/agent_connection.h"

#include <utility>

#include <fmt/format.h>

#include "launch/pipe_reading.h"
#include "launch/printable.h"

namespace weft::launch {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostBytesATurn = std::size_t{1} << 20;
constexpr std::size_t kMostNoise = std::size_t{64} << 10;
constexpr std::size_t kMostBacklog = std::size_t{64} << 20;
/// An exit status comes a moment after the end of output.
constexpr milliseconds kExitDelay{200};
constexpr milliseconds kGrace{300};
/// The id of heartbeats; those of probes are larger.
constexpr std::uint64_t kPingId = 0;

double seconds(milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

AgentConnection::AgentConnection(std::string node, probes::ChildProcess program, TimePoint now,
                                 const ConnectionLimits& limits)
    : node_(std::move(node)),
      program_(std::move(program)),
      limits_(limits),
      started_(now),
      last_heard_(now),
      last_ping_(now) {
  send(ControllerHello{kProtocolVersion, build_version()});
}

AgentConnection::AgentConnection(std::string node, std::string lost_reason)
    : node_(std::move(node)), state_(State::lost), lost_reason_(std::move(lost_reason)) {}

void AgentConnection::send(const ControllerMessage& message) {
  if (!program_ || state_ == State::lost) return;
  output_.add_line(format(message));
  output_.flush([this](std::string_view bytes) { return program_->write_stdin(bytes); });
  if (output_.size() > kMostBacklog) lose("its agent reads nothing any more");
}

void AgentConnection::add_poll_fds(std::vector<pollfd>& fds) const {
  if (!program_ || state_ == State::lost) return;
  if (!ended_output_at_) fds.push_back({program_->stdout_fd(), POLLIN, 0});
  if (errors_open_) fds.push_back({program_->stderr_fd(), POLLIN, 0});
  if (!output_.empty() && !ended_output_at_) fds.push_back({program_->stdin_fd(), POLLOUT, 0});
}

std::vector<AgentMessage> AgentConnection::communicate(TimePoint now) {
  std::vector<AgentMessage> messages;
  if (state_ == State::lost) {
    is_gone_now();
    return messages;
  }
  // A pipe that nobody reads shows as the end of output, too, and that tells more.
  output_.flush([this](std::string_view bytes) { return program_->write_stdin(bytes); });
  read_errors();
  read_output(now);
  while (state_ != State::lost) {
    const auto line = lines_.next();
    if (!line) break;
    take_line(*line, messages);
  }
  if (lines_.overflowed()) lose(fmt::format("its agent sent a message of more than {} bytes", kMaxLineBytes));
  lose_when_ended(now);
  watch_limits(now);
  return messages;
}

void AgentConnection::read_output(TimePoint now) {
  if (ended_output_at_) return;
  const bool open = read_available(program_->stdout_fd(), kMostBytesATurn, [&](std::string_view bytes) {
    lines_.feed(bytes);
    last_heard_ = now;
  });
  if (!open) ended_output_at_ = now;
}

void AgentConnection::read_errors() {
  if (!errors_open_) return;
  errors_open_ =
      read_available(program_->stderr_fd(), kMostBytesATurn, [this](std::string_view bytes) { errors_.add(bytes); });
}

void AgentConnection::take_line(const std::string& line, std::vector<AgentMessage>& messages) {
  auto parsed = parse_agent_message(line);
  if (auto* message = std::get_if<AgentMessage>(&parsed)) {
    if (const auto* hello = std::get_if<AgentHello>(message)) return greet(*hello);
    if (state_ == State::ready) {
      const auto* done = std::get_if<Done>(message);
      if (done == nullptr || done->id != kPingId) messages.push_back(std::move(*message));
      return;
    }
    if (const auto* refused = std::get_if<Refused>(message)) {
      return lose(fmt::format("its agent refuses: {}", printable(refused->reason)));
    }
  }
  if (state_ == State::greeting) return take_noise(line);
  lose(fmt::format("its agent sent a line that is no message ({}): \"{}\"", std::get<Malformed>(parsed).reason,
                   printable(line, 60)));
}

void AgentConnection::greet(const AgentHello& hello) {
  if (state_ == State::ready) return lose("its agent greeted twice");
  if (hello.protocol != kProtocolVersion) {
    return lose(
        fmt::format("its agent (weft {}) speaks protocol {}, this weft ({}) speaks {}: install the same weft on both",
                    printable(hello.version), hello.protocol, build_version(), kProtocolVersion));
  }
  host_ = hello.host;
  version_ = printable(hello.version);
  state_ = State::ready;
}

void AgentConnection::take_noise(const std::string& line) {
  noise_.add(line + "\n");
  noise_bytes_ += line.size() + 1;
  if (noise_bytes_ > kMostNoise) lose(fmt::format("no agent answers there{}", what_it_said()));
}

void AgentConnection::lose_when_ended(TimePoint now) {
  if (state_ == State::lost || !ended_output_at_) return;
  const auto status = program_->poll();
  if (!status && now - *ended_output_at_ < kExitDelay) return;
  const std::string how = status ? status->describe() : "it closed its output";
  lose(state_ == State::greeting ? fmt::format("the agent did not start: {}{}", how, what_it_said())
                                 : fmt::format("its agent ended: {}{}", how, what_it_said()));
}

void AgentConnection::watch_limits(TimePoint now) {
  if (state_ == State::greeting && now - started_ > limits_.greeting) {
    lose(fmt::format("no agent has answered for {:g} s{}", seconds(limits_.greeting), what_it_said()));
  }
  if (state_ != State::ready) return;
  if (now - last_heard_ > limits_.silence) {
    lose(fmt::format("its agent has been silent for {:g} s", seconds(limits_.silence)));
  } else if (now - last_ping_ > limits_.heartbeat) {
    last_ping_ = now;
    send(Ping{kPingId});
  }
}

std::string AgentConnection::what_it_said() const {
  const std::string errors = last_words(errors_.text());
  if (!errors.empty()) return fmt::format("; it said: {}", errors);
  const std::string noise = last_words(noise_.text() + std::string(lines_.unfinished().substr(0, OutputTail::kKept)));
  return noise.empty() ? "" : fmt::format("; it said: {}", noise);
}

void AgentConnection::resume(TimePoint now) {
  last_heard_ = now;
  if (state_ != State::greeting) return;
  started_ = now;
}

void AgentConnection::lose(std::string reason) {
  if (state_ == State::lost) return;
  state_ = State::lost;
  lost_reason_ = std::move(reason);
  request_end(kGrace);
}

void AgentConnection::shut_down() {
  if (!program_) return;
  send(Shutdown{});
  program_->close_stdin();
}

void AgentConnection::request_end(milliseconds grace) {
  if (!program_) return;
  program_->close_stdin();
  program_->request_end(grace);
}

bool AgentConnection::is_gone_now() {
  if (program_ && program_->poll()) program_.reset();
  return !program_;
}

}  // namespace weft::launch
