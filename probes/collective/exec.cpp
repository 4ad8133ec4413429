#include "probes/collective/exec.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include "probes/child_process.h"
#include "probes/collective/launcher_faults.h"
#include "probes/collective/nccl_tests_judgement.h"
#include "probes/collective/nccl_tests_output.h"
#include "topology/error.h"
#include "topology/hostlist.h"

namespace weft::probes {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How long a command may clean up after SIGTERM; short enough that a cancelled round ends within 2 s.
constexpr milliseconds kGrace{1200};
/// How often ends of commands, limits and cancellation are looked at while nothing is printed.
constexpr milliseconds kTick{20};
constexpr std::size_t kReadSize = std::size_t{64} << 10;
constexpr int kReadsInARow = 16;                               ///< then the other probes get their turn
constexpr std::size_t kKeptLogBytes = std::size_t{128} << 10;  ///< at each end
constexpr std::size_t kQuotedBytes = 300;

std::string error_text(int error) {
  return std::strerror(error);
}

/// Beginning and end of a text that may be endless.
class BoundedLog {
 public:
  void add(std::string_view bytes) {
    const std::size_t to_head = std::min(bytes.size(), kKeptLogBytes - head_.size());
    head_ += bytes.substr(0, to_head);
    bytes.remove_prefix(to_head);
    if (bytes.size() > kKeptLogBytes) {
      left_out_ += bytes.size() - kKeptLogBytes;
      bytes.remove_prefix(bytes.size() - kKeptLogBytes);
    }
    tail_ += bytes;
    if (tail_.size() > 2 * kKeptLogBytes) {
      left_out_ += tail_.size() - kKeptLogBytes;
      tail_.erase(0, tail_.size() - kKeptLogBytes);
    }
  }

  std::string text() const {
    if (left_out_ == 0) return head_ + tail_;
    return fmt::format("{}\n[… {} bytes left out …]\n{}", head_, left_out_, tail_);
  }

 private:
  std::string head_;
  std::string tail_;
  std::size_t left_out_ = 0;
};

/// The last lines that say something, on one line.
std::string last_words(const std::string& text) {
  constexpr std::size_t kLines = 3;
  std::vector<std::string> lines;
  std::string_view rest = text;
  while (!rest.empty() && lines.size() < kLines) {
    const std::size_t newline = rest.rfind('\n');
    std::string line(newline == std::string_view::npos ? rest : rest.substr(newline + 1));
    rest = newline == std::string_view::npos ? std::string_view() : rest.substr(0, newline);
    line.erase(std::remove_if(line.begin(), line.end(), [](unsigned char c) { return c < ' '; }), line.end());
    if (line.find_first_not_of(' ') != std::string::npos) lines.insert(lines.begin(), line.substr(0, kQuotedBytes));
  }
  return fmt::format("{}", fmt::join(lines, " / "));
}

/// A private folder that goes with everything in it, whatever happens.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    if (error) parent = "/tmp";
    std::string pattern = parent / "weft-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw RunError({.what = fmt::format("cannot make a temporary folder: {}", error_text(errno)),
                      .where = parent.string(),
                      .expected = "a folder that we may write to",
                      .next_step = "set TMPDIR"});
    }
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Writes a new file that only we may read. Returns an error message, or nothing.
std::optional<std::string> write_private_file(const std::filesystem::path& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return error_text(errno);
  std::optional<std::string> failure;
  while (!text.empty() && !failure) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      failure = error_text(errno);
    } else {
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  close(fd);
  return failure;
}

std::string describe(const Group& group) {
  const std::string nodes = topology::fold_hostlist(group.nodes);
  return group.rail ? fmt::format("{} rail {}", nodes, *group.rail) : nodes;
}

enum class Ending { by_itself, timed_out, cancelled };

/// One command while it runs.
struct Probe {
  std::size_t index = 0;
  std::vector<std::string> argv;
  ChildProcess child;
  Clock::time_point started;
  std::optional<std::filesystem::path> hostfile;
  bool stdout_open = true;
  bool stderr_open = true;
  NcclTestsParser parser;
  BoundedLog log;     ///< both streams, as they came
  BoundedLog errors;  ///< standard error alone
  Ending ending = Ending::by_itself;
  Clock::time_point end_requested;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One call of measure().
class Round {
 public:
  Round(const ExecOptions& options, std::span<const Group> groups, const ProbeSpec& spec,
        const std::atomic<bool>& cancel, const std::function<void(const Measurement&)>& on_done)
      : options_(options),
        groups_(groups),
        spec_(spec),
        cancel_(cancel),
        on_done_(on_done),
        measurements_(groups.size()) {}
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;
  /// All at once, so that an exception does not cost one grace period for each command.
  ~Round() {
    for (const auto& probe : running_)
      probe->child.request_end(kGrace);
  }

