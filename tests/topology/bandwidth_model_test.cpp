#include "topology/bandwidth_model.h"

#include <gtest/gtest.h>

#include "topology/error.h"
#include "topology/hostlist.h"
#include "topology/platform.h"

namespace weft::topology {
namespace {

/// Eight 400 Gbit/s rails a node, as in an H100 cluster.
Fabric fabric(const std::string& link = "link: {type: infiniband, speed: 400}\n") {
  return parse_fabric("rails: 8\ngpus_per_node: 8\n" + link +
                          "units:\n  - {name: su1, nodes: \"n[01-32]\"}\n  - {name: su2, nodes: \"n[33-64]\"}\n"
                          "spines: {nodes: \"s[1-4]\", links_per_leaf: 4}\n",
                      "fabric.yaml");
}

double bound(const std::string& nodes, CollectiveAlgorithm algorithm) {
  return model_all_reduce(fabric(), expand_hostlist(nodes), algorithm, std::nullopt).limit().busbw_gbps;
}

TEST(BandwidthModel, AFlatRingReachesTheSumOfANodesRailsAtAnySize) {
  EXPECT_DOUBLE_EQ(bound("n[01-02]", CollectiveAlgorithm::flat_ring), 400);
  EXPECT_DOUBLE_EQ(bound("n[01-64]", CollectiveAlgorithm::flat_ring), 400);
}

TEST(BandwidthModel, AHierarchicalAllReduceOfTwoNodesExceedsTheWireAndFallsTowardsIt) {
  EXPECT_DOUBLE_EQ(bound("n[01-02]", CollectiveAlgorithm::hierarchical), 50 * 15);
  EXPECT_NEAR(bound("n[01-04]", CollectiveAlgorithm::hierarchical), 50 * 10.33, 0.5);
  EXPECT_NEAR(bound("n[01-64]", CollectiveAlgorithm::hierarchical), 50 * 8.11, 0.5);
}

TEST(BandwidthModel, NvlinkCapsWhatTheFabricCould) {
  const BandwidthModel model =
      model_all_reduce(fabric(), expand_hostlist("n[01-02]"), CollectiveAlgorithm::hierarchical, 480);
  EXPECT_EQ(model.limit().stage, BandwidthBound::Stage::nvlink);
  EXPECT_DOUBLE_EQ(model.limit().busbw_gbps, 480);
  ASSERT_EQ(model.bounds.size(), 2U);
  EXPECT_DOUBLE_EQ(model.bounds[1].busbw_gbps, 750);
}

TEST(BandwidthModel, OneGpuANodeIsAFlatRing) {
  for (std::size_t nodes : {std::size_t{2}, std::size_t{3}, std::size_t{64}, std::size_t{16384}})
    EXPECT_DOUBLE_EQ(hierarchical_factor(nodes, 1), 1) << nodes;
  EXPECT_DOUBLE_EQ(hierarchical_factor(2, 8), 15.0 / 8);
  EXPECT_DOUBLE_EQ(hierarchical_factor(4, 8), 31.0 / 24);
}

TEST(BandwidthModel, ARingInUnitOrderLeavesEachUnitOnce) {
  const BandwidthModel inside =
      model_all_reduce(fabric(), expand_hostlist("n[01-32]"), CollectiveAlgorithm::flat_ring, {});
  EXPECT_EQ(inside.units, 1);
  EXPECT_FALSE(inside.crossing);
  const BandwidthModel across =
      model_all_reduce(fabric(), expand_hostlist("n[01-64]"), CollectiveAlgorithm::flat_ring, {});
  EXPECT_EQ(across.units, 2);
  EXPECT_EQ(across.limit().stage, BandwidthBound::Stage::nics) << "16 uplinks for the one ring of a rail";
  ASSERT_TRUE(across.crossing);
  EXPECT_EQ(across.crossing->units, 2);
  EXPECT_DOUBLE_EQ(across.crossing->oversubscription, 2) << "32 nodes to 16 uplinks";
  EXPECT_DOUBLE_EQ(across.crossing->worst_order_busbw_gbps, 200) << "32 rings through 16 uplinks";
}

TEST(BandwidthModel, TheWorstOrderLeavesAUnitAsOftenAsThereAreNodesElsewhere) {
  const auto worst_of = [](const std::string& nodes) {
    return model_all_reduce(fabric(), expand_hostlist(nodes), CollectiveAlgorithm::flat_ring, {})
        .crossing->worst_order_busbw_gbps;
  };
  EXPECT_DOUBLE_EQ(worst_of("n[01-16,33-48]"), 400) << "16 nodes, 16 uplinks";
  EXPECT_DOUBLE_EQ(worst_of("n[01-32,33-34]"), 400) << "two nodes elsewhere take it out of the unit twice";
  EXPECT_DOUBLE_EQ(worst_of("n[01-32,33-56]"), 400.0 * 16 / 24);
}

/// Two racks of four nodes with so many rails, all of them on the rack's only switch.
Fabric racks(int rails, int links_per_leaf) {
  return parse_fabric("rails: " + std::to_string(rails) +
                          "\ngpus_per_node: 4\nlink: {type: roce, speed: 200}\nunits:\n"
                          "  - {name: r1, nodes: \"n[1-4]\", leaves: tor1}\n"
                          "  - {name: r2, nodes: \"n[5-8]\", leaves: tor2}\n"
                          "spines: {nodes: s1, links_per_leaf: " +
                          std::to_string(links_per_leaf) + "}\n",
                      "racks.yaml");
}

TEST(BandwidthModel, RailsThatShareASwitchShareItsUplinks) {
  const struct {
    int rails, uplinks;
    double nics_gbps, uplinks_gbps;
  } cases[] = {{4, 1, 100, 25}, {4, 2, 100, 50}, {4, 4, 100, 100}, {4, 8, 100, 200}, {1, 1, 25, 25}};
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.rails << " rails, " << c.uplinks << " uplinks");
    const BandwidthModel model =
        model_all_reduce(racks(c.rails, c.uplinks), expand_hostlist("n[1-8]"), CollectiveAlgorithm::flat_ring, {});
    ASSERT_EQ(model.bounds.size(), 2U);
    const bool uplinks_limit = c.uplinks_gbps < c.nics_gbps;
    EXPECT_EQ(model.limit().stage, uplinks_limit ? BandwidthBound::Stage::uplinks : BandwidthBound::Stage::nics);
    EXPECT_DOUBLE_EQ(model.bounds[uplinks_limit ? 0 : 1].busbw_gbps, c.uplinks_gbps);
    EXPECT_DOUBLE_EQ(model.bounds[uplinks_limit ? 1 : 0].busbw_gbps, c.nics_gbps);
    EXPECT_DOUBLE_EQ(model.crossing->oversubscription, 4.0 * c.rails / c.uplinks);
  }
  const BandwidthModel inside =
      model_all_reduce(racks(4, 1), expand_hostlist("n[1-4]"), CollectiveAlgorithm::flat_ring, {});
  EXPECT_DOUBLE_EQ(inside.limit().busbw_gbps, 100) << "the switch itself does not block";
}

