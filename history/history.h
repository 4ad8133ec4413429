#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bisect/run.h"
#include "history/filesystem.h"
#include "history/host_lock.h"
#include "history/sqlite.h"

namespace weft::history {

struct HistoryOptions {
  std::chrono::milliseconds busy_timeout{10'000};  ///< how long to wait for another controller's transaction
  FilesystemOf filesystem = filesystem_of;
};

enum class RunState {
  running,
  finished,
  interrupted,  ///< ended early by its user, or its controller died
};
const char* to_string(RunState state);

/// One line of the list of runs.
struct RunSummary {
  std::int64_t id = 0;
  RunState state = RunState::running;
  std::string started_at;
  std::string hosts;  ///< folded
  int node_count = 0;
  std::string prober;
  std::optional<bisect::Verdict::Kind> verdict;  ///< none while it runs
  std::vector<std::string> culprits;             ///< as describe() names them
  int rounds = 0;
  std::optional<double> wall_s;
};

struct StoredRun {
  RunState state = RunState::running;
  bisect::RunResult result;  ///< of a run that has not finished: the rounds so far, and a verdict that says so
};

/// What earlier healthy runs of the same shape reached.
struct Precedent {
  double busbw_gbps = 0;  ///< median of the whole set's bus bandwidth
  int runs = 0;
};

/// What was measured, and what was concluded from it, for ever: a SQLite file (docs/history.md).
///
/// A round is one transaction: a crash loses at most the round that was running. Several controllers may write to one
/// file at once. On a file system that several hosts may share, only the controllers of one host may (HostLock).
///
/// Errors are RunError (not writable, damaged, not ours, newer, disk full, locked for too long), each with the file and
/// what to do; InputError where another host holds the file. Not thread safe: a thread opens its own.
class History {
 public:
  /// For writing. Directories and file are made where missing, readable by their owner only.
  static History open(const std::string& path, const HistoryOptions& options = {});
  /// For reading: also works on a file and in a directory that may not be written. InputError when there is no file.
  static History open_to_read(const std::string& path, const HistoryOptions& options = {});

  /// Gives the run its number. `info.id` is ignored.
  std::int64_t begin_run(const bisect::RunInfo& info);
  /// REQUIRES: begin_run gave `id`; one measurement a group; a round number that this run does not have yet.
  void record_round(std::int64_t id, const bisect::RoundResult& round);
  /// Verdict, wall time, notes and whether it was interrupted. Rounds are not written again.
  void finish_run(std::int64_t id, const bisect::RunResult& result);

  std::vector<RunSummary> list(int limit);  ///< newest first
  /// What was recorded, bit for bit (doubles that are not finite come back as 0 or none, -0.0 as 0.0). The groups of a
  /// round are those of its measurements. InputError for a run that is not there, saying which are.
  StoredRun load(std::int64_t id);
  bool contains(std::int64_t id);

  /// None without an earlier run that finished healthy with the same set of hosts, operation, size, GPUs a node and
  /// prober, and without injected faults.
  std::optional<Precedent> precedent(const bisect::RunInfo& info);

  /// What a user should know, such as a journal that suits a network file system.
  const std::vector<std::string>& notes() const { return notes_; }
  const std::string& path() const { return database_.path(); }

 private:
  explicit History(Database database) : database_(std::move(database)) {}
  void prepare_to_write(const Filesystem& filesystem);
  void hold_lock();

  // The lock is let go after the database is closed: members are destroyed in reverse order.
  std::optional<HostLock> lock_;
  Database database_;
  std::vector<std::string> notes_;
};

}  // namespace weft::history