  std::vector<Measurement> run() {
    while (next_ < groups_.size() || !running_.empty()) {
      if (cancel_) cancel_all();
      start_what_fits();
      wait_for_output();
      end_what_is_over();
    }
    return std::move(measurements_);
  }

 private:
  bool pins_a_rail(const Group& group) const { return group.rail.has_value(); }
  int ranks_per_node(const Group& group) const { return pins_a_rail(group) ? 1 : spec_.gpus_per_node; }

  Measurement blank(std::size_t index) const;
  void start_what_fits();
  void start(std::size_t index);
  CommandValues values_for(std::size_t index, const CommandTemplate& command);
  void wait_for_output();
  void read_from(Probe& probe, int fd, bool is_error);
  void end_what_is_over();
  void end_at_its_limit(Probe& probe) const;
  void cancel_all();
  void finish(Probe& probe, const ExitStatus& status);
  void judge_outcome(Probe& probe, const ExitStatus& status, Measurement& measurement);
  void adopt(const NcclTestsJudgement& judgement, Measurement& measurement) const;
  void keep_log(const Probe& probe, Measurement& measurement) const;
  void deliver(std::size_t index, Measurement measurement);

  const ExecOptions& options_;
  std::span<const Group> groups_;
  const ProbeSpec& spec_;
  const std::atomic<bool>& cancel_;
  const std::function<void(const Measurement&)>& on_done_;
  std::vector<Measurement> measurements_;
  std::size_t next_ = 0;
  std::optional<TemporaryFolder> folder_;
  std::vector<std::unique_ptr<Probe>> running_;
};

Measurement Round::blank(std::size_t index) const {
  Measurement measurement;
  measurement.group = groups_[index];
  measurement.op = spec_.op;
  measurement.bytes = spec_.bytes;
  measurement.ranks = static_cast<int>(groups_[index].nodes.size()) * ranks_per_node(groups_[index]);
  return measurement;
}

void Round::start_what_fits() {
  while (next_ < groups_.size() && running_.size() < static_cast<std::size_t>(options_.max_concurrency))
    start(next_++);
}

CommandValues Round::values_for(std::size_t index, const CommandTemplate& command) {
  const Group& group = groups_[index];
  CommandValues values{.hosts = group.nodes,
                       .hostfile = {},
                       .gpus_per_node = ranks_per_node(group),
                       .ranks = static_cast<int>(group.nodes.size()) * ranks_per_node(group),
                       .rail = group.rail,
                       .bytes = spec_.bytes};
  if (!command.uses_hostfile()) return values;
  if (!folder_) folder_.emplace();
  const std::filesystem::path path = folder_->path() / fmt::format("hosts-{}", index);
  if (const auto failure = write_private_file(path, fmt::format("{}\n", fmt::join(group.nodes, "\n")))) {
    throw RunError({.what = fmt::format("cannot write the host file: {}", *failure),
                    .where = path.string(),
                    .expected = "room in the temporary folder",
                    .next_step = "set TMPDIR"});
  }
  values.hostfile = path.string();
  return values;
}

void Round::start(std::size_t index) {
  Measurement measurement = blank(index);
  if (pins_a_rail(groups_[index]) && !options_.rail_command) {
    measurement.reason = "no command for rails was given (--rail-command)";
    deliver(index, std::move(measurement));
    return;
  }
  const CommandTemplate& command = pins_a_rail(groups_[index]) ? *options_.rail_command : options_.command;
  const CommandValues values = values_for(index, command);
  try {
    std::vector<std::string> argv = command.expand(values);
    ChildProcess child(argv);
    child.close_stdin();
    auto probe = std::make_unique<Probe>(Probe{.index = index,
                                               .argv = std::move(argv),
                                               .child = std::move(child),
                                               .started = Clock::now(),
                                               .hostfile = {},
                                               .parser = {},
                                               .log = {},
                                               .errors = {},
                                               .end_requested = {}});
    if (!values.hostfile.empty()) probe->hostfile = values.hostfile;
    running_.push_back(std::move(probe));
  } catch (const RunError& error) {
    measurement.stage = Stage::start;
    measurement.reason = error.detail().what;
    deliver(index, std::move(measurement));
  }
}

void Round::wait_for_output() {
  std::vector<pollfd> descriptors;
  std::vector<std::pair<Probe*, bool>> owners;
  const auto watch = [&](Probe& probe, int fd, bool is_error) {
    descriptors.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    owners.emplace_back(&probe, is_error);
  };
  for (const auto& probe : running_) {
    if (probe->stdout_open) watch(*probe, probe->child.stdout_fd(), false);
    if (probe->stderr_open) watch(*probe, probe->child.stderr_fd(), true);
  }
  if (running_.empty()) return;
  if (poll(descriptors.data(), descriptors.size(), static_cast<int>(kTick.count())) <= 0) return;
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    if (descriptors[i].revents != 0) read_from(*owners[i].first, descriptors[i].fd, owners[i].second);
  }
}

