#include "bisect/search.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bisect/scenario.h"
#include "topology/hostlist.h"

namespace weft::bisect {
namespace {

using probes::SimFault;
using probes::SimNoise;
using probes::SimProber;
using probes::Status;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = SimFault::Kind;

SimNoise quiet() {
  return {.spread = 0, .outlier_rate = 0, .seed = 1};
}

SimFault node_fault(const std::string& node, double factor = 0.6, Kind kind = Kind::node) {
  SimFault fault;
  fault.kind = kind;
  fault.nodes = {node};
  fault.factor = factor;
  return fault;
}

/// One GPU and one rail a node, one undeclared unit: what a list of hosts alone gives.
struct Plain {
  explicit Plain(int nodes) : hosts(topology::expand_hostlist("node[1-" + std::to_string(nodes) + "]")) {
    fabric = topology::undeclared_fabric(hosts);
  }
  SearchRun run(std::vector<SimFault> faults, bool expect = true, SimNoise noise = quiet()) {
    SimProber prober(fabric, std::move(faults), noise);
    SearchOptions options = options_for(fabric, prober);
    options.expect_busbw_gbps = expect ? std::optional(50.0) : std::nullopt;
    return run_search(fabric, hosts, prober, options);
  }
  std::vector<std::string> hosts;
  topology::Fabric fabric;
};

std::vector<std::string> purposes(const SearchRun& run) {
  std::vector<std::string> result;
  for (const Round& round : run.log)
    result.push_back(round.purpose);
  return result;
}

TEST(Search, HealthyByTheExpectationTakesOneRound) {
  const SearchRun run = Plain(8).run({});
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::healthy);
  EXPECT_EQ(run.rounds, 1);
  EXPECT_EQ(run.verdict.measured, 8);
}

TEST(Search, HealthyWithoutAnyExpectationIsShownByItsPairs) {
  const SearchRun run = Plain(8).run({}, false);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::healthy);
  EXPECT_EQ(run.verdict.baseline->source, Baseline::Source::peers);
  EXPECT_THAT(purposes(run), ElementsAre("whole set", "pairs"));
}

TEST(Search, NamesTheSlowNodeWithItsNumbers) {
  for (const bool expect : {true, false}) {
    const SearchRun run = Plain(8).run({node_fault("node5")}, expect);
    EXPECT_EQ(run.verdict.kind, Verdict::Kind::degraded);
    ASSERT_THAT(described(run.verdict), ElementsAre("node node5"));
    const Culprit& culprit = run.verdict.culprits[0];
    EXPECT_NEAR(*culprit.measured_gbps, 30, 0.1);
    EXPECT_NEAR(*culprit.expected_gbps, 50, 0.1);
    EXPECT_NEAR(*culprit.slowdown, 50.0 / 30, 0.01);
    EXPECT_GT(culprit.confidence, 0.99);
    EXPECT_NEAR(*run.verdict.whole_gbps, 30, 0.1);
    EXPECT_NEAR(*run.verdict.rest_gbps, 50, 0.1) << "no verdict before the rest alone was shown to be well";
    EXPECT_EQ(run.verdict.cleared.size(), 7U);
  }
}

TEST(Search, TwoBadNodesInOnePairAreBothNamed) {
  const SearchRun run = Plain(8).run({node_fault("node3"), node_fault("node4", 0.7)});
  EXPECT_THAT(described(run.verdict), ElementsAre("node node3", "node node4"));
}

TEST(Search, TheOddNodeOutIsTestedToo) {
  for (int nodes : {3, 5, 7, 9}) {
    const std::string last = "node" + std::to_string(nodes);
    for (const bool expect : {true, false}) {
      EXPECT_THAT(described(Plain(nodes).run({node_fault(last)}, expect).verdict), ElementsAre("node " + last))
          << nodes << " nodes";
    }
  }
}

TEST(Search, EveryNodeOfASmallSetIsFound) {
  for (int nodes = 3; nodes <= 8; ++nodes) {
    for (int bad = 1; bad <= nodes; ++bad) {
      const std::string name = "node" + std::to_string(bad);
      for (const bool expect : {true, false}) {
        EXPECT_THAT(described(Plain(nodes).run({node_fault(name)}, expect).verdict), ElementsAre("node " + name))
            << nodes << " nodes, expectation " << expect;
      }
    }
  }
}

