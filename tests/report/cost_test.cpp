#include "report/cost.h"

#include <gtest/gtest.h>

#include "tests/report/sample_runs.h"

namespace weft::report {
namespace {

TEST(Cost, IsWhatTheWholeSetLosesAgainstTheRest) {
  bisect::RunResult run = degraded_run();
  run.verdict.whole_gbps = 152;
  run.verdict.rest_gbps = 370;
  const auto cost = cost_of(run);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->kind, Cost::Kind::slow);
  EXPECT_EQ(cost->nodes, 64);
  EXPECT_EQ(cost->gpus, 512);
  EXPECT_DOUBLE_EQ(cost->speed, 152.0 / 370);
  EXPECT_DOUBLE_EQ(cost->lost_gpu_hours_per_hour, (1 - 152.0 / 370) * 512);
}

TEST(Cost, FallsBackToTheWorstCulprit) {
  bisect::RunResult run = degraded_run();
  run.verdict.rest_gbps.reset();
  run.verdict.culprits.push_back(slow_node("gpu008"));
  run.verdict.culprits.back().slowdown = 4;
  EXPECT_DOUBLE_EQ(cost_of(run)->speed, 0.25);
}

TEST(Cost, IsNotMadeUp) {
  EXPECT_FALSE(cost_of(healthy_run()));
  EXPECT_FALSE(cost_of(inconclusive_run()));
  bisect::RunResult run = degraded_run();
  run.verdict.rest_gbps = 100;  // the rest is slower than the whole: says nothing
  run.verdict.culprits[0].slowdown.reset();
  EXPECT_FALSE(cost_of(run));
}

TEST(Cost, OfANodeThatStopsOrCorruptsTheJobIsAllOfIt) {
  bisect::RunResult run = degraded_run();
  run.verdict.culprits[0].kind = bisect::CulpritKind::corrupt;
  EXPECT_EQ(cost_of(run)->kind, Cost::Kind::wrong);
  run.verdict.culprits.push_back(slow_node("gpu008"));
  run.verdict.culprits.back().kind = bisect::CulpritKind::hang;
  EXPECT_EQ(cost_of(run)->kind, Cost::Kind::stops);
  EXPECT_EQ(cost_of(run)->lost_gpu_hours_per_hour, 512);
}

}  // namespace
}  // namespace weft::report