void Round::read_from(Probe& probe, int fd, bool is_error) {
  std::array<char, kReadSize> buffer;
  for (int i = 0; i < kReadsInARow; ++i) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      (is_error ? probe.stderr_open : probe.stdout_open) = false;
      return;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    probe.log.add(bytes);
    if (is_error) {
      probe.errors.add(bytes);
    } else {
      probe.parser.feed(bytes);
    }
  }
}

void Round::end_at_its_limit(Probe& probe) const {
  if (probe.ending != Ending::by_itself || seconds_since(probe.started) < spec_.timeouts.run_s) return;
  probe.ending = Ending::timed_out;
  probe.end_requested = Clock::now();
  probe.child.request_end(kGrace);
}

void Round::end_what_is_over() {
  // Away from the list first: on_done may throw, and must not see a probe twice.
  for (std::size_t i = 0; i < running_.size();) {
    Probe& probe = *running_[i];
    std::optional<ExitStatus> status = probe.child.poll();
    if (!status) end_at_its_limit(probe);
    const bool is_stuck = !status && probe.ending != Ending::by_itself &&
                          Clock::now() - probe.end_requested > kGrace + ChildProcess::kStuckLimit;
    if (!status && !is_stuck) {
      ++i;
      continue;
    }
    const std::unique_ptr<Probe> ended = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(*ended, status.value_or(ExitStatus{}));
  }
}

void Round::cancel_all() {
  for (const auto& probe : running_) {
    if (probe->ending == Ending::cancelled) continue;
    if (probe->ending == Ending::by_itself) probe->end_requested = Clock::now();
    probe->ending = Ending::cancelled;
    probe->child.request_end(kGrace);
  }
  while (next_ < groups_.size()) {
    Measurement measurement = blank(next_);
    measurement.reason = "cancelled";
    deliver(next_++, std::move(measurement));
  }
}

void Round::finish(Probe& probe, const ExitStatus& status) {
  // What is still in the pipes. A process that left the session may keep them open: its words are not waited for.
  if (probe.stdout_open) read_from(probe, probe.child.stdout_fd(), false);
  if (probe.stderr_open) read_from(probe, probe.child.stderr_fd(), true);
  if (probe.hostfile) {
    std::error_code ignored;
    std::filesystem::remove(*probe.hostfile, ignored);
  }
  Measurement measurement = blank(probe.index);
  measurement.wall_s = seconds_since(probe.started);
  judge_outcome(probe, status, measurement);
  if (measurement.status != Status::ok && probe.ending != Ending::cancelled) keep_log(probe, measurement);
  deliver(probe.index, std::move(measurement));
}

