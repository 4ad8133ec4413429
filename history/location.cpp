#include "history/location.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topology/error.h"

namespace weft::history {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<fs::path> home() {
  if (const auto value = variable("HOME")) return *value;
  const passwd* const entry = ::getpwuid(::geteuid());
  if (entry == nullptr || entry->pw_dir == nullptr || *entry->pw_dir == '\0') return std::nullopt;
  return entry->pw_dir;
}

std::optional<fs::path> state_directory() {
  if (const auto value = variable("XDG_STATE_HOME"); value && fs::path(*value).is_absolute())
    return fs::path(*value) / "weft";
  if (const auto directory = home()) return *directory / ".local" / "state" / "weft";
  return std::nullopt;
}

}  // namespace

std::string default_database_path() {
  if (const auto value = variable("WEFT_DB")) return *value;
  if (const auto directory = state_directory()) return *directory / "weft.db";
  throw InputError({"there is no place for the history: neither WEFT_DB, XDG_STATE_HOME nor HOME is set", "", "",
                    "name a file with --db, or run with --no-history"});
}

std::vector<std::string> spool_directories() {
  std::vector<std::string> directories;
  if (const auto directory = state_directory()) directories.push_back(*directory / "spool");
  if (const auto directory = variable("TMPDIR")) directories.push_back(*directory);
  directories.emplace_back("/tmp");
  return directories;
}

void make_parent_directory(const std::string& file) {
  const fs::path directory = fs::absolute(file).parent_path();
  fs::path made;
  for (const fs::path& level : directory) {
    made /= level;
    if (::mkdir(made.c_str(), 0700) == 0 || errno == EEXIST) continue;
    const int error = errno;
    if (fs::is_directory(made)) continue;  // a read-only mount says EROFS before EEXIST
    throw RunError({fmt::format("cannot make the directory of the history: {}", std::strerror(error)), made.string(),
                    "", "make it, or choose another file with --db"});
  }
}

}  // namespace weft::history
