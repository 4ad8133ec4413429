#include "probes/collective/sim_faults.h"

#include <atomic>
#include <filesystem>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/error.h"

namespace weft::probes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Kind = SimFault::Kind;

topology::Fabric fabric() {
  return topology::parse_fabric(
      "rails: 4\nunits:\n  - {name: su1, nodes: \"gpu[1-4]\"}\n  - {name: su2, nodes: \"gpu[5-8]\"}\n", "fabric.yaml");
}

ErrorDetail error_of(const std::string& yaml) {
  try {
    parse_sim_faults(yaml, "faults.yaml", fabric());
  } catch (const InputError& error) {
    return error.detail();
  }
  ADD_FAILURE() << "accepted: " << yaml;
  return {};
}

std::vector<SimFault> faults_of(const std::string& list) {
  return parse_sim_faults("faults:\n" + list, "faults.yaml", fabric()).faults;
}

TEST(SimFaults, ReadsEveryKind) {
  const std::vector<SimFault> faults = faults_of(
      "  - {kind: node, node: gpu1, factor: 0.7, from_round: 3}\n"
      "  - {kind: rail, node: gpu2, rail: 3, factor: 0.6}\n"
      "  - {kind: leaf, unit: su1, rail: 0}\n"
      "  - {kind: uplink, unit: su2, rail: 1}\n"
      "  - {kind: path, units: [su1, su2]}\n"
      "  - {kind: pair, nodes: [gpu1, gpu5]}\n"
      "  - {kind: scale, min_nodes: 6, factor: 0}\n"
      "  - {kind: crash, node: gpu3}\n"
      "  - {kind: hang, node: gpu4}\n"
      "  - {kind: corrupt, node: gpu6}\n"
      "  - {kind: unreachable, node: gpu7}\n");
  const struct {
    Kind kind;
    std::vector<std::string> nodes, units;
    std::optional<int> rail;
    double factor;
    int min_nodes, from_round;
  } expected[] = {
      {Kind::node, {"gpu1"}, {}, std::nullopt, 0.7, 0, 3},
      {Kind::rail, {"gpu2"}, {}, 3, 0.6, 0, 1},
      {Kind::leaf, {}, {"su1"}, 0, 0.5, 0, 1},
      {Kind::uplink, {}, {"su2"}, 1, 0.5, 0, 1},
      {Kind::path, {}, {"su1", "su2"}, std::nullopt, 0.5, 0, 1},
      {Kind::pair, {"gpu1", "gpu5"}, {}, std::nullopt, 0.5, 0, 1},
      {Kind::scale, {}, {}, std::nullopt, 0, 6, 1},
      {Kind::crash, {"gpu3"}, {}, std::nullopt, 0.5, 0, 1},
      {Kind::hang, {"gpu4"}, {}, std::nullopt, 0.5, 0, 1},
      {Kind::corrupt, {"gpu6"}, {}, std::nullopt, 0.5, 0, 1},
      {Kind::unreachable, {"gpu7"}, {}, std::nullopt, 0.5, 0, 1},
  };
  ASSERT_EQ(faults.size(), std::size(expected));
  for (std::size_t i = 0; i < faults.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(faults[i].kind, expected[i].kind);
    EXPECT_EQ(faults[i].nodes, expected[i].nodes);
    EXPECT_EQ(faults[i].units, expected[i].units);
    EXPECT_EQ(faults[i].rail, expected[i].rail);
    EXPECT_DOUBLE_EQ(faults[i].factor, expected[i].factor);
    EXPECT_EQ(faults[i].min_nodes, expected[i].min_nodes);
    EXPECT_EQ(faults[i].from_round, expected[i].from_round);
  }
}

