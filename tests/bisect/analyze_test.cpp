#include "bisect/analyze.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/hostlist.h"

namespace weft::bisect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct Row {
  std::string members;
  double busbw_gbps;
};

std::vector<probes::Measurement> table(const std::vector<Row>& rows) {
  std::vector<probes::Measurement> measurements;
  for (const Row& row : rows) {
    probes::Measurement measurement;
    measurement.group.nodes = topology::expand_hostlist(row.members);
    measurement.status = probes::Status::ok;
    measurement.busbw_gbps = row.busbw_gbps;
    measurements.push_back(measurement);
  }
  return measurements;
}

std::vector<std::string> nodes_of(const std::vector<probes::Measurement>& measurements) {
  std::vector<std::string> nodes;
  for (const auto& measurement : measurements) {
    for (const std::string& node : measurement.group.nodes) {
      if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
    }
  }
  return nodes;
}

Verdict analyze_rows(const std::vector<Row>& rows, std::optional<topology::Fabric> fabric = {}) {
  const auto measurements = table(rows);
  const auto nodes = nodes_of(measurements);
  if (!fabric) fabric = topology::undeclared_fabric(nodes, 8);
  return analyze(*fabric, nodes, measurements, {});
}

std::vector<std::string> blamed(const Verdict& verdict) {
  std::vector<std::string> names;
  for (const Culprit& culprit : verdict.culprits)
    names.push_back(describe(culprit));
  return names;
}

std::vector<std::string> candidates(const Unresolved& unresolved) {
  std::vector<std::string> names;
  for (const Culprit& culprit : unresolved.candidates)
    names.push_back(culprit.node);
  return names;
}

TEST(Analyze, TheNodeCommonToTwoSlowPairsIsBlamedAndTheOtherSlowPairStaysOpen) {
  const Verdict verdict = analyze_rows({{"node644,node699", 49.36},
                                        {"node632,node641", 88.36},
                                        {"node284,node678", 49.28},
                                        {"node641,node644", 49.30},
                                        {"node404,node699", 86.81}});
  EXPECT_EQ(verdict.kind, Verdict::Kind::degraded);
  ASSERT_THAT(blamed(verdict), ElementsAre("node node644"));
  EXPECT_NEAR(*verdict.culprits[0].measured_gbps, 49.33, 0.01);
  ASSERT_EQ(verdict.unresolved.size(), 1U);
  EXPECT_THAT(candidates(verdict.unresolved[0]), UnorderedElementsAre("node284", "node678"));
  ASSERT_TRUE(verdict.unresolved[0].next_probe);
  const std::string partner = verdict.unresolved[0].next_probe->nodes[1];
  EXPECT_THAT((std::vector<std::string>{"node632", "node641", "node404", "node699"}), testing::Contains(partner))
      << "the next probe takes a node that was proved fast";
  EXPECT_THAT(verdict.cleared, UnorderedElementsAre("node699", "node632", "node641", "node404"));
}

TEST(Analyze, ASlowReferenceThatIsInEveryProbeIsNotBlamedBeforeAProbeWithoutIt) {
  const Verdict verdict = analyze_rows({{"node001,node002", 49.1},
                                        {"node001,node003", 48.8},
                                        {"node001,node004", 49.3},
                                        {"node001,node005", 49.0},
                                        {"node001,node006", 48.9}});
  EXPECT_EQ(verdict.kind, Verdict::Kind::inconclusive);
  EXPECT_THAT(verdict.culprits, IsEmpty());
  ASSERT_EQ(verdict.unresolved.size(), 1U);
  ASSERT_TRUE(verdict.unresolved[0].next_probe);
  EXPECT_THAT(verdict.unresolved[0].next_probe->nodes, ElementsAre("node002", "node003"));
}

TEST(Analyze, OneProbeWithoutTheReferenceConvictsItInAnyOrder) {
  std::vector<Row> rows = {{"node001,node002", 49.1}, {"node001,node003", 48.8}, {"node001,node004", 49.3},
                           {"node001,node005", 49.0}, {"node001,node006", 48.9}, {"node002,node003", 97.0}};
  constexpr unsigned kSeed = 3;
  std::mt19937 random(kSeed);
  for (int shuffle = 0; shuffle < 20; ++shuffle) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " shuffle " << shuffle);
    const Verdict verdict = analyze_rows(rows);
    EXPECT_EQ(verdict.kind, Verdict::Kind::degraded);
    EXPECT_THAT(blamed(verdict), ElementsAre("node node001"));
    EXPECT_THAT(verdict.unresolved, IsEmpty());
    EXPECT_THAT(verdict.cleared, UnorderedElementsAre("node002", "node003", "node004", "node005", "node006"));
    std::shuffle(rows.begin(), rows.end(), random);
  }
}

TEST(Analyze, GroupsThatAreSlowOnlyAcrossUnitsBlameThePathAndNoNode) {
  const topology::Fabric fabric = topology::parse_fabric(
      "fabric: test\nrails: 1\ngpus_per_node: 1\nunits:\n"
      "  - {name: leafA, nodes: \"node[001-004]\", leaves: la}\n  - {name: leafB, nodes: \"node[005-008]\", leaves: "
      "lb}\n",
      "fabric.yaml");
  const Verdict verdict = analyze_rows({{"node[001-004]", 198},
                                        {"node[005-008]", 198},
                                        {"node001,node005", 96},
                                        {"node[001-008]", 100},
                                        {"node002,node006", 95}},
                                       fabric);
  EXPECT_EQ(verdict.kind, Verdict::Kind::degraded);
  ASSERT_EQ(verdict.culprits.size(), 1U);
  EXPECT_EQ(verdict.culprits[0].kind, CulpritKind::path);
  EXPECT_THAT(verdict.culprits[0].units, ElementsAre("leafA", "leafB"));
  EXPECT_EQ(verdict.cleared.size(), 8U);
}

