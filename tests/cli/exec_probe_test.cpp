#include <filesystem>
#include <fstream>
#include <iterator>
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
using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

namespace fs = std::filesystem;

/// Plays all_reduce_perf of one size: `perf HOSTS RANKS_PER_HOST [RAIL]`. Before it prints its row it runs `faults`,
/// bash that may set busbw, wrong or row, print, sleep or exit, knowing hosts (a word each), rail and ranks.
std::string perf(const std::string& faults) {
  return R"sh(#!/bin/bash
hosts=${1//,/ } per_host=$2 rail=$3 ranks=0 busbw=370.00 wrong=0 row=
among() { [[ " $hosts " == *" $1 "* ]]; }
echo "# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0"
echo "# Using devices"
for host in $hosts; do
  for ((gpu = 0; gpu < per_host; gpu++)); do
    echo "#  Rank $ranks Group  0 Pid $$ on $host device  $gpu [0x0f] NVIDIA H100 80GB HBM3"
    ranks=$((ranks + 1))
  done
done
)sh" + faults +
         R"sh(
algbw=$(awk "BEGIN { printf \"%.2f\", $busbw / (2 * ($ranks - 1) / $ranks) }")
time=$(awk "BEGIN { printf \"%.1f\", 1073741824 / $algbw / 1000 }")
: "${row:=  1073741824     268435456     float     sum      -1   $time  $algbw  $busbw      $wrong   $time  $algbw  $busbw      $wrong}"
echo "$row"
echo "# Out of bounds values : $wrong $([ "$wrong" = 0 ] && echo OK || echo FAILED)"
echo "# Avg bus bandwidth    : $busbw"
)sh";
}

/// Hosts of eight GPUs, which should reach 370 GB/s, probed with `command`.
std::vector<std::string> hosts_of(const std::string& hosts, const std::string& command,
                                  const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"bisect", "--hosts",         hosts, "--probe",        "exec", "--command",
                                        command,  "--gpus-per-node", "8",   "--expect-busbw", "370",  "--bytes",
                                        "1G",     "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> four_hosts(const std::string& command, const std::vector<std::string>& more = {}) {
  return hosts_of("n[1-4]", command, more);
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TEST(ExecProbe, HealthyHostsAreHealthy) {
  const WeftProcess weft;
  const Outcome outcome = weft.run(four_hosts(weft.write("perf", perf("")) + " {hosts} 8", {"--json"}));
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const json document = only_document(outcome);
  expect_fields_of_the_contract(document);
  EXPECT_EQ(document["verdict"], "healthy");
  EXPECT_EQ(document["measured"], 4);
}

TEST(ExecProbe, SlowHostsAreNamedWithWhatTheyReachAndWhatTheyShould) {
  const WeftProcess weft;
  const std::string command = weft.write("perf", perf("among n2 && busbw=150.00; among n7 && busbw=90.00"));
  const Outcome outcome = weft.run(hosts_of("n[1-9]", command + " {hosts} 8", {"--json"}));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const json document = only_document(outcome);
  expect_fields_of_the_contract(document);
  ASSERT_THAT(convicted(document), ElementsAre("node n2", "node n7"));
  EXPECT_NEAR(document["culprits"][0]["measured_gbps"].get<double>(), 150, 1);
  EXPECT_NEAR(document["culprits"][1]["measured_gbps"].get<double>(), 90, 1);
  EXPECT_NEAR(document["culprits"][0]["expected_gbps"].get<double>(), 370, 5);
}

TEST(ExecProbe, ExcludedHostsAreNeitherMeasuredNorCounted) {
  const WeftProcess weft;
  const std::string command = weft.write("perf", perf("among n3 && busbw=150.00"));
  const Outcome outcome = weft.run(four_hosts(command + " {hosts} 8", {"--json", "--exclude", "n[3,7]"}));
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const json document = only_document(outcome);
  expect_fields_of_the_contract(document);
  EXPECT_EQ(document["asked"], 3);
  EXPECT_EQ(document["measured"], 3);
}

TEST(ExecProbe, OneHostWhoseOutputIsUselessIsSetApartAndTheOthersAreMeasured) {
  struct Case {
    const char* name;
    const char* faults;
    std::vector<std::string> allowed;  ///< what may be convicted; never `node`, which would be a bandwidth
  };
  const Case cases[] = {
      {"exits 1", "among n3 && { echo 'NCCL failure common.cu:958' >&2; exit 1; }", {"crash n3"}},
      {"hangs", "among n3 && exec sleep 100", {"hang n3"}},
      {"wrong values", "among n3 && wrong=17", {"corrupt n3"}},
      {"prints nothing more", "among n3 && exit 0", {"crash n3", "corrupt n3"}},
      {"half a row", "among n3 && { echo '  1073741824     268435456     fl'; exit 0; }", {"crash n3", "corrupt n3"}},
      {"nan",
       "among n3 && row='  1073741824  268435456  float  sum  -1  5078.1  nan  nan  0  5078.1  nan  nan  0'",
       {"crash n3", "corrupt n3"}},
      {"negative",
       "among n3 && row='  1073741824  268435456  float  sum  -1  -50.1  -211.4  -370.0  0  -50.1  -211.4  -370.0  0'",
       {"crash n3", "corrupt n3"}},
  };
  for (const Case& the : cases) {
    const WeftProcess weft;
    const std::string command = weft.write("perf", perf(the.faults));
    const Outcome outcome = weft.run(four_hosts(command + " {hosts} 8", {"--json", "--timeout", "1s"}));
    const json document = only_document(outcome);
    expect_fields_of_the_contract(document);
    EXPECT_THAT(outcome.status, AnyOf(1, 3)) << the.name << outcome.out << outcome.err;
    EXPECT_NE(document["verdict"], "healthy") << the.name;
    EXPECT_THAT(convicted(document), Each(testing::AnyOfArray(the.allowed))) << the.name;
    EXPECT_GE(document["measured"].get<int>(), 3) << the.name << ": the other hosts have figures";
    EXPECT_THAT(weft.survivors_after_two_seconds(), IsEmpty()) << the.name;
  }
}

TEST(ExecProbe, AFailureOnOneHostHasItsReasonInTheText) {
  const std::pair<const char*, const char*> cases[] = {
      {"among n3 && { echo 'n3: Test NCCL failure common.cu:958' >&2; exit 3; }", "exit code 3"},
      {"among n3 && wrong=17", "wrong"},
  };
  for (const auto& [faults, reason] : cases) {
    const WeftProcess weft;
    const Outcome outcome = weft.run(four_hosts(weft.write("perf", perf(faults)) + " {hosts} 8", {}));
    EXPECT_EQ(outcome.status, 1) << faults << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(reason)) << faults;
    EXPECT_THAT(outcome.out, HasSubstr("n3")) << faults;
  }
}

