#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/weft_process.h"

namespace weft::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

/// Eight local nodes over links emulated at 100 Mbit/s: stable figures, few cycles.
std::vector<std::string> eight_nodes(const std::vector<std::string>& more = {}, const std::string& bytes = "1M") {
  std::vector<std::string> arguments = {
      "bisect", "--nodes", "8", "--bytes", bytes, "--quiet", "--inject", "node[1-8]:rate=100Mbit", "--iterations", "3"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json document_of(const Outcome& outcome) {
  const json document = json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << outcome.out << outcome.err;
  return document;
}

std::vector<std::string> culprits_of(const json& document) {
  std::vector<std::string> culprits;
  for (const json& culprit : document["culprits"]) {
    std::string text = culprit["kind"].get<std::string>();
    if (culprit.contains("node")) text += " " + culprit["node"].get<std::string>();
    if (culprit.contains("rail")) text += " rail " + std::to_string(culprit["rail"].get<int>());
    culprits.push_back(text);
  }
  return culprits;
}

/// Plays all_reduce_perf: one row, slow when the slow host is among the hosts.
std::string fake_nccl_tests(const std::string& slow_host) {
  return R"sh(#!/bin/bash
hosts=$1 per_node=$2 rank=0 busbw=370.00
echo "# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0"
echo "# Using devices"
for host in ${hosts//,/ }; do
  [ "$host" = )sh" +
         slow_host +
         R"sh( ] && busbw=150.00
  for ((gpu = 0; gpu < per_node; gpu++)); do
    echo "#  Rank $rank Group  0 Pid $$ on $host device  $gpu [0x0f] NVIDIA H100 80GB HBM3"
    rank=$((rank + 1))
  done
done
algbw=$(awk "BEGIN { printf \"%.2f\", $busbw / (2 * ($rank - 1) / $rank) }")
time=$(awk "BEGIN { printf \"%.1f\", 1073741824 / $algbw / 1000 }")
echo "  1073741824     268435456     float     sum      -1   $time  $algbw  $busbw      0   $time  $algbw  $busbw      0"
echo "# Out of bounds values : 0 OK"
echo "# Avg bus bandwidth    : $busbw"
)sh";
}

std::vector<std::string> with_command(const std::string& command, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"bisect",  "--hosts",   "n[1-8]", "--probe", "exec",
                                        "--quiet", "--command", command,  "--bytes", "1G"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Bisect, NamesTheSlowNodeAmongRealProcesses) {
  const WeftProcess weft;
  const Outcome outcome = weft.run(eight_nodes({"--inject", "node5:delay=40%"}));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("DEGRADED: node node5. Without it the rest is well."));
  EXPECT_THAT(outcome.out, HasSubstr("node5:delay=40%")) << "what was injected is shown";
  EXPECT_THAT(outcome.out, HasSubstr("8 asked = 8 measured + 0 skipped + 0 failed"));
  EXPECT_THAT(weft.survivors(), IsEmpty());
}

TEST(Bisect, GivesOneDocumentWithEveryFieldOfTheContract) {
  const WeftProcess weft;
  const Outcome outcome =
      weft.run(eight_nodes({"--inject", "node2:delay=60%", "--inject", "node7:delay=60%", "--json"}));
  EXPECT_EQ(outcome.status, 1);
  const json document = document_of(outcome);
  EXPECT_EQ(document["schema"], "weft.bisect/1");
  EXPECT_EQ(document["verdict"], "degraded");
  for (const char* field :
       {"run", "baseline", "unresolved", "rounds", "probes", "wall_s", "node_seconds", "findings"}) {
    EXPECT_TRUE(document.contains(field)) << field;
  }
  EXPECT_EQ(document["asked"], 8);
  EXPECT_EQ(document["measured"].get<int>() + document["skipped"].get<int>() + document["failed"].get<int>(), 8);
  EXPECT_THAT(culprits_of(document), testing::ElementsAre("node node2", "node node7"));
  for (const json& culprit : document["culprits"]) {
    EXPECT_LT(culprit["measured_gbps"].get<double>(), culprit["expected_gbps"].get<double>());
    EXPECT_GT(culprit["slowdown"].get<double>(), 1);
    EXPECT_GT(culprit["confidence"].get<double>(), 0.9);
  }
}

TEST(Bisect, HealthyNodesGiveExitStatusZero) {
  const WeftProcess weft;
  const Outcome outcome = weft.run(eight_nodes());
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_THAT(outcome.out, testing::StartsWith("HEALTHY"));
}

TEST(Bisect, NamesTheNodeThatFailsAndHow) {
  const std::pair<const char*, const char*> faults[] = {{"node3:crash", "crash node3"},
                                                        {"node3:exit=1", "crash node3"},
                                                        {"node3:corrupt", "corrupt node3"},
                                                        {"node3:sigstop", "hang node3"},
                                                        {"node3:never_starts", "hang node3"}};
  for (const auto& [fault, culprit] : faults) {
    const WeftProcess weft;
    const Outcome outcome = weft.run(eight_nodes({"--inject", fault, "--json", "--timeout", "1s"}));
    EXPECT_EQ(outcome.status, 1) << fault << outcome.err;
    EXPECT_THAT(culprits_of(document_of(outcome)), testing::ElementsAre(culprit)) << fault;
    EXPECT_THAT(weft.survivors(), IsEmpty()) << fault;
  }
}

TEST(Bisect, TheSitesOwnCommandFindsTheSlowNode) {
  const WeftProcess weft;
  const std::string command = weft.write("perf", fake_nccl_tests("n6"));
  const Outcome outcome = weft.run(
      with_command(command + " {hosts} {gpus_per_node}", {"--gpus-per-node", "8", "--json", "--expect-busbw", "370"}));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(culprits_of(document_of(outcome)), testing::ElementsAre("node n6"));
}

TEST(Bisect, TheSimulatorAndAnIndependentScriptOfOneScenarioGiveOneVerdict) {
  const WeftProcess weft;
  const std::string fabric =
      weft.write("fabric.yaml",
                 "rails: 1\ngpus_per_node: 8\nlink: {type: roce, speed: 2960}\n"
                 "units:\n  - {name: su1, nodes: \"n[1-4]\"}\n  - {name: su2, nodes: \"n[5-8]\"}\n"
                 "expect:\n  all_reduce: {busbw_gbps: 370}\n");
  const std::string faults = weft.write(
      "faults.yaml", "noise: {spread: 0, outliers: 0}\nfaults:\n  - {kind: node, node: n3, factor: 0.405}\n");
  const Outcome simulated =
      weft.run({"bisect", "--probe", "sim", "--fabric", fabric, "--faults", faults, "--json", "--quiet"});
  const Outcome scripted =
      weft.run({"bisect", "--probe", "exec", "--fabric", fabric, "--json", "--quiet", "--bytes", "1G", "--command",
                weft.write("perf", fake_nccl_tests("n3")) + " {hosts} {gpus_per_node}"});
  EXPECT_EQ(simulated.status, 1);
  EXPECT_EQ(scripted.status, 1) << scripted.err;
  const json a = document_of(simulated);
  const json b = document_of(scripted);
  EXPECT_THAT(culprits_of(a), testing::ElementsAre("node n3"));
  EXPECT_EQ(culprits_of(a), culprits_of(b));
  EXPECT_EQ(a["verdict"], b["verdict"]);
  EXPECT_EQ(a["rounds"], b["rounds"]);
}

TEST(Analyze, SmallEffectsAreFoundWhenAskedFor) {
  const WeftProcess weft;
  std::string table;
  for (int i = 0; i < 40; ++i) {
    const int skip = 1 + i % 5;  // subsets of four of five nodes; n2 costs a third of a per cent
    for (int node = 1; node <= 5; ++node)
      table += node == skip ? "" : "n" + std::to_string(node) + " ";
    table += std::to_string((skip == 2 ? 480.0 : 478.4) + 0.1 * (i % 3)) + "\n";
  }
  const std::string file = weft.write("trials.txt", table);
  EXPECT_EQ(weft.run({"analyze", file}).status, 0) << "no single trial is slow";
  const Outcome outcome = weft.run({"analyze", file, "--small-effects", "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  const json document = document_of(outcome);
  EXPECT_EQ(document["schema"], "weft.analyze/1");
  ASSERT_EQ(document["findings"].size(), 1U);
  EXPECT_EQ(document["findings"][0]["kind"], "small-effect");
  EXPECT_EQ(document["findings"][0]["severity"], "minor");
  EXPECT_EQ(document["findings"][0]["suspects"], json({"n2"}));
}

TEST(Analyze, SaysWhatIsNotTheCauseAndWhoGaveNothingInTheLastRound) {
  const WeftProcess weft;
  const Outcome pairs = weft.run({"analyze", weft.write("pairs.csv",
                                                        "a,b,busbw,crosses_rack\nn644,n699,49.36,\nn632,n641,88.36,0\n"
                                                        "n284,n678,49.28,1\nn641,n644,49.30,\nn404,n699,86.81,1\n")});
  EXPECT_EQ(pairs.status, 1);
  EXPECT_THAT(pairs.out, HasSubstr("crosses_rack is not the cause"));
  const Outcome rounds =
      weft.run({"analyze", weft.write("rounds.csv",
                                      "a,b,busbw,round,status\nnode0,node1,11,1,\nnode2,node3,101,1,\n"
                                      "node0,node3,,2,\nnode1,node2,97,2,\n")});
  EXPECT_EQ(rounds.status, 3) << rounds.out;
  EXPECT_THAT(rounds.out, HasSubstr("node3"));
  EXPECT_THAT(rounds.out, HasSubstr("No result in round 2"));
}

TEST(Analyze, TheSameMeasurementsInAnyOrderGiveTheSameDocument) {
  const WeftProcess weft;
  const std::vector<std::string> rows = {"n644,n699,49.36\n", "n632,n641,88.36\n", "n284,n678,49.28\n",
                                         "n641,n644,49.30\n", "n404,n699,86.81\n"};
  json first;
  for (std::size_t shift = 0; shift < rows.size(); ++shift) {
    std::string text = "a,b,busbw\n";
    for (std::size_t i = 0; i < rows.size(); ++i)
      text += rows[(i + shift) % rows.size()];
    const Outcome outcome = weft.run({"analyze", weft.write("pairs.csv", text), "--json"});
    EXPECT_EQ(outcome.status, 1);
    json document = document_of(outcome);
    if (shift == 0) first = document;
    EXPECT_EQ(document, first) << "rows begin at " << shift;
  }
}

TEST(Bisect, ACommandThatGivesNoMeasurementIsNeverHealthy) {
  const std::tuple<const char*, const char*, int, const char*> commands[] = {
      {"nothing", "#!/bin/bash\ntrue # $1\n", 3, "0 result rows"},
      {"garbage", "#!/bin/bash\nhead -c 100000 /dev/urandom\n", 3, "0 result rows"},
      {"fails", "#!/bin/bash\necho 'no such device' >&2\nexit 7\n", 4, "exit code 7"},
      {"hangs", "#!/bin/bash\nsleep 100\n", 4, "1 s"},
  };
  for (const auto& [name, script, status, said] : commands) {
    const WeftProcess weft;
    const Outcome outcome = weft.run(with_command(weft.write(name, script) + " {hosts}", {"--timeout", "1s"}));
    EXPECT_EQ(outcome.status, status) << name << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(said)) << name;
    EXPECT_THAT(weft.survivors(), IsEmpty()) << name;
  }
}

TEST(Bisect, SeveralJobsInsteadOfOneBlameNobody) {
  const WeftProcess weft;
  const std::string perf = weft.write("perf", fake_nccl_tests("none"));
  const std::string split = weft.write("split", "#!/bin/bash\nfor host in ${1//,/ }; do " + perf + " $host 2; done\n");
  const Outcome outcome = weft.run(with_command(split + " {hosts}", {"--gpus-per-node", "2"}));
  EXPECT_EQ(outcome.status, 3) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("jobs"));
}

}  // namespace
}  // namespace weft::cli
