#include "bisect/analyze_table.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "probes/collective/measurement_files.h"
#include "report/json.h"

namespace weft::bisect {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr const char* kPairs =
    "a,b,busbw,crosses_rack\n"
    "node644,node699,49.36,\nnode632,node641,88.36,0\nnode284,node678,49.28,1\n"
    "node641,node644,49.30,\nnode404,node699,86.81,1\n";
constexpr const char* kReference =
    "a,b,busbw\n"
    "node001,node002,49.1\nnode001,node003,48.8\nnode001,node004,49.3\nnode001,node005,49.0\nnode001,node006,48.9\n";
constexpr const char* kWithoutReference = "a,b,busbw\nnode002,node003,97.0\n";
constexpr const char* kHalves =
    "members,busbw\n"
    "node[001-004],198\nnode[005-008],198\n\"node001,node005\",96\nnode[001-008],100\n\"node002,node006\",95\n";
constexpr const char* kGrowing = "members,busbw\nn[1-2],101.0\nn[1-3],70.0\nn[1-4],58.0\nn[1-5],58.0\nn[1-6],40.0\n";
constexpr const char* kRacks =
    "members,busbw\n"
    "rack01n[1-4],771\nrack02n[1-4],770\nrack03n[1-4],768\nrack04n[1-4],470\nrack05n[1-4],772\n";
constexpr const char* kTrials =
    "n01 n03 n04 n08 479.89\nn01 n03 n04 n05 478.57\nn01 n02 n05 n06 478.28\nn01 n02 n03 n08 480.33\n"
    "n02 n03 n05 n07 478.67\nn01 n03 n05 n06 478.74\nn02 n05 n06 n07 478.56\nn01 n03 n05 n08 478.76\n"
    "n02 n05 n07 n08 478.27\nn02 n04 n06 n07 480.17\nn01 n03 n05 n06 478.9\nn04 n05 n07 n08 478.66\n"
    "n02 n06 n07 n08 480.51\nn02 n03 n07 n08 480.22\nn03 n05 n06 n07 478.45\nn01 n02 n06 n07 479.88\n";
constexpr const char* kRestless =
    "n02 n03 n04 n08 151.0\nn01 n04 n06 n08 150.3\nn04 n05 n07 n08 150.4\nn01 n03 n04 n07 149.2\n"
    "n01 n04 n06 n08 68.0\nn01 n04 n05 n07 66.2\nn01 n02 n06 n08 147.5\nn01 n03 n05 n07 55.0\n"
    "n02 n06 n07 n08 56.3\nn03 n05 n07 n08 58.9\nn02 n05 n07 n08 148.9\nn02 n05 n07 n08 147.1\n";

topology::Fabric fabric_of(const std::string& yaml) {
  return topology::parse_fabric(yaml, "fabric.yaml");
}

topology::Fabric two_leaves() {
  return fabric_of(
      "gpus_per_node: 1\nunits:\n"
      "  - {name: leafA, nodes: \"node[001-004]\"}\n  - {name: leafB, nodes: \"node[005-008]\"}\n");
}

topology::Fabric eight_100_gbit_rails() {
  return fabric_of(
      "rails: 8\ngpus_per_node: 8\nlink: {type: roce, speed: 100}\nunits: [{name: all, nodes: \"n[1-6]\"}]\n");
}

/// As files, so that reading and sorting them is part of what is tested.
class AnalyzeTable : public testing::Test {
 protected:
  AnalyzeTable()
      : folder_(fs::path(testing::TempDir()) / ("weft-analyze-" + std::to_string(getpid()) + "-" +
                                                testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directory(folder_);
  }
  ~AnalyzeTable() override { fs::remove_all(folder_); }

  probes::MeasurementTable table_of(const std::vector<std::string>& texts) const {
    std::vector<std::string> files;
    for (const std::string& text : texts) {
      files.push_back((folder_ / (std::to_string(files.size()) + ".csv")).string());
      std::ofstream(files.back(), std::ios::binary) << text;
    }
    return probes::load_measurements(files);
  }
  Verdict analyze(const std::vector<std::string>& texts, const AnalyzeTableOptions& options = {},
                  std::optional<topology::Fabric> fabric = {}) const {
    const probes::MeasurementTable table = table_of(texts);
    if (!fabric) fabric = topology::undeclared_fabric(table.nodes, 8);
    return analyze_table(*fabric, table, options);
  }
  /// What `weft analyze --json` prints.
  std::string document(const std::vector<std::string>& texts, const AnalyzeTableOptions& options,
                       std::optional<topology::Fabric> fabric) const {
    const probes::MeasurementTable table = table_of(texts);
    if (!fabric) fabric = topology::undeclared_fabric(table.nodes, 8);
    RunResult run;
    run.notes = table.notes;
    run.verdict = analyze_table(*fabric, table, options);
    run.rounds = rounds_of(table);
    return report::bisect_json(run, report::kAnalyzeSchema).dump(2);
  }

 private:
  fs::path folder_;
};

std::vector<std::string> blamed(const Verdict& verdict) {
  std::vector<std::string> names;
  for (const Culprit& culprit : verdict.culprits)
    names.push_back(describe(culprit));
  return names;
}

std::vector<std::string> kinds(const Verdict& verdict) {
  std::vector<std::string> names;
  for (const Finding& finding : verdict.findings)
    names.push_back(finding.kind);
  return names;
}

const Finding& finding_of(const Verdict& verdict, const std::string& kind) {
  static const Finding kNone;
  const auto found = std::find_if(verdict.findings.begin(), verdict.findings.end(),
                                  [&](const Finding& finding) { return finding.kind == kind; });
  EXPECT_NE(found, verdict.findings.end()) << kind;
  return found == verdict.findings.end() ? kNone : *found;
}

TEST_F(AnalyzeTable, APropertyOfAFastPairAsWellAsOfASlowOneIsNotTheCause) {
  const Verdict verdict = analyze({kPairs});
  EXPECT_EQ(verdict.kind, Verdict::Kind::degraded);
  EXPECT_THAT(blamed(verdict), ElementsAre("node node644"));
  ASSERT_EQ(verdict.unresolved.size(), 1U);
  EXPECT_EQ(verdict.unresolved[0].candidates[0].node, "node284");
  EXPECT_EQ(verdict.unresolved[0].candidates[1].node, "node678");
  const Finding& finding = finding_of(verdict, "not-the-cause");
  EXPECT_EQ(finding.subject, "crosses_rack");
  EXPECT_THAT(finding.summary, AllOf(HasSubstr("node[404,699] has it and reaches 86.81"),
                                     HasSubstr("node[284,678] has it and reaches 49.28")));
}

TEST_F(AnalyzeTable, APropertyOfSlowPairsOnlyAndOneOfOtherShapesStayOpen) {
  EXPECT_THAT(kinds(analyze({"a,b,busbw,far\nn1,n2,50,1\nn1,n3,50,1\nn2,n3,97,0\n"})),
              Not(testing::Contains("not-the-cause")));
  EXPECT_THAT(kinds(analyze({"members,busbw,far\n\"n1,n2\",97,0\n\"n3,n4\",98,0\n\"n1,n3\",96,1\nn[1-4],50,1\n"})),
              Not(testing::Contains("not-the-cause")))
      << "a pair's speed says nothing of four nodes";
}

TEST_F(AnalyzeTable, AReferenceThatIsInEveryPairIsConvictedByOnePairWithoutIt) {
  const Verdict open = analyze({kReference});
  EXPECT_EQ(open.kind, Verdict::Kind::inconclusive);
  EXPECT_THAT(open.culprits, IsEmpty());
  ASSERT_EQ(open.unresolved.size(), 1U);
  EXPECT_THAT(open.unresolved[0].next_probe->nodes, ElementsAre("node002", "node003"));
  const Verdict verdict = analyze({kReference, kWithoutReference});
  EXPECT_EQ(verdict.kind, Verdict::Kind::degraded);
  EXPECT_THAT(blamed(verdict), ElementsAre("node node001"));
  EXPECT_THAT(verdict.cleared, UnorderedElementsAre("node002", "node003", "node004", "node005", "node006"));
}

TEST_F(AnalyzeTable, ASlowPathIsBlamedWithTheOrderOfRanks) {
  const Verdict verdict = analyze({kHalves}, {}, two_leaves());
  EXPECT_EQ(verdict.kind, Verdict::Kind::degraded);
  EXPECT_THAT(blamed(verdict), ElementsAre("path leafA <-> leafB"));
  EXPECT_EQ(verdict.cleared.size(), 8U) << "no node";
  EXPECT_THAT(finding_of(verdict, "path").next_step, HasSubstr("the order of ranks matters"));
}

TEST_F(AnalyzeTable, ALossByNumberOfNodesIsGivenInSharesOfTheWires) {
  const Verdict verdict = analyze({kGrowing}, {}, eight_100_gbit_rails());
  EXPECT_EQ(verdict.kind, Verdict::Kind::degraded);
  EXPECT_THAT(verdict.culprits, IsEmpty());
  const Finding& loss = finding_of(verdict, "scaling-loss");
  EXPECT_EQ(loss.subject, "6 nodes and more");
  ASSERT_EQ(loss.evidence.size(), 5U);
  EXPECT_EQ(loss.evidence[0], (Evidence{"n[1-6]", "40 GB/s, 40 % of the 100 that a node's rails carry"}));
  const Finding& above = finding_of(verdict, "above-the-wires");
  EXPECT_EQ(above.subject, "n[1-2]");
  EXPECT_THAT(above.summary, HasSubstr("not comparable with the line rate"));
}

TEST_F(AnalyzeTable, AFloorIsNoMeasureOfHealth) {
  AnalyzeTableOptions options;
  options.inference.expect_busbw_gbps = 500;
  const Verdict verdict = analyze({kRacks}, options);
  EXPECT_EQ(verdict.kind, Verdict::Kind::degraded);
  const Finding& finding = finding_of(verdict, "below-peers");
  EXPECT_EQ(finding.subject, "rack04n[1-4]");
  EXPECT_THAT(finding.summary, HasSubstr("39 % below"));
}

TEST_F(AnalyzeTable, ANodeThatCostsAThirdOfAPerCentIsFoundWhenAskedFor) {
  EXPECT_EQ(analyze({kTrials}).kind, Verdict::Kind::healthy);
  const Verdict verdict = analyze({kTrials}, {.inference = {}, .small_effects = true});
  EXPECT_EQ(verdict.kind, Verdict::Kind::degraded);
  EXPECT_THAT(verdict.why, HasSubstr("n05"));
  ASSERT_THAT(kinds(verdict), ElementsAre("small-effect"));
  const Finding& finding = verdict.findings.front();
  EXPECT_EQ(finding.severity, Severity::minor);
  EXPECT_EQ(finding.subject, "node n05");
  EXPECT_THAT(finding.summary, AllOf(HasSubstr("1.58 GB/s (0.33 %)"), HasSubstr("10 trials with it, 6 without"),
                                     HasSubstr("confidence > 99.99 %")));
}

TEST_F(AnalyzeTable, WhereMeasurementsContradictEachOtherNoSmallEffectIsRead) {
  for (const bool small_effects : {false, true}) {
    const Verdict verdict = analyze({kRestless}, {.inference = {}, .small_effects = small_effects});
    EXPECT_EQ(verdict.kind, Verdict::Kind::inconclusive);
    EXPECT_THAT(verdict.culprits, IsEmpty());
    EXPECT_THAT(kinds(verdict), ElementsAre("unstable"));
    EXPECT_THAT(verdict.findings[0].summary, HasSubstr("variation 39 %"));
  }
}

// Two rounds of pairs, (0,1) (2,3) and (0,3) (1,2). Seconds of the same collective as bandwidths, 2000 / s.
constexpr const char* kFirstRound = "members,busbw,round\n\"node0,node1\",11.0,1\n\"node2,node3\",99.1,1\n";

TEST_F(AnalyzeTable, WhatIsMissingInTheLastRoundIsNotReadFromTheOneBefore) {
  // Node 0 has answered in round 2, the others have not.
  const Verdict early = analyze({kFirstRound, "members,busbw,round\n\"node0,node3\",100.5,2\n\"node1,node2\",,2\n"});
  EXPECT_EQ(early.kind, Verdict::Kind::inconclusive);
  EXPECT_THAT(early.culprits, IsEmpty()) << "node1 is slow in round 1 only";
  EXPECT_EQ(finding_of(early, "no-result").subject, "nodes node[1-2]");
  EXPECT_THAT(finding_of(early, "no-result").evidence,
              ElementsAre(Evidence{"node1", "no result in round 2"}, Evidence{"node2", "no result in round 2"}));

  // All pairs have a figure, but node3 itself never reported.
  const Verdict late =
      analyze({kFirstRound, "members,busbw,round\n\"node0,node3\",100.5,2\n\"node1,node2\",97.0,2\nnode3,,2\n"});
  EXPECT_EQ(late.kind, Verdict::Kind::inconclusive);
  EXPECT_THAT(late.culprits, IsEmpty());
  EXPECT_EQ(finding_of(late, "no-result").subject, "node node3");
  EXPECT_THAT(finding_of(late, "no-result").summary, HasSubstr("No result in round 2"));
  ASSERT_EQ(late.unresolved.size(), 1U);
  EXPECT_THAT(late.unresolved[0].next_probe->nodes, ElementsAre("node0", "node1")) << "slow in round 1 only: again";
}

TEST_F(AnalyzeTable, NothingIsHealthyWhoseLastRoundGaveNothing) {
  const char* rows = "a,b,busbw,round\nn1,n2,97,1\nn3,n4,98,1\nn1,n3,97,2\nn2,n4,";
  EXPECT_EQ(analyze({std::string(rows) + "99,2\n"}).kind, Verdict::Kind::healthy);
  const Verdict verdict = analyze({std::string(rows) + ",2\n"});
  EXPECT_EQ(verdict.kind, Verdict::Kind::inconclusive);
  EXPECT_EQ(verdict.why, "n[2,4] gave no result in round 2.");
}

TEST_F(AnalyzeTable, ACrashInTheLastRoundIsAResult) {
  const Verdict verdict = analyze({"a,b,busbw,round,status\nn1,n2,97,1,\nn3,n4,98,1,\nn1,n3,97,2,\nn2,n4,,2,failed\n"});
  EXPECT_THAT(kinds(verdict), Not(testing::Contains("no-result")));
}

TEST_F(AnalyzeTable, RoundsOfTheColumnAreRoundsOfTheRun) {
  const std::vector<RoundResult> rounds =
      rounds_of(table_of({"a,b,busbw,round\nn1,n2,97,3\nn3,n4,98,7\nn1,n3,97,3\n"}));
  ASSERT_EQ(rounds.size(), 2U);
  EXPECT_EQ(rounds[0].round.number, 3);
  EXPECT_EQ(rounds[0].measurements.size(), 2U);
  EXPECT_EQ(rounds[0].round.groups.size(), 2U);
  EXPECT_EQ(rounds[1].round.number, 7);
  const std::vector<RoundResult> one = rounds_of(table_of({kReference}));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].round.number, 1);
}

