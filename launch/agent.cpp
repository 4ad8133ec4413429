#include "launch/agent.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include "launch/host_facts.h"
#include "launch/pending_output.h"
#include "launch/pipe_reading.h"
#include "launch/protocol.h"
#include "launch/rank_process.h"
#include "probes/collective/line_reader.h"
#include "topology/error.h"

namespace weft::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostRanks = 256;
/// Past this much unread output the agent reads nothing more until its controller does.
constexpr std::size_t kMostBacklog = std::size_t{8} << 20;
constexpr std::size_t kMostBytesATurn = std::size_t{1} << 20;
constexpr milliseconds kIdleTick{1000};
constexpr milliseconds kEndingTick{1};
constexpr milliseconds kLeavingLimit{1500};

/// The programs that an agent starts, whatever it is asked for.
constexpr std::array<std::pair<std::string_view, const char*>, 1> kRankPrograms{{{"gloo", "weft-rank-gloo"}}};

std::optional<std::string> program_file(const std::string& name) {
  for (const auto& [known, file] : kRankPrograms) {
    if (name == known) return file;
  }
  return std::nullopt;
}

/// A descriptor that does not block for as long as this lives; others may share it, so it is put back afterwards.
class NonBlocking {
 public:
  explicit NonBlocking(int fd) : fd_(fd), flags_(fcntl(fd, F_GETFL)) { fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK); }
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;
  ~NonBlocking() { fcntl(fd_, F_SETFL, flags_); }

 private:
  int fd_;
  int flags_;
};

class Agent {
 public:
  explicit Agent(const AgentOptions& options)
      : options_(options),
        folder_(options.rank_program_folder.empty() ? own_program_folder() : options.rank_program_folder) {}

  int run();

 private:
  void send(const AgentMessage& message) { output_.add_line(format(message)); }
  bool flush();

  void wait();
  milliseconds next_wait() const;
  void read_controller();
  void obey_line(const std::string& line);
  void obey(const ControllerHello& hello);
  void obey(const StartRank& start);
  void obey(const ToRank& command);
  void obey(const Inspect& inspect);
  void obey(const Cancel& cancel);
  void obey(const Ping& ping) { send(Done{ping.id}); }
  void obey(const Shutdown&) { leaving_ = true; }

  void serve_ranks();
  void report_exits();
  void finish_cancels();
  void end_overdue_ranks();
  void leave();
  bool has_ranks_of(std::uint64_t probe) const;

  AgentOptions options_;
  std::string folder_;
  probes::LineReader lines_{kMaxLineBytes};
  PendingOutput output_;
  std::vector<RankProcess> ranks_;
  std::vector<Cancel> cancels_;  ///< not answered yet
  Clock::time_point last_heard_ = Clock::now();
  bool greeted_ = false;
  bool leaving_ = false;
  int status_ = 0;
};

int Agent::run() {
  const NonBlocking in(options_.in_fd);
  const NonBlocking out(options_.out_fd);
  send(AgentHello{kProtocolVersion, build_version(), read_host_facts()});
  while (flush() && !leaving_) {
    wait();
    read_controller();
    serve_ranks();
    end_overdue_ranks();
    report_exits();
    finish_cancels();
  }
  leave();
  return status_;
}

/// False when the controller does not read any more.
bool Agent::flush() {
  return output_.flush([this](std::string_view bytes) -> std::optional<std::size_t> {
    const ssize_t written = write(options_.out_fd, bytes.data(), bytes.size());
    if (written >= 0) return static_cast<std::size_t>(written);
    if (errno == EAGAIN || errno == EINTR) return 0;
    return std::nullopt;
  });
}

milliseconds Agent::next_wait() const {
  const bool ending = std::any_of(ranks_.begin(), ranks_.end(), [](const RankProcess& r) { return r.is_ending(); });
  if (ending) return kEndingTick;
  milliseconds wait = kIdleTick;
  const Clock::time_point now = Clock::now();
  for (const RankProcess& rank : ranks_) {
    const auto left =
        std::chrono::ceil<milliseconds>(std::min(rank.deadline(), last_heard_ + options_.silence_limit) - now);
    wait = std::clamp(left, kEndingTick, wait);
  }
  return wait;
}

void Agent::wait() {
  std::vector<pollfd> fds;
  const bool is_read = output_.size() < kMostBacklog;
  fds.push_back({options_.in_fd, static_cast<short>(is_read ? POLLIN : 0), 0});
  if (!output_.empty()) fds.push_back({options_.out_fd, POLLOUT, 0});
  if (is_read) {
    for (const RankProcess& rank : ranks_)
      rank.add_poll_fds(fds);
  }
  poll(fds.data(), fds.size(), static_cast<int>(next_wait().count()));
  if (!is_read && (fds[0].revents & POLLHUP) != 0) leaving_ = true;
}

void Agent::read_controller() {
  if (output_.size() >= kMostBacklog) return;
  const bool open =
      read_available(options_.in_fd, kMostBytesATurn, [this](std::string_view bytes) { lines_.feed(bytes); });
  while (!leaving_) {
    const auto line = lines_.next();
    if (!line) break;
    last_heard_ = Clock::now();
    obey_line(*line);
  }
  if (lines_.overflowed() && !leaving_) {
    send(Refused{std::nullopt, fmt::format("a message has more than {} bytes", kMaxLineBytes)});
    leaving_ = true;
    status_ = 1;
  }
  if (!open) leaving_ = true;
}