TEST(SimFaults, AListOfNodesIsAFaultOfEach) {
  for (const char* list : {"  - {kind: node, nodes: \"gpu[3-4]\"}\n", "  - {kind: node, nodes: [gpu3, gpu4]}\n",
                           "  - {kind: node, node: \"gpu3,gpu4,gpu3\"}\n", "  - kind: node\n    nodes: gpu[3-4]\n"}) {
    const std::vector<SimFault> faults = faults_of(list);
    ASSERT_EQ(faults.size(), 2U) << list;
    EXPECT_THAT(faults[0].nodes, ElementsAre("gpu3"));
    EXPECT_THAT(faults[1].nodes, ElementsAre("gpu4"));
  }
  const std::vector<SimFault> scale = faults_of("  - {kind: scale, min_nodes: 4, nodes: [gpu1, gpu2]}\n");
  ASSERT_EQ(scale.size(), 1U) << "both have to be in";
  EXPECT_THAT(scale[0].nodes, ElementsAre("gpu1", "gpu2"));
}

TEST(SimFaults, AFaultOfScaleTakesEveryNodeItNames) {
  const topology::Fabric fabric = ::weft::probes::fabric();
  SimProber prober(fabric, faults_of("  - {kind: scale, min_nodes: 3, nodes: [gpu1, gpu2], factor: 0}\n"),
                   {.spread = 0, .outlier_rate = 0});
  const std::vector<Group> groups = {
      {{"gpu1", "gpu2", "gpu3"}, {}}, {{"gpu1", "gpu4", "gpu5"}, {}}, {{"gpu1", "gpu2"}, {}}};
  const std::atomic<bool> cancel = false;
  const std::vector<Measurement> measured = prober.measure(groups, ProbeSpec{}, cancel, {});
  EXPECT_EQ(measured[0].status, Status::hung);
  EXPECT_EQ(measured[1].status, Status::ok);
  EXPECT_EQ(measured[2].status, Status::ok);
}

TEST(SimFaults, ReadsNoiseAndKeepsWhatIsNotSaid) {
  const SimNoise noise =
      parse_sim_faults("noise: {spread: 0.05, outliers: 0, outlier_range: [0.5, 0.8]}", "f.yaml", fabric()).noise;
  EXPECT_DOUBLE_EQ(noise.spread, 0.05);
  EXPECT_DOUBLE_EQ(noise.outlier_rate, 0);
  EXPECT_DOUBLE_EQ(noise.outlier_lowest, 0.5);
  EXPECT_DOUBLE_EQ(noise.outlier_highest, 0.8);
  const SimScenario silent = parse_sim_faults("faults: []", "f.yaml", fabric());
  EXPECT_DOUBLE_EQ(silent.noise.spread, SimNoise{}.spread);
  EXPECT_THAT(silent.faults, IsEmpty()) << "a healthy fabric";
}