TEST(Analyze, TheSameNodesAtTwoSpeedsAreUnstableAndNobodyIsBlamed) {
  const Verdict verdict = analyze_rows({{"n02 n03 n04 n08", 151.0},
                                        {"n01 n04 n06 n08", 150.3},
                                        {"n04 n05 n07 n08", 150.4},
                                        {"n01 n03 n04 n07", 149.2},
                                        {"n01 n04 n06 n08", 68.0},
                                        {"n01 n04 n05 n07", 66.2},
                                        {"n01 n02 n06 n08", 147.5},
                                        {"n01 n03 n05 n07", 55.0},
                                        {"n02 n06 n07 n08", 56.3},
                                        {"n03 n05 n07 n08", 58.9},
                                        {"n02 n05 n07 n08", 148.9},
                                        {"n02 n05 n07 n08", 147.1}});
  EXPECT_EQ(verdict.kind, Verdict::Kind::inconclusive);
  EXPECT_THAT(verdict.culprits, IsEmpty());
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_EQ(verdict.findings[0].kind, "unstable");
  EXPECT_THAT(verdict.findings[0].summary, testing::HasSubstr("variation 39 %"));
  EXPECT_THAT(verdict.findings[0].summary, testing::HasSubstr("150.3 and 68 GB/s"));
}

TEST(Analyze, OneSlowReadingOfANodeConvictsNobody) {
  const Verdict verdict = analyze_rows({{"a,b", 50}, {"b,c", 100}, {"c,d", 100}, {"b,d", 101}});
  EXPECT_EQ(verdict.kind, Verdict::Kind::inconclusive);
  EXPECT_THAT(verdict.culprits, IsEmpty());
  ASSERT_EQ(verdict.unresolved.size(), 1U);
  EXPECT_THAT(candidates(verdict.unresolved[0]), ElementsAre("a"));
  EXPECT_EQ(verdict.unresolved[0].next_probe->nodes.front(), "a");
}

TEST(Analyze, APairThatWasSlowOnceBlamesNobodyAndIsToBeMeasuredAgain) {
  // Round 1: (0,1) and (2,3); round 2: (0,3) and (1,2). Each member was well with another partner.
  const Verdict verdict =
      analyze_rows({{"node0,node1", 11}, {"node2,node3", 101}, {"node0,node3", 100}, {"node1,node2", 97}});
  EXPECT_EQ(verdict.kind, Verdict::Kind::inconclusive);
  EXPECT_THAT(verdict.culprits, IsEmpty());
  ASSERT_EQ(verdict.unresolved.size(), 1U);
  EXPECT_EQ(verdict.unresolved[0].candidates[0].kind, CulpritKind::pair);
  EXPECT_THAT(verdict.unresolved[0].next_probe->nodes, ElementsAre("node0", "node1"));
}

TEST(Analyze, LargerGroupsThatFallFurtherThanTheirSizeExplainsAreALossOfScale) {
  // Eight GPUs and eight 100 Gbit/s NICs a node: two nodes may exceed the wire, six at 40 % of it may not.
  std::vector<Row> rows = {{"n[1-2]", 101}, {"n[1-3]", 70}, {"n[1-4]", 58}, {"n[1-5]", 58}, {"n[1-6]", 40}};
  const auto measurements = table(rows);
  const auto nodes = nodes_of(measurements);
  const Verdict verdict = analyze(topology::undeclared_fabric(nodes, 8), nodes, measurements, {});
  EXPECT_EQ(verdict.kind, Verdict::Kind::degraded);
  EXPECT_THAT(verdict.culprits, IsEmpty()) << "no node is blamed";
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings[0].kind, "scaling-loss");
  EXPECT_THAT(verdict.findings[0].summary, testing::HasSubstr("6 nodes"));
}

TEST(Analyze, AGroupAboveTheFloorAndFarBelowItsPeersIsAFinding) {
  const auto measurements =
      table({{"a[1-4]", 771}, {"b[1-4]", 770}, {"c[1-4]", 768}, {"d[1-4]", 470}, {"e[1-4]", 772}});
  const auto nodes = nodes_of(measurements);
  const Verdict verdict =
      analyze(topology::undeclared_fabric(nodes, 8), nodes, measurements, {.expect_busbw_gbps = 500});
  EXPECT_EQ(verdict.kind, Verdict::Kind::degraded);
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_EQ(verdict.findings[0].kind, "below-peers");
  EXPECT_EQ(verdict.findings[0].subject, "d[1-4]");
  EXPECT_THAT(verdict.findings[0].summary, testing::HasSubstr("39 % below"));
}

TEST(Analyze, EverythingAlikeIsHealthy) {
  const Verdict verdict = analyze_rows({{"a,b", 99}, {"c,d", 100}, {"b,c", 101}});
  EXPECT_EQ(verdict.kind, Verdict::Kind::healthy);
}

}  // namespace
}  // namespace weft::bisect