void Agent::obey_line(const std::string& line) {
  const auto message = parse_controller_message(line);
  if (const auto* malformed = std::get_if<Malformed>(&message)) {
    send(Refused{id_of_line(line), fmt::format("not understood: {}", malformed->reason)});
    return;
  }
  const auto& known = std::get<ControllerMessage>(message);
  if (!greeted_ && !std::holds_alternative<ControllerHello>(known)) {
    send(Refused{id_of_line(line), "the first message must be 'hello'"});
    return;
  }
  std::visit([this](const auto& m) { obey(m); }, known);
}

void Agent::obey(const ControllerHello& hello) {
  if (hello.protocol == kProtocolVersion) {
    greeted_ = true;
    return;
  }
  send(Refused{std::nullopt, fmt::format("this agent (weft {}) speaks protocol {}, the controller speaks {}",
                                         build_version(), kProtocolVersion, hello.protocol)});
  leaving_ = true;
  status_ = 1;
}

void Agent::obey(const StartRank& start) {
  const auto refuse = [&](std::string reason) { send(Refused{start.id, std::move(reason)}); };
  const auto file = program_file(start.program);
  if (!file) return refuse("this agent starts only the rank program 'gloo'");
  if (ranks_.size() >= kMostRanks) return refuse(fmt::format("this agent already runs {} ranks", ranks_.size()));
  for (const RankProcess& rank : ranks_) {
    if (rank.probe() == start.probe && rank.rank() == start.parameters.rank) return refuse("this rank already runs");
  }
  if (start.parameters.faults.never_starts) return;
  try {
    const auto deadline =
        Clock::now() + std::chrono::ceil<milliseconds>(std::chrono::duration<double>(start.deadline_s));
    ranks_.emplace_back(start, folder_ + "/" + *file, deadline);
  } catch (const RunError& error) {
    return refuse(error.what());
  }
  send(Started{start.id, start.probe, start.parameters.rank, ranks_.back().pid()});
}

void Agent::obey(const ToRank& command) {
  for (RankProcess& rank : ranks_) {
    if (rank.probe() == command.probe && rank.rank() == command.rank) rank.send(command.command);
  }
}

void Agent::obey(const Inspect& inspect) {
  ProbeState state{inspect.id, inspect.probe, {}};
  for (RankProcess& rank : ranks_) {
    if (rank.probe() != inspect.probe) continue;
    rank.send(probes::RankPing{});
    state.ranks.push_back({rank.rank(), read_process_state(rank.pid())});
  }
  send(state);
}

void Agent::obey(const Cancel& cancel) {
  for (RankProcess& rank : ranks_) {
    if (rank.probe() == cancel.probe) rank.request_end();
  }
  cancels_.push_back(cancel);
}

void Agent::serve_ranks() {
  for (RankProcess& rank : ranks_) {
    if (output_.size() >= kMostBacklog) return;
    for (probes::RankMessage& message : rank.communicate())
      send(FromRank{rank.probe(), rank.rank(), std::move(message)});
  }
}

void Agent::end_overdue_ranks() {
  const Clock::time_point now = Clock::now();
  const bool is_silent = now - last_heard_ > options_.silence_limit;
  for (RankProcess& rank : ranks_) {
    if (is_silent) rank.request_end_because("the controller has been silent for too long");
    if (now >= rank.deadline()) rank.request_end_because("the rank outlived the probe's limit");
  }
}

void Agent::report_exits() {
  for (auto rank = ranks_.begin(); rank != ranks_.end();) {
    const auto exited = rank->poll_exit();
    if (!exited) {
      ++rank;
      continue;
    }
    for (probes::RankMessage& message : rank->communicate())
      send(FromRank{rank->probe(), rank->rank(), std::move(message)});
    send(*exited);
    rank = ranks_.erase(rank);
  }
}

bool Agent::has_ranks_of(std::uint64_t probe) const {
  return std::any_of(ranks_.begin(), ranks_.end(), [&](const RankProcess& rank) { return rank.probe() == probe; });
}

void Agent::finish_cancels() {
  std::erase_if(cancels_, [this](const Cancel& cancel) {
    if (has_ranks_of(cancel.probe)) return false;
    send(Done{cancel.id});
    return true;
  });
}

void Agent::leave() {
  for (RankProcess& rank : ranks_)
    rank.request_end();
  const Clock::time_point deadline = Clock::now() + kLeavingLimit;
  while (!ranks_.empty() && Clock::now() < deadline) {
    std::erase_if(ranks_, [](RankProcess& rank) { return rank.poll_exit().has_value(); });
    if (!ranks_.empty()) std::this_thread::sleep_for(kEndingTick);
  }
  flush();
  // Waiting for one that is stuck in the kernel would keep the agent, and with it the login, for as long.
  if (!ranks_.empty()) {
    static auto* abandoned = new std::vector<RankProcess>();
    std::move(ranks_.begin(), ranks_.end(), std::back_inserter(*abandoned));
  }
}

}  // namespace

int run_agent(const AgentOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  return Agent(options).run();
}

}  // namespace weft::launch
