#include "launch/rank_process.h"

#include <utility>

#include <fmt/format.h>

#include "launch/pipe_reading.h"

namespace weft::launch {
namespace {

constexpr std::chrono::milliseconds kGrace{200};
constexpr std::size_t kMostBytesATurn = std::size_t{1} << 20;

}  // namespace

RankProcess::RankProcess(const StartRank& start, const std::string& program, TimePoint deadline)
    : probe_(start.probe), rank_(start.parameters.rank), deadline_(deadline), child_({program}) {
  send(start.parameters);
}

void RankProcess::send(const probes::RankCommand& command) {
  commands_.add_line(probes::format(command));
  commands_.flush([this](std::string_view bytes) { return child_.write_stdin(bytes); });
}

void RankProcess::add_poll_fds(std::vector<pollfd>& fds) const {
  if (output_open_) fds.push_back({child_.stdout_fd(), POLLIN, 0});
  if (errors_open_) fds.push_back({child_.stderr_fd(), POLLIN, 0});
  if (!commands_.empty() && output_open_) fds.push_back({child_.stdin_fd(), POLLOUT, 0});
}

void RankProcess::read_errors() {
  if (!errors_open_) return;
  errors_open_ =
      read_available(child_.stderr_fd(), kMostBytesATurn, [this](std::string_view bytes) { errors_.add(bytes); });
}

std::vector<probes::RankMessage> RankProcess::communicate() {
  std::vector<probes::RankMessage> messages;
  // A rank that does not read any more is about to end, and poll_exit will say how.
  commands_.flush([this](std::string_view bytes) { return child_.write_stdin(bytes); });
  read_errors();
  if (!output_open_) return messages;
  output_open_ =
      read_available(child_.stdout_fd(), kMostBytesATurn, [this](std::string_view bytes) { lines_.feed(bytes); });
  while (const auto line = lines_.next()) {
    auto parsed = probes::parse_rank_message(*line);
    if (const auto* malformed = std::get_if<Malformed>(&parsed)) {
      request_end_because(fmt::format("the rank wrote a line that is no message: {}", malformed->reason));
      return messages;
    }
    messages.push_back(std::get<probes::RankMessage>(std::move(parsed)));
  }
  if (lines_.overflowed())
    request_end_because(fmt::format("the rank wrote a line of more than {} bytes", kMaxLineBytes));
  return messages;
}

std::optional<RankExited> RankProcess::poll_exit() {
  const auto status = child_.poll();
  if (!status) return std::nullopt;
  read_errors();
  return RankExited{.probe = probe_,
                    .rank = rank_,
                    .exit_code = status->exit_code,
                    .signal = status->signal,
                    .past_deadline = past_deadline_,
                    .last_output = errors_.text()};
}

void RankProcess::request_end() {
  ending_ = true;
  child_.request_end(kGrace);
}

void RankProcess::request_end_because(const std::string& reason) {
  if (ending_) return;
  errors_.add(fmt::format("\nweft agent: {}\n", reason));
  past_deadline_ = true;
  request_end();
}

}  // namespace weft::launch
