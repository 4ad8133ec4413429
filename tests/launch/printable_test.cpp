#include "launch/printable.h"

#include <string>

#include <gtest/gtest.h>

namespace weft::launch {
namespace {

TEST(Printable, EscapesEverythingButPrintableAscii) {
  const struct {
    std::string text;
    std::string expected;
  } cases[] = {
      {"plain text", "plain text"},
      {"two\nlines\tand\ra tab", "two\\nlines\\tand\\x0da tab"},
      {"\033[31mred\033[0m", "\\x1b[31mred\\x1b[0m"},
      {std::string("nul\0", 4), "nul\\x00"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b", "\\xc2\\x9b"},  // CSI as one character of its own
      {"", ""},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(printable(text), expected);
}

TEST(Printable, CutsWhatIsTooLong) {
  EXPECT_EQ(printable("abcdef", 3), "abc…");
  EXPECT_EQ(printable("abc", 3), "abc");
}

TEST(LastWords, AreTheLastLinesThatSaySomething) {
  const struct {
    std::string output;
    std::string expected;
  } cases[] = {
      {"", ""},
      {"\n \n\t\n", ""},
      {"one", "one"},
      {"one\n", "one"},
      {"one\ntwo\n\nthree\nfour\n", "two | three | four"},
      {"  indented \r\n", "indented"},
      {"\033[2J\n", "\\x1b[2J"},
  };
  for (const auto& [output, expected] : cases)
    EXPECT_EQ(last_words(output), expected);
}

}  // namespace
}  // namespace weft::launch
