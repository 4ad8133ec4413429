#include "history/location.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/history/scratch.h"

namespace weft::history {
namespace {

/// Sets or unsets variables and puts them back.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::optional<std::string>>& values) {
    for (const auto& [name, value] : values) {
      const char* const before = std::getenv(name.c_str());
      before_[name] = before == nullptr ? std::nullopt : std::optional<std::string>(before);
      set(name, value);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_)
      set(name, value);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    if (value)
      ::setenv(name.c_str(), value->c_str(), 1);
    else
      ::unsetenv(name.c_str());
  }
  std::map<std::string, std::optional<std::string>> before_;
};

struct Row {
  std::optional<std::string> weft_db;
  std::optional<std::string> state_home;
  std::string expected;
};

TEST(Location, OfTheDefaultDatabase) {
  const std::vector<Row> rows = {
      {"/data/w.db", "/state", "/data/w.db"},
      {std::nullopt, "/state", "/state/weft/weft.db"},
      {"", "/state", "/state/weft/weft.db"},
      {std::nullopt, std::nullopt, "/home/u/.local/state/weft/weft.db"},
      {std::nullopt, "", "/home/u/.local/state/weft/weft.db"},
      {std::nullopt, "relative/is/ignored", "/home/u/.local/state/weft/weft.db"},
  };
  for (const Row& row : rows) {
    const Environment environment({{"WEFT_DB", row.weft_db}, {"XDG_STATE_HOME", row.state_home}, {"HOME", "/home/u"}});
    EXPECT_EQ(default_database_path(), row.expected);
  }
}

TEST(Location, OfTheSpoolIsTriedFromTheStateDirectoryDown) {
  const Environment environment({{"XDG_STATE_HOME", "/state"}, {"TMPDIR", "/scratch"}});
  EXPECT_EQ(spool_directories(), (std::vector<std::string>{"/state/weft/spool", "/scratch", "/tmp"}));
}

TEST(Location, MakesMissingDirectoriesForTheirOwnerAlone) {
  const Scratch scratch;
  make_parent_directory(scratch / "a/b/weft.db");
  struct stat state {};
  for (const char* level : {"a", "a/b"}) {
    ASSERT_EQ(::stat((scratch / level).c_str(), &state), 0);
    EXPECT_EQ(state.st_mode & 0777, 0700U);
  }
}

TEST(Location, SaysWhichDirectoryCannotBeMade) {
  const ErrorDetail detail = thrown_by<RunError>([] { make_parent_directory("/proc/weft/state/weft.db"); });
  EXPECT_EQ(detail.where, "/proc/weft");
  EXPECT_NE(detail.what.find("cannot make the directory"), std::string::npos);
}

}  // namespace
}  // namespace weft::history