TEST_F(AnalyzeTable, TheFabricsFigureAndItsWiresJudgeWhatHasNoPeers) {
  const std::string yaml =
      "rails: 8\ngpus_per_node: 8\nlink: {type: roce, speed: 100}\nunits: [{name: all, nodes: \"n[1-6]\"}]\n";
  const char* one_group = "members,busbw\nn[1-6],40\n";
  const Verdict by_wires = analyze({one_group}, {}, fabric_of(yaml));
  EXPECT_EQ(by_wires.baseline->source, Baseline::Source::model);
  EXPECT_DOUBLE_EQ(by_wires.baseline->busbw_gbps, 100);
  EXPECT_NE(by_wires.kind, Verdict::Kind::healthy);
  const std::string figure = yaml + "expect: {all_reduce: {busbw_gbps: 42}}\n";
  const Verdict by_figure = analyze({one_group}, {}, fabric_of(figure));
  EXPECT_EQ(by_figure.baseline->source, Baseline::Source::fabric);
  EXPECT_EQ(by_figure.kind, Verdict::Kind::healthy);
  AnalyzeTableOptions options;
  options.inference.expect_busbw_gbps = 80;
  const Verdict by_flag = analyze({one_group}, options, fabric_of(figure));
  EXPECT_EQ(by_flag.baseline->source, Baseline::Source::flag);
  EXPECT_NE(by_flag.kind, Verdict::Kind::healthy);
}

