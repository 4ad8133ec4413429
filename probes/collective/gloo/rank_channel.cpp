#include "probes/collective/gloo/rank_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace weft::probes {
namespace {

constexpr int kFailed = 3;
constexpr int kAgentGone = 4;

using std::chrono::milliseconds;

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

RankChannel::RankChannel(int in_fd, int out_fd) : in_fd_(in_fd), out_fd_(out_fd) {}

RankParameters RankChannel::read_parameters(milliseconds limit) {
  const auto command = parse_rank_command(next_line(Clock::now() + limit));
  if (const auto* malformed = std::get_if<Malformed>(&command)) fail(RankError::Kind::local, malformed->reason);
  const auto* parameters = std::get_if<RankParameters>(std::get_if<RankCommand>(&command));
  if (parameters == nullptr) fail(RankError::Kind::local, "the first command is not 'parameters'");
  return *parameters;
}

void RankChannel::watch(milliseconds limit) {
  std::thread([this, deadline = Clock::now() + limit] { watch_until(deadline); }).detach();
}

void RankChannel::watch_until(Clock::time_point deadline) {
  while (true) {
    const auto command = parse_rank_command(next_line(deadline));
    if (const auto* malformed = std::get_if<Malformed>(&command)) fail(RankError::Kind::local, malformed->reason);
    if (const auto* known = std::get_if<RankCommand>(&command)) obey(*known);
  }
}

void RankChannel::obey(const RankCommand& command) {
  if (std::holds_alternative<RankPing>(command)) send(RankProgress{stage_, iteration_});
  if (const auto* mail = std::get_if<RankMail>(&command)) {
    const std::lock_guard lock(mail_mutex_);
    mail_ = *mail;
    mail_came_.notify_all();
  }
}

std::string RankChannel::next_line(Clock::time_point deadline) {
  std::array<char, 65536> bytes{};
  while (true) {
    if (auto line = lines_.next()) return std::move(*line);
    if (lines_.overflowed()) fail(RankError::Kind::local, "a command is longer than any should be");
    pollfd input{.fd = in_fd_, .events = POLLIN, .revents = 0};
    const int ready = poll(&input, 1, milliseconds_until(deadline));
    if (ready == 0 && Clock::now() >= deadline) fail(RankError::Kind::peer, "outlived the sum of its stages' limits");
    if (ready <= 0) continue;
    const ssize_t got = read(in_fd_, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) _exit(kAgentGone);
    lines_.feed({bytes.data(), static_cast<std::size_t>(got)});
  }
}

void RankChannel::send(const RankMessage& message) {
  const std::string line = format(message) + "\n";
  const std::lock_guard lock(output_);
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(out_fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) _exit(kAgentGone);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void RankChannel::enter(Stage stage) {
  stage_ = stage;
  send(RankStage{stage});
}

std::optional<RankMail> RankChannel::wait_for_mail(milliseconds limit) {
  std::unique_lock lock(mail_mutex_);
  mail_came_.wait_for(lock, limit, [this] { return mail_.has_value(); });
  return mail_;
}

void RankChannel::fail(RankError::Kind kind, const std::string& what) {
  send(RankError{stage_, kind, what});
  // Gloo's threads may be anywhere, and its context cannot be used or destroyed any more.
  _exit(kFailed);
}

}  // namespace weft::probes
