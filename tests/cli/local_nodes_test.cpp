#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/contract.h"
#include "tests/cli/weft_process.h"

namespace weft::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// `nodes` processes over links emulated at 100 Mbit/s, with the faults given.
std::vector<std::string> local_nodes(int nodes, const std::vector<std::string>& faults,
                                     const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"bisect",
                                        "--nodes",
                                        std::to_string(nodes),
                                        "--bytes",
                                        "256K",
                                        "--iterations",
                                        "3",
                                        "--quiet",
                                        "--inject",
                                        "node[1-" + std::to_string(nodes) + "]:rate=100Mbit"};
  for (const std::string& fault : faults)
    arguments.insert(arguments.end(), {"--inject", fault});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(LocalNodes, TheDocumentedExampleNamesTheSlowedNodeAlone) {
  const WeftProcess weft;
  const Outcome outcome = weft.run({"bisect", "--nodes", "8", "--bytes", "1M", "--inject", "node[1-8]:rate=200Mbit",
                                    "--inject", "node5:delay=30%", "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const json document = only_document(outcome);
  expect_fields_of_the_contract(document);
  EXPECT_EQ(document["schema"], "weft.bisect/1");
  EXPECT_EQ(document["verdict"], "degraded");
  EXPECT_THAT(convicted(document), ElementsAre("node node5"));
  EXPECT_THAT(document["unresolved"], IsEmpty());
  EXPECT_EQ(document["measured"], 8);
  EXPECT_EQ(document["injected"], json({"node[1-8]:rate=200Mbit", "node5:delay=30%"}));
  // 200 Mbit/s are 0.025 GB/s; an iteration that takes 30 % longer has 1 / 1.3 of the bandwidth.
  const json& culprit = document["culprits"][0];
  EXPECT_NEAR(culprit["expected_gbps"].get<double>(), 0.025, 0.0025);
  EXPECT_NEAR(culprit["measured_gbps"].get<double>(), 0.025 / 1.3, 0.0025);
  EXPECT_NEAR(culprit["slowdown"].get<double>(), 1.3, 0.15);
  EXPECT_THAT(outcome.err, HasSubstr("round 1")) << "progress goes to standard error";
}

TEST(LocalNodes, HealthyOnesGiveADocumentWithoutCulpritsAndExitStatusZero) {
  const WeftProcess weft;
  const Outcome outcome = weft.run(local_nodes(4, {}, {"--json"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json document = only_document(outcome);
  expect_fields_of_the_contract(document);
  EXPECT_EQ(document["verdict"], "healthy");
  EXPECT_THAT(document["culprits"], IsEmpty());
  EXPECT_THAT(document["findings"], IsEmpty());
  EXPECT_EQ(document["injected"], json({"node[1-4]:rate=100Mbit"}));
  EXPECT_THAT(outcome.err, IsEmpty()) << "--quiet";
}

TEST(LocalNodes, InOddNumbersAreSearchedToTheLastOne) {
  for (const char* slow : {"node1", "node5"}) {
    const WeftProcess weft;
    const Outcome outcome = weft.run(local_nodes(5, {std::string(slow) + ":delay=60%"}, {"--json"}));
    EXPECT_EQ(outcome.status, 1) << slow << outcome.err;
    const json document = only_document(outcome);
    expect_fields_of_the_contract(document);
    EXPECT_THAT(convicted(document), ElementsAre(std::string("node ") + slow));
  }
}

TEST(LocalNodes, TwoSlowOnesInOnePairAreBothNamed) {
  const WeftProcess weft;
  const Outcome outcome = weft.run(local_nodes(6, {"node[3-4]:delay=60%"}));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("DEGRADED"));
  EXPECT_THAT(outcome.out, HasSubstr("node node3 "));
  EXPECT_THAT(outcome.out, HasSubstr("node node4 "));
  EXPECT_THAT(outcome.out, HasSubstr("node[3-4]:delay=60%")) << "what was injected is shown";
  EXPECT_THAT(outcome.out, HasSubstr("6 asked = 6 measured + 0 skipped + 0 failed"));
}

TEST(LocalNodes, OfWhichAllAreSlowGiveAFindingAndNoCulprit) {
  const WeftProcess weft;
  const Outcome outcome = weft.run(local_nodes(4, {}, {"--json", "--expect-busbw", "0.05"}));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const json document = only_document(outcome);
  expect_fields_of_the_contract(document);
  EXPECT_EQ(document["verdict"], "degraded");
  EXPECT_THAT(document["culprits"], IsEmpty());
  ASSERT_EQ(document["findings"].size(), 1U);
  EXPECT_EQ(document["findings"][0]["kind"], "all-slow");
  EXPECT_EQ(document["baseline"], json({{"busbw_gbps", 0.05}, {"source", "flag"}}));
}

TEST(LocalNodes, AloneOrInTwosSayWhyNothingCanBeTold) {
  const std::pair<int, const char*> cases[] = {{1, "at least 2 ranks"}, {2, "nothing to be compared with"}};
  for (const auto& [nodes, why] : cases) {
    const WeftProcess weft;
    const Outcome outcome = weft.run(local_nodes(nodes, {}, {"--json"}));
    EXPECT_EQ(outcome.status, 3) << nodes << outcome.err;
    const json document = only_document(outcome);
    expect_fields_of_the_contract(document);
    EXPECT_EQ(document["verdict"], "inconclusive");
    EXPECT_THAT(document["culprits"], IsEmpty());
    EXPECT_THAT(document["why"].get<std::string>(), HasSubstr(why));
  }
}

TEST(LocalNodes, AFastAndASlowOfTwoAreNotToldApart) {
  const WeftProcess weft;
  const Outcome outcome = weft.run(local_nodes(2, {"node2:delay=60%"}, {"--json", "--expect-busbw", "0.0125"}));
  const json document = only_document(outcome);
  expect_fields_of_the_contract(document);
  EXPECT_NE(document["verdict"], "healthy");
  EXPECT_THAT(document["culprits"], IsEmpty()) << "either of the two could be the slow one";
}

TEST(LocalNodes, ThatFailAreCountedAsFailedAndTheRestGoesOn) {
  const std::pair<const char*, const char*> faults[] = {{"node2:crash", "crash node2"},
                                                        {"node2:sleep_before_init=60s", "hang node2"}};
  for (const auto& [fault, culprit] : faults) {
    const WeftProcess weft;
    const Outcome outcome = weft.run(local_nodes(4, {fault}, {"--json", "--timeout", "1s"}));
    EXPECT_EQ(outcome.status, 1) << fault << outcome.err;
    const json document = only_document(outcome);
    expect_fields_of_the_contract(document);
    EXPECT_EQ(document["verdict"], "degraded") << fault;
    EXPECT_THAT(convicted(document), ElementsAre(culprit)) << fault;
    EXPECT_EQ(document["failed"], 1) << fault;
    EXPECT_EQ(document["measured"], 3) << fault;
    EXPECT_THAT(weft.survivors_after_two_seconds(), IsEmpty()) << fault;
  }
}

TEST(LocalNodes, OfWhichOneIsSlowAndAnotherCrashesAreToldApart) {
  const WeftProcess weft;
  const Outcome outcome = weft.run(local_nodes(6, {"node2:crash", "node5:delay=60%"}, {"--json"}));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(convicted(only_document(outcome)), testing::UnorderedElementsAre("crash node2", "node node5"));
}

}  // namespace
}  // namespace weft::cli
