#include "history/history.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "history/enum_names.h"
#include "history/location.h"
#include "history/process.h"
#include "history/run_rows.h"
#include "history/schema.h"
#include "history/unfinished.h"
#include "topology/error.h"

namespace weft::history {
namespace {

void require_plain_file(const std::string& path) {
  struct stat state {};
  if (::stat(path.c_str(), &state) != 0 || S_ISREG(state.st_mode)) return;
  throw InputError({S_ISDIR(state.st_mode) ? "the history is a directory" : "the history is not a plain file", path,
                    "a file such as weft.db", "name a file with --db"});
}

/// Changing the journal takes the whole file, and SQLite does not wait for that by itself.
void set_journal(Database& database, const std::string& mode) {
  const auto deadline = std::chrono::steady_clock::now() + database.busy_timeout();
  while (database.text("PRAGMA journal_mode") != mode) {
    try {
      if (database.text("PRAGMA journal_mode = " + mode) == mode) return;
    } catch (const RunError&) {
      if (!database.was_busy() || std::chrono::steady_clock::now() > deadline) throw;
    }
    if (std::chrono::steady_clock::now() > deadline)
      throw RunError({fmt::format("cannot change its journal to {}: it is in use", mode), database.path(), "",
                      "try again when no other program has it open"});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// Without a write-ahead log beside it the file is complete in itself, and may be read where nothing can be written.
bool must_be_read_as_it_lies(const std::string& path) {
  const std::string directory = std::filesystem::absolute(path).parent_path().string();
  return ::faccessat(AT_FDCWD, directory.c_str(), W_OK, AT_EACCESS) != 0 && !std::filesystem::exists(path + "-wal");
}

/// A run whose controller is gone did not finish, whatever the file says.
RunState state_of(const std::string& state, const std::string& host, long pid) {
  if (state == "finished") return RunState::finished;
  if (state == "interrupted") return RunState::interrupted;
  return host == host_name() && !process_lives(pid) ? RunState::interrupted : RunState::running;
}

std::vector<std::string> culprits_of(Database& database, std::int64_t run) {
  Statement select = database.prepare("SELECT label FROM culprit WHERE run = ? ORDER BY position");
  std::vector<std::string> labels;
  select.bind(run);
  while (select.step())
    labels.push_back(select.text(0));
  return labels;
}

std::string known_runs(Database& database) {
  Statement select = database.prepare("SELECT count(*), min(id), max(id) FROM run");
  select.bind().step();
  switch (select.integer(0)) {
    case 0:
      return "this history has no runs yet";
    case 1:
      return fmt::format("run {} is the only one there", select.integer(1));
    default:
      return fmt::format("there are {} runs from {} to {}: see `weft history list`", select.integer(0),
                         select.integer(1), select.integer(2));
  }
}

}  // namespace

const char* to_string(RunState state) {
  switch (state) {
    case RunState::running:
      return "running";
    case RunState::finished:
      return "finished";
    case RunState::interrupted:
      return "interrupted";
  }
  return "running";
}

History History::open(const std::string& path, const HistoryOptions& options) {
  require_plain_file(path);
  make_parent_directory(path);
  const Filesystem filesystem = options.filesystem(path);
  std::optional<HostLock> lock;
  if (filesystem.shared) {
    lock.emplace(path);
    lock->hold();
  }
  History history(Database(path, Database::Mode::read_write, options.busy_timeout));
  history.lock_ = std::move(lock);
  history.prepare_to_write(filesystem);
  return history;
}

void History::prepare_to_write(const Filesystem& filesystem) {
  require_known_schema(database_);
  set_journal(database_, filesystem.shared ? "delete" : "wal");
  database_.execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL");
  migrate(database_);
  if (lock_)
    notes_.push_back(fmt::format(
        "the history {} is on {}, where a write-ahead log is not safe: it keeps a rollback journal instead, and the "
        "lock file {} lets the controllers of one host only write to it",
        path(), filesystem.name, lock_->path()));
}

History History::open_to_read(const std::string& path, const HistoryOptions& options) {
  if (!std::filesystem::exists(path))
    throw InputError({"there is no history", path, "", "`weft bisect` begins one; name another file with --db"});
  require_plain_file(path);
  const auto mode = must_be_read_as_it_lies(path) ? Database::Mode::immutable : Database::Mode::read_only;
  History history(Database(path, mode, options.busy_timeout));
  if (require_known_schema(history.database_) != schema_version()) return open(path, options);
  return history;
}

void History::hold_lock() {
  if (lock_) lock_->hold();
}

std::int64_t History::begin_run(const bisect::RunInfo& info) {
  hold_lock();
  Transaction transaction(database_);
  const std::int64_t id = insert_run(database_, info);
  transaction.commit();
  return id;
}

void History::record_round(std::int64_t id, const bisect::RoundResult& round) {
  if (round.measurements.size() != round.round.groups.size())
    throw std::invalid_argument("History::record_round: one measurement a group");
  hold_lock();
  Transaction transaction(database_);
  insert_round(database_, id, round);
  transaction.commit();
}

void History::finish_run(std::int64_t id, const bisect::RunResult& result) {
  hold_lock();
  Transaction transaction(database_);
  write_conclusion(database_, id, result);
  transaction.commit();
}

std::vector<RunSummary> History::list(int limit) {
  Statement select = database_.prepare(
      "SELECT id, state, controller_host, controller_pid, started_at, hosts, node_count, prober, verdict, wall_s, "
      "(SELECT count(*) FROM round WHERE round.run = run.id) FROM run ORDER BY id DESC LIMIT ?");
  std::vector<RunSummary> runs;
  select.bind(limit);
  while (select.step()) {
    RunSummary run;
    run.id = select.integer(0);
    run.state = state_of(select.text(1), select.text(2), static_cast<long>(select.integer(3)));
    run.started_at = select.text(4);
    run.hosts = select.text(5);
    run.node_count = select.small_integer(6);
    run.prober = select.text(7);
    run.verdict = verdict_kind_from_string(select.text(8));
    run.wall_s = select.optional_real(9);
    run.rounds = select.small_integer(10);
    run.culprits = culprits_of(database_, run.id);
    runs.push_back(std::move(run));
  }
  return runs;
}

StoredRun History::load(std::int64_t id) {
  // One read transaction, so that a round written meanwhile is seen whole or not at all.
  database_.execute("BEGIN");
  std::optional<RunRows> rows;
  try {
    rows = select_run(database_, id);
    if (!rows) throw InputError({fmt::format("there is no run {}", id), path(), "", known_runs(database_)});
  } catch (...) {
    database_.execute("ROLLBACK");
    throw;
  }
  database_.execute("COMMIT");
  StoredRun stored{state_of(rows->state, rows->result.info.controller_host, rows->controller_pid),
                   std::move(rows->result)};
  stored.result.interrupted = stored.state == RunState::interrupted;
  if (!rows->concluded)
    stored.result.verdict =
        unfinished_verdict(stored.result.info, stored.result.rounds,
                           stored.state == RunState::running ? "The run is going on; these are its rounds so far."
                                                             : "The controller ended before it could conclude.");
  return stored;
}

bool History::contains(std::int64_t id) {
  return database_.prepare("SELECT 1 FROM run WHERE id = ?").bind(id).step();
}

std::optional<Precedent> History::precedent(const bisect::RunInfo& info) {
  Statement select = database_.prepare(
      "SELECT whole_gbps FROM run WHERE state = 'finished' AND verdict = 'healthy' AND whole_gbps IS NOT NULL "
      "AND injected = '[]' AND prober = ? AND op = ? AND bytes = ? AND node_count = ? AND gpus_per_node = ? "
      "AND host_set = ?");
  select.bind(info.prober, to_string(info.spec.op), info.spec.bytes, info.hosts.size(), info.spec.gpus_per_node,
              host_set_key(info.hosts));
  std::vector<double> reached;
  while (select.step())
    reached.push_back(select.real(0));
  if (reached.empty()) return std::nullopt;
  const auto runs = static_cast<int>(reached.size());
  return Precedent{probes::median_of(std::move(reached)), runs};
}

}  // namespace weft::history
