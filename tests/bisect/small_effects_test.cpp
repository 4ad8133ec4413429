#include "bisect/small_effects.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "topology/hostlist.h"

namespace weft::bisect {
namespace {

probes::Measurement trial(std::vector<std::string> nodes, double busbw_gbps) {
  probes::Measurement measurement;
  measurement.group.nodes = std::move(nodes);
  measurement.status = probes::Status::ok;
  measurement.busbw_gbps = busbw_gbps;
  return measurement;
}

TEST(SmallEffects, RanksTheNodeThatCostsAThirdOfAPerCentFirst) {
  const std::pair<const char*, double> rows[] = {
      {"n01 n03 n04 n08", 479.89}, {"n01 n03 n04 n05", 478.57}, {"n01 n02 n05 n06", 478.28},
      {"n01 n02 n03 n08", 480.33}, {"n02 n03 n05 n07", 478.67}, {"n01 n03 n05 n06", 478.74},
      {"n02 n05 n06 n07", 478.56}, {"n01 n03 n05 n08", 478.76}, {"n02 n05 n07 n08", 478.27},
      {"n02 n04 n06 n07", 480.17}, {"n01 n03 n05 n06", 478.9},  {"n04 n05 n07 n08", 478.66},
      {"n02 n06 n07 n08", 480.51}, {"n02 n03 n07 n08", 480.22}, {"n03 n05 n06 n07", 478.45},
      {"n01 n02 n06 n07", 479.88}};
  std::vector<probes::Measurement> measurements;
  for (const auto& [nodes, busbw] : rows)
    measurements.push_back(trial(topology::expand_hostlist(nodes), busbw));
  const SmallEffects effects = small_effects(measurements);
  ASSERT_EQ(effects.selected.size(), 1U);
  const NodeEffect& n05 = effects.selected.front();
  EXPECT_EQ(n05.node, "n05");
  EXPECT_NEAR(n05.effect_gbps, -1.6, 0.05);
  EXPECT_NEAR(n05.relative, -0.0033, 0.0001);
  EXPECT_EQ(n05.with + n05.without, 16);
  EXPECT_GT(n05.confidence, 0.999);
  for (const NodeEffect& other : effects.others)
    EXPECT_LT(std::abs(other.t), 2) << other.node;
}

TEST(SmallEffects, FindsTwoNodesAmongRandomSubsetsAndNobodyAmongHealthyOnes) {
  const auto nodes = topology::expand_hostlist("n[01-16]");
  int false_alarms = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 0.4);
    std::vector<probes::Measurement> faulty;
    std::vector<probes::Measurement> healthy;
    for (int i = 0; i < 120; ++i) {
      auto subset = nodes;
      std::shuffle(subset.begin(), subset.end(), random);
      subset.resize(4);
      const double error = noise(random);
      double busbw = 480 + error;
      for (const std::string& node : subset)
        busbw -= node == "n03" ? 2.0 : node == "n11" ? 1.2 : 0;
      faulty.push_back(trial(subset, busbw));
      healthy.push_back(trial(subset, 480 + error));
    }
    const SmallEffects effects = small_effects(faulty);
    std::vector<std::string> found;
    for (const NodeEffect& effect : effects.selected)
      found.push_back(effect.node);
    std::sort(found.begin(), found.end());
    EXPECT_GE(found.size(), 2U);
    EXPECT_TRUE(std::find(found.begin(), found.end(), "n03") != found.end());
    EXPECT_TRUE(std::find(found.begin(), found.end(), "n11") != found.end());
    false_alarms += !small_effects(healthy).selected.empty();
  }
  EXPECT_LE(false_alarms, 4) << "of 100 healthy fabrics, at 99 % confidence";
}

TEST(SmallEffects, NothingToCompareGivesNothing) {
  EXPECT_TRUE(small_effects({}).selected.empty());
  const std::vector<probes::Measurement> one = {trial({"a", "b"}, 100)};
  EXPECT_TRUE(small_effects(one).selected.empty());
}

}  // namespace
}  // namespace weft::bisect
