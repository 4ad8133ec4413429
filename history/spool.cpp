#include "history/spool.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "history/location.h"
#include "history/process.h"
#include "history/record_json.h"
#include "history/unfinished.h"
#include "topology/error.h"

namespace weft::history {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr std::string_view kPrefix = "weft-run-";
constexpr std::string_view kSuffix = ".jsonl";

/// A new file of ours; -1 and errno where the directory does not take one.
int create_in(const std::string& directory, std::string& path) {
  try {
    make_parent_directory(directory + "/x");
  } catch (const RunError&) {
    errno = ENOENT;
    return -1;
  }
  path = fmt::format("{}/{}XXXXXX{}", directory, kPrefix, kSuffix);
  return ::mkostemps(path.data(), static_cast<int>(kSuffix.size()), O_CLOEXEC);
}

std::string absolute(const std::string& path) {
  return fs::absolute(path).lexically_normal().string();
}

/// A spool file as read back.
struct Spooled {
  std::string database_path;
  std::string host;
  long pid = 0;
  bisect::RunResult run;
  bool finished = false;
};

void take_line(Spooled& spooled, const json& line) {
  const std::string kind = line.at("line");
  if (kind == "begin") {
    spooled.database_path = line.at("database");
    spooled.host = line.at("host");
    spooled.pid = line.at("pid");
    spooled.run.info = decode_run_info(line.at("run"));
  } else if (kind == "round") {
    spooled.run.rounds.push_back(decode_round(line.at("round")));
  } else if (kind == "finish") {
    spooled.run.verdict = decode_verdict(line.at("verdict"));
    spooled.run.wall_s = line.at("wall_s").is_null() ? 0.0 : line.at("wall_s").get<double>();
    spooled.run.interrupted = line.at("interrupted");
    spooled.run.notes = line.at("notes").get<std::vector<std::string>>();
    spooled.finished = true;
  }
}

/// A last line that was cut short (the disk filled up here too) is left out; any other bad line throws.
Spooled read_spool(const std::string& path) {
  std::ifstream file(path);
  Spooled spooled;
  for (std::string text; std::getline(file, text) && !file.eof();)
    take_line(spooled, json::parse(text));
  return spooled;
}

bool is_ours(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  struct stat state {};
  return name.starts_with(kPrefix) && name.ends_with(kSuffix) && ::lstat(entry.path().c_str(), &state) == 0 &&
         S_ISREG(state.st_mode) && state.st_uid == ::geteuid();
}

std::vector<std::string> spool_files(const std::vector<std::string>& directories) {
  std::set<std::string> files;
  for (const std::string& directory : directories) {
    std::error_code ignored;  // a directory that is not there holds no files
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored))
      if (is_ours(entry)) files.insert(entry.path().string());
  }
  return {files.begin(), files.end()};
}

/// Whether its writer has ended, by itself or not.
bool is_complete(const Spooled& spooled) {
  return spooled.finished || (spooled.host == host_name() && !process_lives(spooled.pid));
}

std::optional<StoredRun> stored_already(History& history, const bisect::RunInfo& info) {
  if (!history.contains(info.id)) return std::nullopt;
  StoredRun stored = history.load(info.id);
  const bisect::RunInfo& there = stored.result.info;
  if (there.started_at != info.started_at || there.controller_host != info.controller_host || there.hosts != info.hosts)
    return std::nullopt;
  return stored;
}

std::int64_t import_run(History& history, const bisect::RunResult& run, bool finished) {
  const std::optional<StoredRun> stored = stored_already(history, run.info);
  const std::int64_t id = stored ? run.info.id : history.begin_run(run.info);
  std::set<int> there;
  if (stored)
    for (const bisect::RoundResult& round : stored->result.rounds)
      there.insert(round.round.number);
  for (const bisect::RoundResult& round : run.rounds)
    if (!there.contains(round.round.number)) history.record_round(id, round);
  bisect::RunResult end = run;
  if (!finished) {
    end.interrupted = true;
    end.verdict = unfinished_verdict(run.info, run.rounds, "The controller ended before it could conclude.");
  }
  if (!stored || stored->state != RunState::finished) history.finish_run(id, end);
  return id;
}

std::optional<std::string> import_file(History& history, const std::string& path) {
  const Spooled spooled = read_spool(path);
  if (absolute(spooled.database_path) != absolute(history.path()) || !is_complete(spooled)) return std::nullopt;
  // Whoever renames the file first imports it.
  const std::string claimed = fmt::format("{}.{}", path, static_cast<long>(::getpid()));
  if (::rename(path.c_str(), claimed.c_str()) != 0) return std::nullopt;
  try {
    const std::int64_t id = import_run(history, spooled.run, spooled.finished);
    ::unlink(claimed.c_str());
    return fmt::format("run {} of {}, kept in {} until now, is in the history", id, spooled.run.info.started_at, path);
  } catch (...) {
    ::rename(claimed.c_str(), path.c_str());
    throw;
  }
}

}  // namespace

SpoolFile::SpoolFile(const std::vector<std::string>& directories, const std::string& database_path,
                     const bisect::RunInfo& info) {
  std::string refusals;
  for (const std::string& directory : directories) {
    descriptor_ = create_in(directory, path_);
    if (descriptor_ < 0) {
      refusals += fmt::format("{}{} ({})", refusals.empty() ? "" : ", ", directory, std::strerror(errno));
      continue;
    }
    try {
      write_line(to_line({{"line", "begin"},
                          {"schema", "weft.spool/1"},
                          {"database", absolute(database_path)},
                          {"host", host_name()},
                          {"pid", static_cast<long>(::getpid())},
                          {"run", encode(info)}}));
      return;
    } catch (const RunError& error) {
      ::close(std::exchange(descriptor_, -1));
      ::unlink(path_.c_str());
      refusals += fmt::format("{}{} ({})", refusals.empty() ? "" : ", ", directory, error.detail().what);
    }
  }
  throw RunError({"no directory takes a spool file: " + refusals, "", "", "set TMPDIR to one that can be written"});
}

SpoolFile::SpoolFile(SpoolFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

SpoolFile::~SpoolFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SpoolFile::write_line(const std::string& line) {
  const std::string text = line + '\n';
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(descriptor_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw RunError({fmt::format("cannot write the spool file: {}", std::strerror(errno)), path_, "", ""});
    done += static_cast<std::size_t>(written);
  }
  ::fsync(descriptor_);
}

void SpoolFile::record_round(const bisect::RoundResult& round) {
  write_line(to_line({{"line", "round"}, {"round", encode(round)}}));
}

void SpoolFile::finish_run(const bisect::RunResult& result) {
  write_line(to_line({{"line", "finish"},
                      {"wall_s", result.wall_s},
                      {"interrupted", result.interrupted},
                      {"notes", result.notes},
                      {"verdict", encode(result.verdict)}}));
}

std::vector<std::string> import_spooled_runs(History& history, const std::vector<std::string>& directories) {
  std::vector<std::string> said;
  for (const std::string& path : spool_files(directories)) {
    try {
      if (auto sentence = import_file(history, path)) said.push_back(*std::move(sentence));
    } catch (const std::exception& error) {
      said.push_back(fmt::format("the run kept in {} could not be taken into the history: {}", path, error.what()));
    }
  }
  return said;
}

}  // namespace weft::history