TEST(BandwidthModel, UplinksBoundAHierarchicalAllReduceInItsOwnMeasure) {
  const BandwidthModel model =
      model_all_reduce(racks(4, 2), expand_hostlist("n[1-8]"), CollectiveAlgorithm::hierarchical, {});
  EXPECT_EQ(model.limit().stage, BandwidthBound::Stage::uplinks);
  EXPECT_NEAR(model.limit().busbw_gbps, 50 * 31.0 / 28, 1e-9);
}

TEST(BandwidthModel, SaysNothingOfUplinksThatAreNotDeclared) {
  const Fabric unknown =
      parse_fabric("link: {type: roce, speed: 200}\nunits: [{name: a, nodes: n1}, {name: b, nodes: n2}]\n", "f.yaml");
  const BandwidthModel model = model_all_reduce(unknown, {"n1", "n2"}, CollectiveAlgorithm::flat_ring, {});
  EXPECT_EQ(model.units, 2);
  EXPECT_FALSE(model.crossing);
  EXPECT_EQ(model.bounds.size(), 1U);
}

TEST(BandwidthModel, OneNodeAloneDoesNotUseTheFabric) {
  EXPECT_THROW(model_all_reduce(fabric(), {"n01"}, CollectiveAlgorithm::flat_ring, std::nullopt), InputError);
  EXPECT_DOUBLE_EQ(model_all_reduce(fabric(), {"n01"}, CollectiveAlgorithm::flat_ring, 480).limit().busbw_gbps, 480);
}

ErrorDetail error_of(const Fabric& fabric, const std::vector<std::string>& nodes) {
  try {
    model_all_reduce(fabric, nodes, CollectiveAlgorithm::flat_ring, std::nullopt);
  } catch (const InputError& error) {
    return error.detail();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

TEST(BandwidthModel, NeedsTheSpeedOfARail) {
  const ErrorDetail without = error_of(fabric(""), {"n01", "n02"});
  EXPECT_EQ(without.where, "fabric.yaml");
  EXPECT_NE(without.expected.find("link: {type: infiniband, speed: 400}"), std::string::npos);
  EXPECT_EQ(error_of(undeclared_fabric({"n1", "n2"}), {"n1", "n2"}).where, "--fabric");
  EXPECT_EQ(error_of(fabric(), {}).what, "no nodes are named");
  EXPECT_NE(error_of(fabric(), {"n01"}).next_step.find("--platform"), std::string::npos);
}

TEST(Platform, HasTheFiguresOfItsNodes) {
  EXPECT_DOUBLE_EQ(platform_named("a100", "--platform").inside_node_gbps(), 235);
  EXPECT_DOUBLE_EQ(platform_named("h100", "--platform").inside_node_gbps(), 480) << "above its wire, by NVLS";
  EXPECT_DOUBLE_EQ(platform_named("b200", "--platform").inside_node_gbps(), 900) << "the wire, where nothing is known";
  for (const Platform& platform : platforms())
    EXPECT_EQ(&platform_named(platform.name, "--platform"), &platform);
}

TEST(Platform, RefusesAnUnknownNameWithTheNearest) {
  try {
    platform_named("h10", "--platform");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.detail().where, "--platform");
    EXPECT_EQ(error.detail().expected, "one of a100, h100, h200, b200");
    EXPECT_EQ(error.detail().next_step, "did you mean h100?");
  }
}

}  // namespace
}  // namespace weft::topology