TEST(SimFaults, RefusesWithFileLineColumnAndWhatWasExpected) {
  const struct {
    std::string yaml, where, what, expected;
  } cases[] = {
      {"", "faults.yaml", "declares nothing", "the keys noise and faults"},
      {"[1, 2]", "faults.yaml:1:1", "the document is a list", "a map"},
      {"faults: [", "faults.yaml:1:", "not valid YAML", ""},
      {"faults: []\n---\nfaults: []\n", "faults.yaml:2:1", "a second YAML document", "one document"},
      {"fault: []", "faults.yaml:1:1", R"(unknown key "fault")", "noise, faults"},
      {"faults:\n", "faults.yaml:1:1", "faults is nothing", "a list"},
      {"faults: {kind: node}", "faults.yaml:1:9", "faults is a map", "a list"},
      {"faults: []\nfaults: []", "faults.yaml:2:1", "written twice", "once"},
      {"faults:\n  - node", "faults.yaml:2:5", R"(faults[0] is "node")", "a map"},
      {"faults:\n  - {node: gpu1}", "faults.yaml:2:5", R"(faults[0] has no key "kind")", "kind"},
      {"faults:\n  - {kind: nod, node: gpu1}", "faults.yaml:2:12", R"(faults[0].kind is "nod")", "one of node, rail"},
      {"faults:\n  - {kind: [node]}", "faults.yaml:2:12", "faults[0].kind is a list", "one of node, rail"},
      {"faults:\n  - {kind: node, nod: gpu1}", "faults.yaml:2:18", R"(unknown key "nod" in faults[0])", "node"},
      {"faults:\n  - {kind: node, node: gpu1, node: gpu2}", "faults.yaml:2:30", "written twice", "once"},
      {"faults:\n  - {kind: node, node: gpu1, nodes: gpu2}", "faults.yaml:2:37", "node and nodes", "one of them"},
      {"faults:\n  - {kind: node}", "faults.yaml:2:5", R"(has no key "node")", "node"},
      {"faults:\n  - {kind: node, node: }", "faults.yaml:2:18", "faults[0].node is nothing", "a host list"},
      {"faults:\n  - {kind: node, nodes: []}", "faults.yaml:2:25", "an empty list", "at least one node"},
      {"faults:\n  - {kind: node, nodes: [[gpu1]]}", "faults.yaml:2:26", "faults[0].nodes[0] is a list", "a host list"},
      {"faults:\n  - {kind: node, node: gpu9}", "faults.yaml:2:24", "gpu9 is not in the fabric",
       "a node of the fabric"},
      {"faults:\n  - {kind: node, nodes: [gpu1, GPU2]}", "faults.yaml:2:32", "GPU2 is not in the fabric", ""},
      {"faults:\n  - {kind: node, node: \"gpu[1-\"}", "faults.yaml:2:24", "not closed", "`]`"},
      {"faults:\n  - {kind: node, node: gpu1, factor: 1.5}", "faults.yaml:2:38", R"(faults[0].factor is "1.5")",
       "below 1"},
      {"faults:\n  - {kind: node, node: gpu1, factor: 1}", "faults.yaml:2:38", R"(is "1")", "below 1"},
      {"faults:\n  - {kind: node, node: gpu1, factor: 0}", "faults.yaml:2:38", R"(is "0")", "above 0"},
      {"faults:\n  - {kind: node, node: gpu1, factor: -0.5}", "faults.yaml:2:38", R"(is "-0.5")", "above 0"},
      {"faults:\n  - {kind: node, node: gpu1, factor: nan}", "faults.yaml:2:38", R"(is "nan")", "above 0"},
      {"faults:\n  - {kind: node, node: gpu1, factor: 60%}", "faults.yaml:2:38", R"(is "60%")", "above 0"},
      {"faults:\n  - {kind: node, node: gpu1, from_round: 0}", "faults.yaml:2:42", "from_round", "from 1"},
      {"faults:\n  - {kind: node, node: gpu1, rail: 0}", "faults.yaml:2:30", R"(unknown key "rail")", "kind, node"},
      {"faults:\n  - {kind: crash, node: gpu1, factor: 0.5}", "faults.yaml:2:31", R"(unknown key "factor")", ""},
      {"faults:\n  - {kind: rail, node: gpu1}", "faults.yaml:2:5", R"(has no key "rail")", "rail"},
      {"faults:\n  - {kind: rail, node: gpu1, rail: 4}", "faults.yaml:2:36", R"(faults[0].rail is "4")", "from 0 to 3"},
      {"faults:\n  - {kind: rail, node: gpu1, rail: -1}", "faults.yaml:2:36", R"(is "-1")", "from 0 to 3"},
      {"faults:\n  - {kind: leaf}", "faults.yaml:2:5", R"(has no key "unit")", "unit"},
      {"faults:\n  - {kind: leaf, unit: su9, rail: 0}", "faults.yaml:2:24", R"(is "su9")", "one of su1, su2"},
      {"faults:\n  - {kind: uplink, units: [su1]}", "faults.yaml:2:20", R"(unknown key "units")", "unit"},
      {"faults:\n  - {kind: path, units: su1}", "faults.yaml:2:25", R"(units is "su1")", "[su1, su2]"},
      {"faults:\n  - {kind: path, units: [su1]}", "faults.yaml:2:25", "units is a list", "two different units"},
      {"faults:\n  - {kind: path, units: [su1, su1]}", "faults.yaml:2:25", "are su1 twice", "two different units"},
      {"faults:\n  - {kind: pair, nodes: [gpu1]}", "faults.yaml:2:25", "names 1 nodes", "two different nodes"},
      {"faults:\n  - {kind: pair, nodes: [gpu1, gpu1]}", "faults.yaml:2:25", "names 1 nodes", "two different nodes"},
      {"faults:\n  - {kind: scale}", "faults.yaml:2:5", R"(has no key "min_nodes")", "min_nodes"},
      {"faults:\n  - {kind: scale, min_nodes: 2.5}", "faults.yaml:2:30", R"(is "2.5")", "a whole number"},
      {"faults:\n  - {kind: scale, min_nodes: 9}", "faults.yaml:2:30", R"(is "9")", "from 2 to 8"},
      {"faults:\n  - {kind: scale, min_nodes: 4, factor: 1}", "faults.yaml:2:41", R"(is "1")", "0 (hangs)"},
      {"noise: 0.02", "faults.yaml:1:8", R"(noise is "0.02")", "spread, outliers, outlier_range"},
      {"noise: {spread: 2}", "faults.yaml:1:17", R"(noise.spread is "2")", "from 0 to 1"},
      {"noise: {outliers: -0.1}", "faults.yaml:1:19", R"(noise.outliers is "-0.1")", "from 0 to 1"},
      {"noise: {outlier_range: 0.5}", "faults.yaml:1:24", "outlier_range", "two shares"},
      {"noise: {outlier_range: [0.5]}", "faults.yaml:1:24", "outlier_range", "two shares"},
      {"noise: {outlier_range: [0, 0.5]}", "faults.yaml:1:25", R"(outlier_range[0] is "0")", "from 0.01 to 1"},
      {"noise: {outlier_range: [0.9, 0.6]}", "faults.yaml:1:30", R"(outlier_range[1] is "0.6")", "from 0.9 to 1"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.yaml);
    const ErrorDetail error = error_of(c.yaml);
    EXPECT_THAT(error.where, StartsWith(c.where));
    EXPECT_THAT(error.what, HasSubstr(c.what));
    EXPECT_THAT(error.expected, HasSubstr(c.expected));
  }
}

