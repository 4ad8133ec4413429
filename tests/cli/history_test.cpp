#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/contract.h"
#include "tests/cli/weft_process.h"

namespace weft::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace fs = std::filesystem;

/// A short run with a known end: four nodes, node2 slow.
std::vector<std::string> short_run(const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"bisect",   "--nodes",        "4",        "--bytes",
                                        "256K",     "--quiet",        "--inject", "node[1-4]:rate=100Mbit",
                                        "--inject", "node2:delay=60%"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// The shortest one: two nodes alone cannot be told apart.
std::vector<std::string> two_nodes(const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"bisect", "--nodes", "2", "--bytes", "64K", "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(History, ListsAndShowsWhatBisectPrinted) {
  const WeftProcess weft;
  const Outcome run = weft.run(short_run({"--json"}));
  ASSERT_EQ(run.status, 1) << run.err;
  const json document = only_document(run);

  const Outcome list = weft.run({"history", "list"});
  EXPECT_EQ(list.status, 0) << list.err;
  EXPECT_THAT(list.out, AllOf(HasSubstr("node[1-4]"), HasSubstr("degraded"), HasSubstr("node node2")));
  const json listed = only_document(weft.run({"history", "list", "--json"}));
  ASSERT_EQ(listed["runs"].size(), 1U);
  EXPECT_EQ(listed["runs"][0]["run"], document["run"]);
  EXPECT_EQ(listed["runs"][0]["verdict"], "degraded");

  const std::string id = std::to_string(document["run"].get<int>());
  const Outcome shown = weft.run({"history", "show", id});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("DEGRADED: node node2"), HasSubstr("node2:delay=60%"),
                               HasSubstr("4 asked = 4 measured + 0 skipped + 0 failed")));
  const json again = only_document(weft.run({"history", "show", id, "--json"}));
  expect_fields_of_the_contract(again);
  for (const char* field : {"schema", "run", "verdict", "culprits", "baseline", "unresolved", "asked", "measured",
                            "skipped", "failed", "rounds", "probes", "injected", "findings"}) {
    EXPECT_EQ(again[field], document[field]) << field;
  }
}

TEST(History, IsInTheFileThatTheFlagNamesBeforeTheEnvironment) {
  const WeftProcess weft;
  const std::string other = weft.path("other.db").string();
  EXPECT_EQ(weft.run(two_nodes({"--db", other})).status, 3);
  EXPECT_TRUE(fs::exists(other));
  EXPECT_FALSE(fs::exists(weft.path("weft.db"))) << "$WEFT_DB is not touched";
  EXPECT_EQ(only_document(weft.run({"history", "list", "--json", "--db", other}))["runs"].size(), 1U);
}

TEST(History, IsUnderTheStateDirectoryWhenNobodyNamesAFile) {
  const WeftProcess weft;
  EXPECT_EQ(weft.run(two_nodes(), Circumstances{{"WEFT_DB="}, 0, ""}).status, 3);
  EXPECT_TRUE(fs::is_directory(weft.path("state") / "weft"));
  EXPECT_THAT(weft.run({"history", "list"}, Circumstances{{"WEFT_DB="}, 0, ""}).out, HasSubstr("node[1-2]"));
}

TEST(History, IsNotTouchedWithoutHistory) {
  const WeftProcess weft;
  const Outcome outcome = weft.run(two_nodes({"--no-history", "--json"}));
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  const json document = only_document(outcome);
  expect_fields_of_the_contract(document);
  EXPECT_TRUE(document["run"].is_null());
  EXPECT_FALSE(fs::exists(weft.path("weft.db")));
}

TEST(History, TakesTwoControllersAtOnce) {
  const WeftProcess weft;
  Outcome outcomes[2];
  {
    std::vector<std::jthread> controllers;
    for (Outcome& outcome : outcomes)
      controllers.emplace_back([&weft, &outcome] { outcome = weft.run(short_run({"--json"})); });
  }
  std::set<int> runs;
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    const json document = only_document(outcome);
    EXPECT_THAT(convicted(document), ElementsAre("node node2"));
    runs.insert(document["run"].get<int>());
  }
  EXPECT_THAT(runs, ElementsAre(1, 2)) << "each has a number of its own";
  for (const int run : runs) {
    const json kept = only_document(weft.run({"history", "show", std::to_string(run), "--json"}));
    EXPECT_THAT(convicted(kept), ElementsAre("node node2"));
  }
}

TEST(History, WithoutSuchARunIsBadInput) {
  const WeftProcess weft;
  EXPECT_EQ(weft.run(two_nodes()).status, 3);
  const Outcome shown = weft.run({"history", "show", "99"});
  EXPECT_EQ(shown.status, 2);
  EXPECT_THAT(shown.err, AllOf(HasSubstr("99"), HasSubstr("weft.db")));
  EXPECT_THAT(shown.out, IsEmpty());
  const Outcome resumed = weft.run({"bisect", "--resume", "99"});
  EXPECT_EQ(resumed.status, 2);
  EXPECT_THAT(resumed.err, HasSubstr("99"));
  const Outcome finished = weft.run({"bisect", "--resume", "1"});
  EXPECT_EQ(finished.status, 2) << "it came to its end";
  EXPECT_THAT(finished.err, HasSubstr("history show 1"));
}

}  // namespace
}  // namespace weft::cli
