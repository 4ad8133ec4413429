#include "probes/collective/measurement.h"

#include <gtest/gtest.h>

namespace weft::probes {
namespace {

TEST(Measurement, BusFactorFollowsNcclTests) {
  const struct {
    Op op;
    int ranks;
    double factor;
  } cases[] = {
      {Op::all_reduce, 2, 1.0},       {Op::all_reduce, 16, 1.875}, {Op::all_gather, 4, 0.75},
      {Op::reduce_scatter, 8, 0.875}, {Op::broadcast, 8, 1.0},     {Op::sendrecv, 2, 1.0},
      {Op::all_reduce, 1, 0.0},       {Op::broadcast, 1, 0.0},     {Op::all_reduce, 0, 0.0},
  };
  for (const auto& c : cases)
    EXPECT_DOUBLE_EQ(bus_factor(c.op, c.ranks), c.factor) << to_string(c.op) << c.ranks;
}

TEST(Measurement, SummarisesSamplesInAnyOrder) {
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(median_of({3}), 3);
  EXPECT_EQ(median_of({9, 1, 5}), 5);
  EXPECT_EQ(median_of({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(quantile_of({5, 4, 3, 2, 1}, 0), 1);
  EXPECT_EQ(quantile_of({5, 4, 3, 2, 1}, 1), 5);
  EXPECT_DOUBLE_EQ(quantile_of({1, 2, 3, 4, 5}, 0.95), 4.8);
  EXPECT_EQ(quantile_of({1, 2}, 7), 2);
}

template <typename Enum>
void expect_names_come_back(std::optional<Enum> (*from_string)(std::string_view), int count) {
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    EXPECT_EQ(from_string(to_string(value)), value) << i;
  }
  EXPECT_EQ(from_string("nonsense"), std::nullopt);
  EXPECT_EQ(from_string(""), std::nullopt);
}

TEST(Measurement, NamesComeBackAsTheSameValue) {
  expect_names_come_back<Op>(op_from_string, 5);
  expect_names_come_back<Status>(status_from_string, 6);
  expect_names_come_back<Stage>(stage_from_string, 8);
}

}  // namespace
}  // namespace weft::probes
