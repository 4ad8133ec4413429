#include "topology/bandwidth_model.h"

#include <gtest/gtest.h>

#include "topology/error.h"
#include "topology/hostlist.h"

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

TEST(BandwidthModel, KnowsCrossingsAndOversubscription) {
  const BandwidthModel inside =
      model_all_reduce(fabric(), expand_hostlist("n[01-32]"), CollectiveAlgorithm::flat_ring, {});
  EXPECT_EQ(inside.crossings, 0);
  EXPECT_FALSE(inside.oversubscription);
  const BandwidthModel across =
      model_all_reduce(fabric(), expand_hostlist("n[01-64]"), CollectiveAlgorithm::flat_ring, {});
  EXPECT_EQ(across.crossings, 2);
  EXPECT_DOUBLE_EQ(*across.oversubscription, 2) << "32 nodes to 16 uplinks";
}

TEST(BandwidthModel, OneNodeAloneDoesNotUseTheFabric) {
  EXPECT_THROW(model_all_reduce(fabric(), {"n01"}, CollectiveAlgorithm::flat_ring, std::nullopt), InputError);
  EXPECT_DOUBLE_EQ(model_all_reduce(fabric(), {"n01"}, CollectiveAlgorithm::flat_ring, 480).limit().busbw_gbps, 480);
}

TEST(BandwidthModel, NeedsTheSpeedOfARail) {
  EXPECT_THROW(model_all_reduce(fabric(""), expand_hostlist("n[01-02]"), CollectiveAlgorithm::flat_ring, {}),
               InputError);
  EXPECT_THROW(model_all_reduce(fabric(), {}, CollectiveAlgorithm::flat_ring, {}), InputError);
}

}  // namespace
}  // namespace weft::topology
