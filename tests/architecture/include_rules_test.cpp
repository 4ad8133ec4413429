// Holds every #include of the source tree against the table in docs/architecture.md.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using Rules = std::map<std::string, std::set<std::string>>;

const fs::path kRoot = WEFT_SOURCE_DIR;

/// Rows of the table "| folder | may include |".
Rules read_rules() {
  Rules rules;
  std::ifstream page(kRoot / "docs/architecture.md");
  const std::regex row(R"(^\| ([a-z]+) \|([a-z, ]*)\|$)");
  const std::regex name("[a-z]+");
  bool in_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "| folder | may include |") {
      in_table = true;
      continue;
    }
    std::smatch match;
    if (!in_table || !std::regex_match(line, match, row)) continue;
    const std::string allowed = match[2];
    auto& of_folder = rules[match[1]];
    of_folder.insert(std::sregex_token_iterator(allowed.begin(), allowed.end(), name), std::sregex_token_iterator());
  }
  return rules;
}

/// Of our own headers in one file: the folders that they are in, with the line.
std::map<std::string, std::string> included_folders(const fs::path& file) {
  std::map<std::string, std::string> folders;
  std::ifstream source(file);
  const std::regex include(R"re(^\s*#\s*include\s*"([a-z_]+)/.*)re");
  for (std::string line; std::getline(source, line);) {
    std::smatch match;
    if (std::regex_match(line, match, include)) folders.emplace(match[1], line);
  }
  return folders;
}

TEST(IncludeRules, TheTableNamesEveryFolderOfTheTree) {
  const Rules rules = read_rules();
  for (const auto& [folder, allowed] : rules) {
    EXPECT_TRUE(fs::is_directory(kRoot / folder)) << folder;
    for (const std::string& other : allowed)
      EXPECT_TRUE(rules.contains(other)) << folder << " may include " << other;
  }
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    const std::string folder = entry.path().filename();
    if (!entry.is_directory() || folder == "tests" || !fs::exists(entry.path() / "CMakeLists.txt")) continue;
    EXPECT_TRUE(rules.contains(folder)) << "add " << folder << " to docs/architecture.md";
  }
}

TEST(IncludeRules, NoFolderIncludesOneAboveIt) {
  const Rules rules = read_rules();
  ASSERT_GE(rules.size(), 7U);
  int files = 0;
  for (const auto& [folder, allowed] : rules) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp") continue;
      ++files;
      for (const auto& [other, line] : included_folders(entry.path())) {
        EXPECT_TRUE(other == folder || allowed.contains(other)) << entry.path() << ": " << line;
      }
    }
  }
  EXPECT_GT(files, 20);
}

TEST(IncludeRules, TheTableHasNoCycle) {
  Rules rules = read_rules();
  while (!rules.empty()) {
    const auto lowest = std::find_if(rules.begin(), rules.end(), [](const auto& rule) { return rule.second.empty(); });
    ASSERT_NE(lowest, rules.end()) << "what is left includes each other";
    const std::string folder = lowest->first;
    rules.erase(lowest);
    for (auto& [other, allowed] : rules)
      allowed.erase(folder);
  }
}

}  // namespace
