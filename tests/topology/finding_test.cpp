#include "topology/finding.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Finding, SeveritiesHaveStableNames) {
  EXPECT_STREQ(to_string(Severity::note), "note");
  EXPECT_STREQ(to_string(Severity::minor), "minor");
  EXPECT_STREQ(to_string(Severity::major), "major");
  EXPECT_STREQ(to_string(Severity::critical), "critical");
}

TEST(Finding, SeveritiesAreOrdered) {
  EXPECT_LT(Severity::note, Severity::minor);
  EXPECT_LT(Severity::minor, Severity::major);
  EXPECT_LT(Severity::major, Severity::critical);
}

TEST(Finding, ComparesByValue) {
  Finding a;
  a.kind = "slow-node";
  a.evidence = {{"gpu007", "busbw 57 GB/s"}};
  Finding b = a;
  EXPECT_EQ(a, b);
  b.evidence[0].what = "busbw 58 GB/s";
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace weft
