// Holds every #include of the source tree against the table in docs/architecture.md.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using Rules = std::map<std::string, std::set<std::string>>;

const fs::path kRoot = WEFT_SOURCE_DIR;

/// Rows of the table "| folder | may include |"; the table ends where the first other line stands.
Rules read_rules() {
  Rules rules;
  std::ifstream page(kRoot / "docs/architecture.md");
  const std::regex row(R"(^\| ([a-z]+) \|([a-z, ]*)\|$)");
  const std::regex name("[a-z]+");
  std::string line;
  while (std::getline(page, line) && line != "| folder | may include |") {
  }
  std::getline(page, line);  // | --- | --- |
  for (std::smatch match; std::getline(page, line) && std::regex_match(line, match, row);) {
    const std::string allowed = match[2];
    auto& of_folder = rules[match[1]];
    of_folder.insert(std::sregex_token_iterator(allowed.begin(), allowed.end(), name), std::sregex_token_iterator());
  }
  return rules;
}

std::vector<fs::path> sources_of(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".h" || extension == ".cpp") files.push_back(entry.path());
  }
  return files;
}

/// Paths that one file includes, in quotes or angle brackets.
std::vector<std::string> includes_of(const fs::path& file) {
  std::vector<std::string> paths;
  std::ifstream source(file);
  const std::regex include(R"re(^\s*#\s*include\s*["<]([^">]+)[">].*)re");
  std::smatch match;
  for (std::string line; std::getline(source, line);)
    if (std::regex_match(line, match, include)) paths.push_back(match[1]);
  return paths;
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
    if (!entry.is_directory() || !fs::exists(entry.path() / "CMakeLists.txt")) continue;
    EXPECT_TRUE(rules.contains(folder)) << "add " << folder << " to docs/architecture.md";
  }
}

TEST(IncludeRules, NoFolderIncludesOneAboveIt) {
  const Rules rules = read_rules();
  ASSERT_GE(rules.size(), 8U);
  for (const auto& [folder, allowed] : rules) {
    const std::vector<fs::path> sources = sources_of(folder);
    EXPECT_FALSE(sources.empty()) << folder;
    for (const fs::path& file : sources) {
      for (const std::string& path : includes_of(file)) {
        const std::string other = path.substr(0, path.find('/'));
        EXPECT_NE(other, "..") << file << " includes " << path << ": name it from the root of the tree";
        if (!rules.contains(other) || other == folder) continue;
        EXPECT_TRUE(allowed.contains(other)) << file << " includes " << path;
      }
    }
  }
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