TEST_F(AnalyzeTable, OfFlatRingsLargerGroupsAreHeldToWhatSmallerOnesReach) {
  const char* rows = "members,busbw\nn[1-2],100\nn[3-4],99\nn[1-4],62\n";
  AnalyzeTableOptions options;
  EXPECT_EQ(analyze({rows}, options).kind, Verdict::Kind::healthy) << "hierarchical ones may fall to 69 %";
  options.inference.scaling = probes::Scaling::flat_ring;
  EXPECT_NE(analyze({rows}, options).kind, Verdict::Kind::healthy);
}

/// Rows below the header, if there is one, in another order.
std::string shuffled(const std::string& text, std::mt19937& random) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  const bool header = lines.front().find("busbw") != std::string::npos;
  std::shuffle(lines.begin() + (header ? 1 : 0), lines.end(), random);
  std::string result;
  for (const std::string& line : lines)
    result += line;
  return result;
}

TEST_F(AnalyzeTable, AnyOrderOfRowsAndFilesGivesTheSameDocument) {
  const struct {
    std::vector<std::string> texts;
    std::optional<topology::Fabric> fabric;
    bool small_effects = false;
  } cases[] = {
      {{kPairs}, {}},
      {{kReference, kWithoutReference}, {}},
      {{kHalves}, two_leaves()},
      {{kGrowing}, eight_100_gbit_rails()},
      {{kRacks}, {}},
      {{kTrials}, {}, true},
      {{kRestless}, {}},
      {{kFirstRound, "members,busbw,round\n\"node0,node3\",100.5,2\n\"node1,node2\",97.0,2\nnode3,,2\n"}, {}},
  };
  constexpr unsigned kSeed = 5;
  std::mt19937 random(kSeed);
  for (const auto& c : cases) {
    SCOPED_TRACE(c.texts.front());
    const AnalyzeTableOptions options{.inference = {}, .small_effects = c.small_effects};
    const std::string first = document(c.texts, options, c.fabric);
    for (int shuffle = 0; shuffle < 10; ++shuffle) {
      SCOPED_TRACE(testing::Message() << "seed " << kSeed << " shuffle " << shuffle);
      std::vector<std::string> texts = c.texts;
      for (std::string& text : texts)
        text = shuffled(text, random);
      std::shuffle(texts.begin(), texts.end(), random);
      ASSERT_EQ(document(texts, options, c.fabric), first);
    }
  }
}

}  // namespace
}  // namespace weft::bisect
