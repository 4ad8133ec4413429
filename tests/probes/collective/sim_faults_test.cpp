#include "probes/collective/sim_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/error.h"

namespace weft::probes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = SimFault::Kind;

topology::Fabric fabric() {
  return topology::parse_fabric(
      "rails: 4\nunits:\n  - {name: su1, nodes: \"gpu[1-4]\"}\n  - {name: su2, nodes: \"gpu[5-8]\"}\n", "fabric.yaml");
}

std::string refusal(const std::string& yaml) {
  try {
    parse_sim_faults(yaml, "faults.yaml", fabric());
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SimFaults, ReadsEveryKind) {
  const SimScenario scenario = parse_sim_faults(
      "noise: {spread: 0.05, outliers: 0, outlier_range: [0.5, 0.8]}\n"
      "faults:\n"
      "  - {kind: node, node: gpu1, factor: 0.7, from_round: 3}\n"
      "  - {kind: rail, node: gpu2, rail: 3, factor: 0.6}\n"
      "  - {kind: leaf, unit: su1, rail: 0}\n"
      "  - {kind: uplink, unit: su2, rail: 1}\n"
      "  - {kind: path, units: [su1, su2]}\n"
      "  - {kind: pair, nodes: [gpu1, gpu5]}\n"
      "  - {kind: scale, min_nodes: 6, factor: 0}\n"
      "  - {kind: crash, nodes: \"gpu[3-4]\"}\n",
      "faults.yaml", fabric());
  EXPECT_DOUBLE_EQ(scenario.noise.spread, 0.05);
  EXPECT_DOUBLE_EQ(scenario.noise.outlier_rate, 0);
  EXPECT_DOUBLE_EQ(scenario.noise.outlier_highest, 0.8);
  ASSERT_EQ(scenario.faults.size(), 9U) << "a list of nodes is a fault of each";
  EXPECT_EQ(scenario.faults[0].from_round, 3);
  EXPECT_DOUBLE_EQ(scenario.faults[0].factor, 0.7);
  EXPECT_EQ(scenario.faults[1].rail, 3);
  EXPECT_THAT(scenario.faults[2].units, ElementsAre("su1"));
  EXPECT_FALSE(scenario.faults[4].rail);
  EXPECT_THAT(scenario.faults[5].nodes, ElementsAre("gpu1", "gpu5"));
  EXPECT_EQ(scenario.faults[6].min_nodes, 6);
  EXPECT_EQ(scenario.faults[8].kind, Kind::crash);
  EXPECT_THAT(scenario.faults[8].nodes, ElementsAre("gpu4"));
}

TEST(SimFaults, RefusesWithFileLineColumnAndWhatWasExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "faults.yaml"},
      {"[1, 2]", "a map"},
      {"faults: {kind: node}", "not a list"},
      {"faults:\n  - {kind: nod, node: gpu1}", "faults.yaml:2:12: there is no kind"},
      {"faults:\n  - {kind: nod, node: gpu1}", "did you mean 'node'"},
      {"faults:\n  - {kind: node, nod: gpu1}", "unknown key"},
      {"faults:\n  - {kind: node, node: gpu1, node: gpu2}", "twice"},
      {"faults:\n  - {kind: node}", "has no 'nodes'"},
      {"faults:\n  - {kind: node, node: gpu9}", "'gpu9' is not in the fabric"},
      {"faults:\n  - {kind: node, node: \"gpu[1-\"}", "not closed"},
      {"faults:\n  - {kind: node, node: gpu1, factor: 1.5}", "1.5"},
      {"faults:\n  - {kind: node, node: gpu1, factor: nan}", "nan"},
      {"faults:\n  - {kind: node, node: gpu1, factor: 0}", "above 0"},
      {"faults:\n  - {kind: crash, node: gpu1, factor: 0.5}", "unknown key"},
      {"faults:\n  - {kind: rail, node: gpu1}", "has no 'rail'"},
      {"faults:\n  - {kind: rail, node: gpu1, rail: 4}", "from 0 to 3"},
      {"faults:\n  - {kind: leaf, unit: su9, rail: 0}", "there is no unit"},
      {"faults:\n  - {kind: path, units: [su1, su1]}", "two different"},
      {"faults:\n  - {kind: pair, nodes: [gpu1]}", "two nodes"},
      {"faults:\n  - {kind: scale, min_nodes: 2.5}", "whole number"},
      {"noise: {spread: 2}", "from 0 to 1"},
      {"faults: [", "faults.yaml:1"},
  };
  for (const auto& [yaml, said] : cases)
    EXPECT_THAT(refusal(yaml), HasSubstr(said)) << yaml;
}

TEST(SimFaults, TheExampleFitsTheExampleFabric) {
  const topology::Fabric example = topology::load_fabric(WEFT_SOURCE_DIR "/examples/fabric-rail-optimised.yaml");
  EXPECT_EQ(load_sim_faults(WEFT_SOURCE_DIR "/examples/faults.yaml", example).faults.size(), 2U);
}

}  // namespace
}  // namespace weft::probes