TEST(Search, TwoNodesThatAreSlowTogetherCannotBeToldApart) {
  const SearchRun run = Plain(2).run({node_fault("node2")});
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::inconclusive);
  EXPECT_THAT(run.verdict.culprits, IsEmpty());
  ASSERT_EQ(run.verdict.unresolved.size(), 1U);
  EXPECT_EQ(run.verdict.unresolved[0].candidates.size(), 2U);
  EXPECT_THAT(run.verdict.why, testing::HasSubstr("third node"));
}

TEST(Search, TwoNodesWithoutAnExpectationHaveNothingToBeComparedWith) {
  const SearchRun run = Plain(2).run({}, false);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::inconclusive);
  EXPECT_THAT(run.verdict.why, testing::HasSubstr("--expect-busbw"));
}

TEST(Search, TwoNodesWithoutPeersAreJudgedByTheModelAndMoreByTheirPeers) {
  for (const auto& [nodes, source] : {std::pair{2, Baseline::Source::model}, std::pair{6, Baseline::Source::peers}}) {
    const Plain plain(nodes);
    SimProber prober(plain.fabric, {}, quiet());
    SearchOptions options = options_for(plain.fabric, prober);
    options.expect_busbw_gbps.reset();
    options.model_busbw_gbps = 50;
    const SearchRun run = run_search(plain.fabric, plain.hosts, prober, options);
    EXPECT_EQ(run.verdict.kind, Verdict::Kind::healthy);
    EXPECT_EQ(run.verdict.baseline->source, source);
  }
}

TEST(Search, OneNodeAloneIsInconclusiveAndSaysWhatWouldHelp) {
  const SearchRun run = Plain(1).run({}, false);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::inconclusive);
  EXPECT_FALSE(run.verdict.why.empty());
}

TEST(Search, EverythingSlowAlikeBlamesNobody) {
  std::vector<SimFault> faults;
  for (int node = 1; node <= 8; ++node)
    faults.push_back(node_fault("node" + std::to_string(node)));
  const SearchRun run = Plain(8).run(faults);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::degraded);
  EXPECT_THAT(run.verdict.culprits, IsEmpty());
  ASSERT_EQ(run.verdict.findings.size(), 1U);
  EXPECT_EQ(run.verdict.findings[0].kind, "all-slow");
}

TEST(Search, ACrashInAPairConvictsOnlyTheMemberThatCrashesWithAGoodPartner) {
  for (const Kind kind : {Kind::crash, Kind::hang, Kind::corrupt}) {
    const SimFault fault = node_fault("node6", 0, kind);
    const SearchRun run = Plain(8).run({fault});
    EXPECT_EQ(described(run.verdict), described({fault}, Plain(8).fabric));
    EXPECT_THAT(run.verdict.cleared, testing::Contains("node5")) << "its first partner";
  }
}

TEST(Search, AnUnreachableNodeIsNamedAndTheRestIsStillSearched) {
  const SearchRun run = Plain(8).run({node_fault("node2", 0, Kind::unreachable), node_fault("node7")});
  EXPECT_THAT(described(run.verdict), ElementsAre("node node7", "unreachable node2"));
  EXPECT_EQ(run.verdict.failed, 1);
  EXPECT_EQ(run.verdict.asked, run.verdict.measured + run.verdict.skipped + run.verdict.failed);
}

TEST(Search, CrashSlowAndCorruptInOneRunAreAllNamed) {
  const std::vector<SimFault> faults = {node_fault("node2", 0, Kind::crash), node_fault("node9", 0.7),
                                        node_fault("node14", 0, Kind::corrupt)};
  Plain plain(16);
  EXPECT_EQ(described(plain.run(faults).verdict), described(faults, plain.fabric));
}

TEST(Search, AThirdOfTheNodesBadIsExact) {
  Plain plain(24);
  std::vector<SimFault> faults;
  for (int node = 1; node <= 24; node += 3)
    faults.push_back(node_fault("node" + std::to_string(node), 0.5 + 0.01 * node));
  for (const bool expect : {true, false}) {
    EXPECT_EQ(described(plain.run(faults, expect).verdict), described(faults, plain.fabric));
  }
}

TEST(Search, ASizeLimitNamesNoNodeAndTakesAtMostSixteenProbes) {
  SimFault fault;
  fault.kind = Kind::scale;
  fault.factor = 0;  // it hangs
  fault.min_nodes = 18;
  Plain twenty(20);
  SearchRun run = twenty.run({fault});
  EXPECT_THAT(described(run.verdict), ElementsAre("scale from 18"));
  EXPECT_LE(run.probes, 16);

  fault.min_nodes = 4;
  run = Plain(8).run({fault});
  EXPECT_THAT(described(run.verdict), ElementsAre("scale from 4"));
  EXPECT_LE(run.probes, 16);
}

