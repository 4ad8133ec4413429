#include "topology/decimal.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace weft::topology::decimal {
namespace {

TEST(Decimal, KnowsPaddingFromTheNumberZero) {
  EXPECT_FALSE(is_padded("0"));
  EXPECT_FALSE(is_padded("10"));
  EXPECT_TRUE(is_padded("00"));
  EXPECT_TRUE(is_padded("08"));
}

TEST(Decimal, SubtractsNumbersOfAnyLengthAndClamps) {
  struct Case {
    std::string low, high;
    std::int64_t limit, expected;
  };
  const Case cases[] = {
      {"0", "0", 10, 0},
      {"8", "11", 10, 3},
      {"08", "11", 10, 3},
      {"11", "8", 10, -1},
      {"1", "12", 10, 10},
      {"1", "11", 10, 10},
      {"1", "2", 1, 1},
      {"1", "9", 1, 1},
      {"9223372036854775807", "9223372036854775807", 10, 0},
      {"0", "9223372036854775807", 1'000'000, 1'000'000},
      {"99999999999999999999999999", "100000000000000000000000000", 10, 1},
      {"199999999999999999999999999", "200000000000000000000000003", 10, 4},
      {"200000000000000000000000000", "199999999999999999999999999", 10, -1},
      {"0", "99999999999999999999", 100'000'000'000'000'000, 100'000'000'000'000'000},
  };
  for (const Case& c : cases)
    EXPECT_EQ(difference(c.low, c.high, c.limit), c.expected) << c.low << " " << c.high;
}

TEST(Decimal, AddsAndKeepsTheWidthWhileItLasts) {
  struct Case {
    std::string digits;
    std::uint64_t amount;
    std::string expected;
  };
  const Case cases[] = {
      {"0", 0, "0"},
      {"0", 1, "1"},
      {"007", 1, "008"},
      {"099", 1, "100"},
      {"999", 1, "1000"},
      {"8", 2, "10"},
      {"9", 991, "1000"},
      {"18446744073709551615", 1, "18446744073709551616"},
      {"1", 999'999'999, "1000000000"},
  };
  for (const Case& c : cases) {
    std::string digits = c.digits;
    add(digits, c.amount);
    EXPECT_EQ(digits, c.expected) << c.digits << " + " << c.amount;
  }
}

}  // namespace
}  // namespace weft::topology::decimal