TEST(SimFaults, NamesTheNearestKindUnitAndNode) {
  EXPECT_EQ(error_of("faults: [{kind: nod}]").next_step, R"(did you mean "node"?)");
  EXPECT_EQ(error_of("faults: [{kind: leaf, unit: Su1}]").next_step, R"(did you mean "su1"?)");
  EXPECT_EQ(error_of("faults: [{kind: node, node: gpu01}]").next_step, R"(did you mean "gpu1"?)");
}

TEST(SimFaults, AListOfNodesThatManyFaultsPointAtIsBounded) {
  std::string nodes = "&n [";
  for (int i = 0; i < 2000; ++i)
    nodes += "'gpu[1-8]',";
  std::string yaml = "faults:\n  - {kind: node, nodes: " + nodes + "]}\n";
  for (int i = 0; i < 2000; ++i)
    yaml += "  - {kind: node, nodes: *n}\n";
  EXPECT_THAT(error_of(yaml).what, HasSubstr("more than 1000000 nodes"));
}

TEST(SimFaults, RefusesWhatIsNoReadableFile) {
  EXPECT_THROW(load_sim_faults(testing::TempDir(), fabric()), InputError);
  EXPECT_THROW(load_sim_faults(testing::TempDir() + "weft-no-such-faults.yaml", fabric()), InputError);
  EXPECT_THROW(load_sim_faults("/dev/zero", fabric()), InputError);
}

TEST(SimFaults, EveryExampleFitsTheExampleFabric) {
  const topology::Fabric example = topology::load_fabric(WEFT_SOURCE_DIR "/examples/fabric-rail-optimised.yaml");
  int loaded = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/examples")) {
    if (!entry.path().filename().string().starts_with("faults")) continue;
    SCOPED_TRACE(entry.path());
    EXPECT_THAT(load_sim_faults(entry.path().string(), example).faults, Not(IsEmpty()));
    ++loaded;
  }
  EXPECT_GE(loaded, 2);
}

}  // namespace
}  // namespace weft::probes