TEST(Search, ANodeThatNeedsEnoughOthersIsNamedWithTheSize) {
  SimFault fault;
  fault.kind = Kind::scale;
  fault.factor = 0;
  fault.min_nodes = 8;
  fault.nodes = {"node7"};
  EXPECT_THAT(described(Plain(20).run({fault}).verdict), ElementsAre("node node7", "scale from 8"));
}

TEST(Search, APairThatOnlyMisbehavesTogetherIsNamed) {
  SimFault fault;
  fault.kind = Kind::pair;
  fault.nodes = {"node3", "node12"};
  EXPECT_THAT(described(Plain(16).run({fault}).verdict), ElementsAre("pair node12 node3"));
  fault.nodes = {"node3", "node4"};  // first partners of each other
  EXPECT_THAT(described(Plain(16).run({fault}).verdict), ElementsAre("pair node3 node4"));
}

class EveryKind : public testing::TestWithParam<Kind> {};
std::string name_of(const testing::TestParamInfo<Kind>& kind) {
  static const char* const names[] = {"Node",  "Rail",  "Leaf", "Uplink",  "Path",       "Pair",
                                      "Scale", "Crash", "Hang", "Corrupt", "Unreachable"};
  return names[static_cast<int>(kind.param)];
}
INSTANTIATE_TEST_SUITE_P(Search, EveryKind,
                         testing::Values(Kind::node, Kind::rail, Kind::leaf, Kind::uplink, Kind::path, Kind::pair,
                                         Kind::scale, Kind::crash, Kind::hang, Kind::corrupt, Kind::unreachable),
                         name_of);

TEST_P(EveryKind, IsFoundExactlyOnARailOptimisedFabric) {
  for (const std::size_t nodes : {48U, 128U}) {
    const topology::Fabric fabric = make_fabric(nodes, 16);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(testing::Message() << nodes << " nodes, seed " << seed);
      std::mt19937_64 random(seed);
      const SimFault fault = random_fault(GetParam(), fabric, random);
      SimProber prober(fabric, {fault}, quiet());
      const SearchRun run = run_search(fabric, hosts_of(fabric), prober, options_for(fabric, prober));
      EXPECT_EQ(described(run.verdict), described({fault}, fabric)) << run.verdict.why;
    }
  }
}

TEST_P(EveryKind, IsFoundWhenTheFabricIsNoisy) {
  const topology::Fabric fabric = make_fabric(128);
  int exact = 0;
  constexpr int kRuns = 30;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    std::mt19937_64 random(seed);
    const SimFault fault = random_fault(GetParam(), fabric, random);
    SimProber prober(fabric, {fault}, {.seed = seed});
    const SearchRun run = run_search(fabric, hosts_of(fabric), prober, options_for(fabric, prober));
    exact += described(run.verdict) == described({fault}, fabric);
  }
  EXPECT_GE(exact, kRuns - 1) << "of " << kRuns << " seeds from 1";
}

TEST(Search, OneSlowReadingOfTheWholeSetBlamesNobody) {
  const topology::Fabric fabric = make_fabric(64);
  int beyond_one_round = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SimProber prober(fabric, {}, {.seed = seed});
    const SearchRun run = run_search(fabric, hosts_of(fabric), prober, options_for(fabric, prober));
    EXPECT_EQ(run.verdict.kind, Verdict::Kind::healthy) << "seed " << seed;
    beyond_one_round += run.rounds > 1;
  }
  EXPECT_GT(beyond_one_round, 0) << "no seed met an outlier: this test showed nothing";
}

TEST(Search, NoNodeIsInTwoGroupsOfARoundUnlessOnDifferentRails) {
  for (const Kind kind : {Kind::rail, Kind::leaf, Kind::uplink, Kind::pair}) {
    const topology::Fabric fabric = make_fabric(96);
    std::mt19937_64 random(5);
    SimProber prober(fabric, {random_fault(kind, fabric, random), random_fault(Kind::node, fabric, random)},
                     {.seed = 5});
    const SearchRun run = run_search(fabric, hosts_of(fabric), prober, options_for(fabric, prober));
    for (const Round& round : run.log) {
      std::set<std::pair<std::string, int>> used;
      std::map<std::pair<std::size_t, int>, int> crossing;
      for (const probes::Group& group : round.groups) {
        std::set<std::size_t> units;
        for (const std::string& node : group.nodes) {
          units.insert(*fabric.unit_of(node));
          for (int rail = 0; rail < fabric.rails; ++rail) {
            if (group.rail && *group.rail != rail) continue;
            EXPECT_TRUE(used.emplace(node, rail).second) << round.purpose << " " << node << " rail " << rail;
          }
        }
        for (std::size_t unit : units) {
          if (units.size() > 1) ++crossing[{unit, group.rail.value_or(-1)}];
        }
      }
      for (const auto& [where, count] : crossing)
        EXPECT_EQ(count, 1) << round.purpose << ": two groups share an uplink";
    }
  }
}

