#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bisect/run.h"
#include "history/history.h"

namespace weft::history {

/// A run in a file of JSON lines, because its database could not be written: what was asked, a line a round, and what
/// was concluded. Each line is on the disk before the call returns. The file stands alone, and import_spooled_runs
/// takes it into the database later.
class SpoolFile {
 public:
  /// In the first of the directories that takes it. Throws RunError, naming each, when none does.
  SpoolFile(const std::vector<std::string>& directories, const std::string& database_path, const bisect::RunInfo& info);
  SpoolFile(SpoolFile&& other) noexcept;
  SpoolFile& operator=(SpoolFile&&) = delete;
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;
  ~SpoolFile();

  void record_round(const bisect::RoundResult& round);
  void finish_run(const bisect::RunResult& result);
  const std::string& path() const { return path_; }

 private:
  void write_line(const std::string& line);

  std::string path_;
  int descriptor_ = -1;
};

/// Takes the finished runs in `directories` that were meant for this database into it, and those whose controller has
/// died; a file goes once its run is in. Rounds that the database has are not written twice. Says what was done, a
/// sentence a file; a file that cannot be read stays where it is and is said too. Throws nothing that a file can cause.
std::vector<std::string> import_spooled_runs(History& history, const std::vector<std::string>& directories);

}  // namespace weft::history
