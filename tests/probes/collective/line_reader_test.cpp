#include "probes/collective/line_reader.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::probes {
namespace {

using testing::ElementsAre;

std::vector<std::string> all_lines(LineReader& reader) {
  std::vector<std::string> lines;
  while (auto line = reader.next())
    lines.push_back(*line);
  return lines;
}

TEST(LineReader, CutsWhatItIsFedHoweverItComes) {
  const std::string text = "one\ntwo\r\n\nthree\nrest";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    LineReader reader(100);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < text.size(); i += piece) {
      reader.feed(text.substr(i, piece));
      for (std::string& line : all_lines(reader))
        lines.push_back(std::move(line));
    }
    EXPECT_THAT(lines, ElementsAre("one", "two", "", "three")) << "in pieces of " << piece;
    EXPECT_EQ(reader.unfinished(), "rest");
    EXPECT_FALSE(reader.overflowed());
  }
}

TEST(LineReader, ALineAtTheLimitIsReadOneBeyondItIsNot) {
  LineReader reader(4);
  reader.feed("1234\n12345\n1\n");
  EXPECT_THAT(all_lines(reader), ElementsAre("1234"));
  EXPECT_TRUE(reader.overflowed());
  reader.feed("more\n");
  EXPECT_EQ(reader.next(), std::nullopt) << "nothing after it is trusted";
}

TEST(LineReader, OverflowsBeforeTheLineHasEnded) {
  LineReader reader(4);
  reader.feed("12345");
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_TRUE(reader.overflowed());
}

}  // namespace
}  // namespace weft::probes