TEST(ExecProbe, UselessOutputFromEveryHostIsNeverHealthyNorANode) {
  const std::pair<const char*, const char*> cases[] = {
      {"nothing", "exit 0"},
      {"half a table", "echo '  1073741824     268435456     fl'; exit 0"},
      {"garbage", "head -c 100000 /dev/urandom; exit 0"},
      {"nan", "row='  1073741824  268435456  float  sum  -1  5078.1  nan  nan  0  5078.1  nan  nan  0'"},
      {"negative", "row='  1073741824  268435456  float  sum  -1  -50.1  -211.4  -370.0  0  -50.1  -211.4  -370.0  0'"},
      {"absurd", "row='  1073741824  268435456  float  sum  -1  0.0  9.9e99  9.9e99  0  0.0  9.9e99  9.9e99  0'"},
  };
  for (const auto& [name, faults] : cases) {
    const WeftProcess weft;
    const Outcome outcome = weft.run(four_hosts(weft.write("perf", perf(faults)) + " {hosts} 8", {"--json"}));
    const json document = only_document(outcome);
    expect_fields_of_the_contract(document);
    EXPECT_THAT(outcome.status, AnyOf(3, 4)) << name << outcome.out << outcome.err;
    EXPECT_THAT(convicted(document), IsEmpty()) << name;
    EXPECT_EQ(document["measured"], 0) << name;
    EXPECT_TRUE(document["whole_gbps"].is_null()) << name << ": no measurement is no zero";
  }
}

TEST(ExecProbe, AJobOnOtherHostsThanAskedBlamesNobody) {
  const WeftProcess weft;
  const std::string one = weft.write("perf", perf("busbw=150.00"));
  const std::string own_list = weft.write("own", "#!/bin/bash\nexec " + one + " n1,n9 8 # not $1\n");
  const Outcome outcome = weft.run(four_hosts(own_list + " {hosts}", {"--json"}));
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_THAT(convicted(only_document(outcome)), IsEmpty());
}

TEST(ExecProbe, AWholeSetThatReadsLowOnceIsNotHealthyBesideAFigureThatIsNot) {
  const WeftProcess weft;
  const std::string once = weft.path("once").string();
  const std::string command = weft.write(
      "perf", perf("among n1 && among n4 && [ ! -e " + once + " ] && { touch " + once + "; busbw=190.00; }"));
  const Outcome outcome = weft.run(four_hosts(command + " {hosts} 8", {"--json"}));
  const json document = only_document(outcome);
  expect_fields_of_the_contract(document);
  EXPECT_THAT(convicted(document), IsEmpty());
  if (outcome.status == 0) {
    EXPECT_GE(document["whole_gbps"].get<double>(), 0.9 * document["baseline"]["busbw_gbps"].get<double>())
        << "either one low reading was an accident, or nothing can be told: not both";
  } else {
    EXPECT_EQ(outcome.status, 3) << outcome.out;
  }
}

