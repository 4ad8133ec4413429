#include "report/printable.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace weft::report {
namespace {

struct Row {
  std::string text;
  std::string expected;
};

const std::vector<Row> kRows = {
    {"", ""},
    {"gpu007 rail 3", "gpu007 rail 3"},
    {"naïve “x” 漢字 🙂", "naïve “x” 漢字 🙂"},
    {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
    {"\x1b[31mred\x1b[0m\x07", "\\x1b[31mred\\x1b[0m\\x07"},
    {std::string("a\0b", 3), "a\\x00b"},
    {"\x7f", "\\x7f"},
    {"\xc2\x9b"
     "31m",
     "\\xc2\\x9b31m"},  // C1: one-character CSI
    {"\u202Eevil\u2066", "\\xe2\\x80\\xaeevil\\xe2\\x81\\xa6"},
    {"\u2028", "\\xe2\\x80\\xa8"},
    {"\xff\xfe", "\\xff\\xfe"},
    {"\xc0\xaf", "\\xc0\\xaf"},                    // overlong
    {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // surrogate
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // past U+10FFFF
    {"cut \xe6\xbc", "cut \\xe6\\xbc"},
};

TEST(Printable, EscapesWhatDrivesATerminalAndNothingElse) {
  for (const Row& row : kRows)
    EXPECT_EQ(printable(row.text), row.expected);
}

TEST(Printable, OfAnythingIsPrintableAlready) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> byte(0, 255);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (int j = 0; j < 12; ++j)
      text += static_cast<char>(byte(random));
    const std::string once = printable(text);
    EXPECT_EQ(printable(once), once);
    for (const char c : once)
      EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f);
  }
}

TEST(Printable, ElidesByColumnsAndNeverInsideACharacter) {
  EXPECT_EQ(elided("gpu007", 6), "gpu007");
  EXPECT_EQ(elided("gpu007", 5), "gpu0…");
  EXPECT_EQ(elided("ääääää", 4), "äää…");
  EXPECT_EQ(elided("gpu007", 1), "…");
  EXPECT_EQ(elided("gpu007", 0), "");
  EXPECT_EQ(columns_of("äb…"), 3U);
}

}  // namespace
}  // namespace weft::report
