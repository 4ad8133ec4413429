#include "report/units.h"

#include <cmath>

#include <gtest/gtest.h>

namespace weft::report {
namespace {

TEST(Units, BandwidthHasThreeSignificantDigits) {
  const std::pair<double, const char*> rows[] = {
      {372, "372 GB/s"},     {371.96, "372 GB/s"},   {99.96, "100 GB/s"},    {46.44, "46.4 GB/s"},
      {9.996, "10.0 GB/s"},  {1, "1.00 GB/s"},       {0.9996, "1.00 GB/s"},  {0.9, "900 MB/s"},
      {0.0248, "24.8 MB/s"}, {0.00248, "2.48 MB/s"}, {0.000248, "248 kB/s"}, {0, "0 GB/s"},
      {12345, "12345 GB/s"}, {std::nan(""), "-"},
  };
  for (const auto& [gbps, expected] : rows)
    EXPECT_EQ(format_bandwidth(gbps), expected) << gbps;
  EXPECT_EQ(format_bandwidth(std::optional<double>()), "-");
}

TEST(Units, AmountsHaveNoExponent) {
  EXPECT_EQ(format_amount(1904.2), "1904");
  EXPECT_EQ(format_amount(302.4), "302");
  EXPECT_EQ(format_amount(0.6), "0.60");
}

TEST(Units, Seconds) {
  const std::pair<double, const char*> rows[] = {
      {0.42, "0.42 s"},   {4.1, "4.10 s"},     {38.24, "38.2 s"}, {59.96, "1 min 0 s"},
      {125, "2 min 5 s"}, {3780, "1 h 3 min"}, {HUGE_VAL, "-"},
  };
  for (const auto& [seconds, expected] : rows)
    EXPECT_EQ(format_seconds(seconds), expected) << seconds;
}

TEST(Units, BytesAreExact) {
  const std::pair<std::uint64_t, const char*> rows[] = {
      {0, "0 bytes"},
      {1000, "1000 bytes"},
      {1024, "1 KiB"},
      {64 << 20, "64 MiB"},
      {1610612736, "1.5 GiB"},
      {(64 << 20) + 1, "67108865 bytes"},
      {std::uint64_t{1} << 50, "1024 TiB"},
  };
  for (const auto& [bytes, expected] : rows)
    EXPECT_EQ(format_bytes(bytes), expected);
}

TEST(Units, PercentIsNeverRoundedToCertainty) {
  const std::pair<double, const char*> rows[] = {
      {0, "0 %"}, {0.001, "< 1 %"}, {0.41, "41 %"}, {0.99, "99 %"}, {0.999, "> 99 %"}, {1, "100 %"},
  };
  for (const auto& [share, expected] : rows)
    EXPECT_EQ(format_percent(share), expected) << share;
}

TEST(Units, Times) {
  const std::pair<double, const char*> rows[] = {
      {2.447, "2.4 times"}, {1.04, "1.04 times"}, {1.003, "1 times"}, {25.2, "25 times"}};
  for (const auto& [factor, expected] : rows)
    EXPECT_EQ(format_times(factor), expected) << factor;
}

TEST(Units, Counts) {
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(0, "node"), "0 nodes");
  EXPECT_EQ(counted(64, "GPU"), "64 GPUs");
}

}  // namespace
}  // namespace weft::report