TEST(ExecProbe, HostsThatReadHighAndLowInTurnsCannotBeTold) {
  const WeftProcess weft;
  const std::string count = weft.write("count", "");
  const std::string command =
      weft.write("perf", perf("[ \"$hosts\" = 'n1 n2 n3 n4' ] && { echo >> " + count + "; [ $(($(wc -l < " + count +
                              ") % 2)) = 1 ] && busbw=150.00; }"));
  const Outcome outcome = weft.run(four_hosts(command + " {hosts} 8", {"--json"}));
  const json document = only_document(outcome);
  expect_fields_of_the_contract(document);
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_THAT(convicted(document), IsEmpty());
}

TEST(ExecProbe, SeveralJobsInsteadOfOneSayNothingAboutTheHosts) {
  const WeftProcess weft;
  const std::string one = weft.write("perf", perf(""));
  const std::string split = weft.write("split", "#!/bin/bash\nfor host in ${1//,/ }; do " + one + " $host 8; done\n");
  const Outcome outcome = weft.run(four_hosts(split + " {hosts}", {"--json"}));
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  const json document = only_document(outcome);
  EXPECT_EQ(document["verdict"], "inconclusive");
  EXPECT_THAT(document["culprits"], IsEmpty());
  EXPECT_THAT(document["why"].get<std::string>(), HasSubstr("4 jobs of 8 ranks"))
      << "no group of two hosts has a figure, and this is why";
}

TEST(ExecProbe, AHundredMegabytesOfLogDoNotHideTheResult) {
  const WeftProcess weft;
  const std::string noise = "yes 'n1:42:42 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC' | head -c 100000000";
  const Outcome outcome = weft.run(four_hosts(
      weft.write("perf", perf("among n1 && among n4 && { " + noise + "; echo; }")) + " {hosts} 8", {"--json"}));
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_EQ(only_document(outcome)["whole_gbps"], 370.0);
  std::uintmax_t kept = 0;
  for (const auto& entry : fs::recursive_directory_iterator(weft.path("."))) {
    if (entry.is_regular_file()) kept += entry.file_size();
  }
  EXPECT_LT(kept, 20'000'000U) << "what is kept of it is bounded";
}

TEST(ExecProbe, PlaceholdersAreFilledInAndNoShellReadsThem) {
  const WeftProcess weft;
  const std::string script = weft.write("perf",
                                        "#!/bin/bash\nlog=$1\nprintf '%s|' \"${@:2}\" >> $log; echo >> $log\n"
                                        "cat \"$4\" >> $log; exec " +
                                            weft.write("inner", perf("")) + " $2 8\n");
  const std::string log = weft.path("arguments").string();
  const Outcome outcome = weft.run(four_hosts(
      script + " " + log + " {hosts} {hostlist} {hostfile} {nhosts} {gpus_per_node} {np} {bytes} '$(id) *' a{{b}}"));
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const std::string arguments = text_of(log);
  EXPECT_THAT(arguments, HasSubstr("n1,n2,n3,n4|n[1-4]|/"));
  EXPECT_THAT(arguments, HasSubstr("|4|8|32|1073741824|$(id) *|a{b}|\nn1\nn2\nn3\nn4\n"));
}

/// Four hosts with four rails each; `perf` is slow where its first three arguments say so.
const char* const kFourRails =
    "fabric: test\nrails: 4\ngpus_per_node: 4\nlink: {type: infiniband, speed: 400}\n"
    "units:\n  - {name: su1, nodes: \"n[1-4]\", leaves: \"leaf-[0-3]\"}\n"
    "expect:\n  all_reduce: {busbw_gbps: 180, tolerance_percent: 10}\n";

TEST(ExecProbe, ABadRailIsNamedAsARailOfItsNode) {
  const WeftProcess weft;
  const std::string script = weft.write("perf", perf("busbw=180.00\n"
                                                     "[ -n \"$rail\" ] && busbw=45.00\n"
                                                     "among n3 && [ -z \"$rail\" ] && busbw=100.00\n"
                                                     "among n3 && [ \"$rail\" = 2 ] && busbw=20.00"));
  const Outcome outcome = weft.run({"bisect", "--fabric", weft.write("fabric.yaml", kFourRails), "--probe", "exec",
                                    "--bytes", "1G", "--quiet", "--json", "--command", script + " {hosts} 4",
                                    "--rail-command", script + " {hosts} 1 {rail}"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const json document = only_document(outcome);
  expect_fields_of_the_contract(document);
  EXPECT_THAT(convicted(document), ElementsAre("rail n3 rail 2")) << "and not the node as well";
  EXPECT_EQ(document["baseline"]["source"], "fabric");
}

TEST(ExecProbe, WithoutARailCommandTheNodeOfABadRailIsNamed) {
  const WeftProcess weft;
  const std::string script = weft.write("perf", perf("busbw=180.00; among n3 && busbw=100.00"));
  const Outcome outcome = weft.run({"bisect", "--fabric", weft.write("fabric.yaml", kFourRails), "--probe", "exec",
                                    "--bytes", "1G", "--quiet", "--json", "--command", script + " {hosts} 4"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(convicted(only_document(outcome)), ElementsAre("node n3"));
}

}  // namespace
}  // namespace weft::cli
