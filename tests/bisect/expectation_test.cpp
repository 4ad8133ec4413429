#include "bisect/expectation.h"

#include <gtest/gtest.h>

namespace weft::bisect {
namespace {

constexpr Shape kPair{2, false};

TEST(Expectation, FastClusterIgnoresAThirdOfSlowPeers) {
  EXPECT_DOUBLE_EQ(fast_cluster_median({100, 101, 99, 60, 55, 100, 50, 98, 62}, 0.1), 100);
  EXPECT_DOUBLE_EQ(fast_cluster_median({}, 0.1), 0);
}

TEST(Expectation, HierarchicalShareFallsFromOneTowardsTheRailBound) {
  EXPECT_DOUBLE_EQ(hierarchical_share(2, 8), 1);
  EXPECT_NEAR(hierarchical_share(4, 8), 31.0 / 3 / 15, 1e-12);
  EXPECT_NEAR(hierarchical_share(100000, 8), 8.0 / 15, 1e-4);
  EXPECT_DOUBLE_EQ(hierarchical_share(64, 1), 1) << "one GPU a node is a flat ring";
}

TEST(Expectation, ASmallerGroupIsAtLeastAsFastAsALargerOne) {
  ExpectationModel model({.gpus_per_node = 8});
  model.learn({4, false}, {198, 198});
  model.learn(kPair, {96, 95});
  EXPECT_DOUBLE_EQ(*model.expected_gbps(kPair), 198);
}

TEST(Expectation, ALargerGroupMayFallByTheHierarchicalShareButNotInAFlatRing) {
  ExpectationModel::Options options{.gpus_per_node = 8};
  ExpectationModel hierarchical(options);
  hierarchical.learn(kPair, {200, 200});
  EXPECT_NEAR(*hierarchical.expected_gbps({64, false}), 200 * hierarchical_share(64, 8), 1e-9);
  options.scaling = probes::Scaling::flat_ring;
  ExpectationModel ring(options);
  ring.learn(kPair, {200, 200});
  EXPECT_DOUBLE_EQ(*ring.expected_gbps({64, false}), 200);
}

TEST(Expectation, NothingFollowsForAnotherSizeWhereRanksShareAMachine) {
  ExpectationModel model({.scaling = probes::Scaling::none});
  model.learn(kPair, {200, 200});
  EXPECT_DOUBLE_EQ(*model.expected_gbps(kPair), 200);
  EXPECT_FALSE(model.expected_gbps({8, false}));
}

TEST(Expectation, OneNodeAndOneRailAreScalesOfTheirOwn) {
  ExpectationModel model({});
  model.learn({1, false}, {480, 480});
  EXPECT_FALSE(model.expected_gbps(kPair));
  model.learn(kPair, {400, 400});
  EXPECT_FALSE(model.expected_gbps({2, true}));
}

TEST(Expectation, AFigureForTheWholeSetHoldsForItAndInAFlatRingForEveryGroupAndRail) {
  ExpectationModel model({.scaling = probes::Scaling::flat_ring,
                          .rails = 8,
                          .whole_nodes = 64,
                          .absolute = AbsoluteExpectation{400, Baseline::Source::flag}});
  EXPECT_DOUBLE_EQ(*model.expected_gbps({64, false}), 400);
  EXPECT_DOUBLE_EQ(*model.expected_gbps(kPair), 400);
  EXPECT_DOUBLE_EQ(*model.expected_gbps({2, true}), 50);
  EXPECT_FALSE(model.expected_gbps({1, false})) << "the fabric says nothing of one node alone";
}

}  // namespace
}  // namespace weft::bisect
