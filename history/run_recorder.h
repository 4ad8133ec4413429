#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bisect/run.h"
#include "history/history.h"
#include "history/location.h"
#include "history/spool.h"

namespace weft::history {

/// Keeps a run as it happens, whatever becomes of the database on the way. What cannot be recorded is found out before
/// anything is measured (the constructor and begin throw); from then on nothing throws: what the database refuses goes
/// to a spool file, and notes() says so. Not thread safe.
class RunRecorder {
 public:
  struct Options {
    std::string database_path = default_database_path();
    HistoryOptions history;
    std::vector<std::string> spool_directories = history::spool_directories();
  };

  /// Opens the database, and takes in what earlier runs had to spool. Throws InputError and RunError as History::open
  /// does.
  explicit RunRecorder(const Options& options);
  /// Keeps nothing (`--no-history`): begin gives 0, and there is no precedent.
  static RunRecorder none() { return RunRecorder(); }

  std::optional<Precedent> precedent(const bisect::RunInfo& info);
  /// Gives the run its number, which is to go into RunResult::info.id. Once a recorder.
  std::int64_t begin(const bisect::RunInfo& info);
  void round(const bisect::RoundResult& round);
  /// REQUIRES: `result.rounds` are those given to round().
  void finish(const bisect::RunResult& result);

  /// For the user, in the order in which they came up; to go into RunResult::notes before finish.
  const std::vector<std::string>& notes() const { return notes_; }
  /// The spool file, where one had to be begun.
  std::optional<std::string> spool_path() const;

 private:
  RunRecorder() = default;
  void begin_spool(const std::string& why);
  template <typename ToDatabase, typename ToSpool>
  void record(ToDatabase to_database, ToSpool to_spool);

  Options options_{"", {}, {}};
  std::optional<History> history_;
  std::optional<SpoolFile> spool_;
  bool lost_ = false;  ///< neither database nor spool took it
  bisect::RunInfo info_;
  std::vector<bisect::RoundResult> rounds_;  ///< so that a spool file begun late is complete
  std::vector<std::string> notes_;
};

}  // namespace weft::history