void Round::judge_outcome(Probe& probe, const ExitStatus& status, Measurement& measurement) {
  const NcclTestsOutput output = probe.parser.finish();
  if (probe.ending == Ending::cancelled) {
    measurement.reason = "cancelled";
    return;
  }
  NcclTestsRequest request{.ranks = measurement.ranks, .hosts = measurement.group.nodes, .op = spec_.op};
  // Addresses are counted and not compared, which is just what is wanted of names that are aliases.
  if (!options_.check_host_names) request.hosts.assign(request.hosts.size(), "0.0.0.0");
  const NcclTestsJudgement judgement = judge(output, request);
  if (judgement.status == Status::corrupt) {
    adopt(judgement, measurement);
    return;
  }
  if (probe.ending == Ending::timed_out) {
    measurement.status = Status::hung;
    measurement.stage = Stage::run;
    measurement.reason = fmt::format("no end after {:g} s, {} result rows; last words: {}", spec_.timeouts.run_s,
                                     output.rows.size(), last_words(probe.log.text()));
    return;
  }
  if (!status.success()) {
    measurement.status = Status::failed;
    measurement.stage = Stage::run;
    std::string words = output.first_failure;
    if (words.empty()) words = last_words(probe.errors.text());
    if (words.empty()) words = last_words(probe.log.text());
    measurement.reason = words.empty() ? status.describe() : fmt::format("{}: {}", status.describe(), words);
    measurement.node_faults = launcher_faults(probe.log.text(), measurement.group.nodes);
    return;
  }
  adopt(judgement, measurement);
  if (output.rows.empty() && judgement.kind.empty()) measurement.reason = "exit 0 but " + judgement.reason;
}

void Round::adopt(const NcclTestsJudgement& judgement, Measurement& measurement) const {
  measurement.status = judgement.status;
  measurement.finding_kind = judgement.kind;
  measurement.reason = judgement.reason;
  measurement.notes = judgement.notes;
  if (judgement.plateau) {
    measurement.bytes = judgement.plateau->largest_bytes;
    measurement.time_s = judgement.plateau->time_s;
    measurement.algbw_gbps = judgement.plateau->algbw_gbps;
    measurement.busbw_gbps = judgement.plateau->busbw_gbps;
    measurement.notes.push_back(
        fmt::format("plateau of {} sizes, ± {:.2g} GB/s", judgement.plateau->rows, judgement.plateau->spread_gbps));
  } else if (judgement.status == Status::ok) {
    measurement.status = Status::refused;  // nothing that could be compared
    measurement.reason = judgement.notes.front();
  }
  if (measurement.status != Status::ok) measurement.stage = Stage::check;
}

void Round::keep_log(const Probe& probe, Measurement& measurement) const {
  if (options_.log_directory.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(options_.log_directory, error);
  const std::string text =
      fmt::format("# group: {}\n# command: {}\n# {}: {}\n# standard output and error, as they came:\n{}",
                  describe(measurement.group), fmt::join(probe.argv, " "), to_string(measurement.status),
                  measurement.reason, probe.log.text());
  const auto now = fmt::gmtime(std::time(nullptr));
  constexpr int kNames = 100;
  std::optional<std::string> failure;
  for (int i = 0; i < kNames; ++i) {
    const std::filesystem::path path =
        options_.log_directory / fmt::format("{:%Y%m%dT%H%M%SZ}-{}-{}-{}.log", now, getpid(), probe.child.pid(), i);
    failure = write_private_file(path, text);
    if (!failure) {
      measurement.reason += fmt::format("; log: {}", path.string());
      return;
    }
    if (!std::filesystem::exists(path, error)) break;
  }
  measurement.notes.push_back(
      fmt::format("the log could not be kept in {}: {}", options_.log_directory.string(), *failure));
}

void Round::deliver(std::size_t index, Measurement measurement) {
  measurements_[index] = std::move(measurement);
  if (on_done_) on_done_(measurements_[index]);
}

}  // namespace

ExecProber::ExecProber(ExecOptions options) : options_(std::move(options)) {
  if (options_.max_concurrency < 1) {
    throw InputError({.what = fmt::format("{} commands at once", options_.max_concurrency),
                      .where = "--max-concurrency",
                      .expected = "1 or more",
                      .next_step = {}});
  }
  if (options_.gpus_per_node < 1) {
    throw InputError({.what = fmt::format("{} GPUs a node", options_.gpus_per_node),
                      .where = "--gpus-per-node",
                      .expected = "1 or more",
                      .next_step = {}});
  }
  options_.command.require_program();
  if (options_.rail_command) options_.rail_command->require_program();
}

std::vector<Measurement> ExecProber::measure(std::span<const Group> groups, const ProbeSpec& spec,
                                             const std::atomic<bool>& cancel,
                                             const std::function<void(const Measurement&)>& on_done) {
  return Round(options_, groups, spec, cancel, on_done).run();
}

}  // namespace weft::probes