TEST(Search, TheSameAnswersGiveTheSameRounds) {
  const topology::Fabric fabric = make_fabric(64);
  std::mt19937_64 random(9);
  const SimFault fault = random_fault(Kind::pair, fabric, random);
  std::vector<std::vector<probes::Group>> rounds[2];
  for (auto& log : rounds) {
    SimProber prober(fabric, {fault}, {.seed = 9});
    for (const Round& round : run_search(fabric, hosts_of(fabric), prober, options_for(fabric, prober)).log) {
      log.push_back(round.groups);
    }
  }
  EXPECT_EQ(rounds[0], rounds[1]);
}

TEST(Search, ProbesThatAreAllRefusedEndTheSearchWithTheReason) {
  const Plain plain(4);
  Search search(plain.fabric, plain.hosts, {});
  int rounds = 0;
  while (true) {
    const Round round = search.next_round();
    if (round.groups.empty()) break;
    ASSERT_LT(++rounds, 5);
    std::vector<probes::Measurement> measurements(round.groups.size());
    for (std::size_t i = 0; i < measurements.size(); ++i) {
      measurements[i].group = round.groups[i];
      measurements[i].reason = "2 jobs of 2 ranks, 1 job of 4 asked";
    }
    search.record(measurements);
  }
  EXPECT_EQ(search.verdict().kind, Verdict::Kind::inconclusive);
  EXPECT_THAT(search.verdict().why, testing::HasSubstr("2 jobs of 2 ranks"));
  EXPECT_EQ(search.verdict().skipped, 4);
}

TEST(Search, ProbesThatFailEverywhereAreAFailureNotAVerdict) {
  std::vector<SimFault> faults;
  for (int node = 1; node <= 6; ++node)
    faults.push_back(node_fault("node" + std::to_string(node), 0, Kind::crash));
  const SearchRun run = Plain(6).run(faults);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::failed);
  EXPECT_EQ(run.verdict.failed, 6);
}

TEST(Search, StopsAtTheRoundsAllowedAndSaysSo) {
  const Plain plain(8);
  SimProber prober(plain.fabric, {node_fault("node5")}, quiet());
  SearchOptions options = options_for(plain.fabric, prober);
  options.expect_busbw_gbps = 50;
  options.max_rounds = 1;
  const SearchRun run = run_search(plain.fabric, plain.hosts, prober, options);
  EXPECT_EQ(run.rounds, 1);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::inconclusive);
}

TEST(Search, HalvingFindsTheNodeWithOneGroupAtATime) {
  const Plain plain(32);
  for (int bad : {1, 2, 15, 16, 17, 31, 32}) {
    const SimFault fault = node_fault("node" + std::to_string(bad));
    SimProber prober(plain.fabric, {fault}, quiet());
    SearchOptions options = options_for(plain.fabric, prober);
    options.expect_busbw_gbps = 50;
    options.strategy = Strategy::halving;
    const SearchRun run = run_search(plain.fabric, plain.hosts, prober, options);
    EXPECT_EQ(described(run.verdict), described({fault}, plain.fabric)) << run.verdict.why;
    for (const Round& round : run.log)
      EXPECT_EQ(round.groups.size(), 1U) << round.purpose;
    EXPECT_LE(run.rounds, 14);
  }
}

TEST(Search, UnitsOfDifferentSizesAndAUnitWithoutAHealthyMember) {
  topology::Fabric fabric = make_fabric(64, 16);
  // The last unit shrinks to two nodes, both bad.
  auto hosts = hosts_of(fabric);
  hosts.resize(50);
  const std::vector<SimFault> faults = {node_fault(hosts[48], 0.6), node_fault(hosts[49], 0.75)};
  SimProber prober(fabric, faults, quiet());
  const SearchRun run = run_search(fabric, hosts, prober, options_for(fabric, prober));
  EXPECT_EQ(described(run.verdict), described(faults, fabric)) << run.verdict.why;
}

}  // namespace
}  // namespace weft::bisect
