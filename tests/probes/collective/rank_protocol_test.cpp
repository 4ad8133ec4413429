#include "probes/collective/rank_protocol.h"

#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/collective/gloo/pattern.h"

namespace weft::probes {
namespace {

using testing::HasSubstr;

TEST(RankProtocol, MessagesSurviveTheWire) {
  const RankMessage messages[] = {
      RankStage{Stage::init},
      RankPost{"aa", {"", "0f"}},
      RankProgress{Stage::run, 17},
      RankResult{{0.1, 1e-9, 3}, 2, "element 1 is nan instead of 3"},
      RankError{Stage::rendezvous, RankError::Kind::refused, "not enough memory"},
      RankError{Stage::run, RankError::Kind::local, ""},
      RankError{Stage::run, RankError::Kind::peer, "Connection closed by peer"},
  };
  for (const RankMessage& message : messages) {
    const auto parsed = parse_rank_message(format(message));
    ASSERT_TRUE(std::holds_alternative<RankMessage>(parsed)) << format(message);
    EXPECT_EQ(std::get<RankMessage>(parsed), message) << format(message);
  }
}

TEST(RankProtocol, LinesThatAreNoMessageSayWhy) {
  const struct {
    std::string line;
    std::string reason;
  } cases[] = {
      {"NCCL version 2.28.9", "not JSON"},
      {R"({"type":"result","iteration_s":[NaN],"wrong_values":0,"first_wrong":""})", "not JSON"},
      {R"({"type":"result","iteration_s":[1e7],"wrong_values":0,"first_wrong":""})", "'iteration_s' has an element"},
      {R"({"type":"result","iteration_s":[1],"wrong_values":-1,"first_wrong":""})", "'wrong_values' is not an integer"},
      {R"({"type":"post","shared":"a","each":[]})", "not hexadecimal"},
      {R"({"type":"post","shared":"","each":["AA"]})", "not hexadecimal"},
      {R"({"type":"post","shared":"","each":"aa"})", "'each' is not an array"},
      {R"({"type":"error","stage":"run","kind":"odd","what":""})", "'kind' is not a known kind"},
      {R"({"type":"progress","stage":"run","iteration":1e3})", "'iteration' is not an integer"},
  };
  for (const auto& [line, reason] : cases) {
    const auto parsed = parse_rank_message(line);
    ASSERT_TRUE(std::holds_alternative<Malformed>(parsed)) << line;
    EXPECT_THAT(std::get<Malformed>(parsed).reason, HasSubstr(reason));
  }
}

TEST(RankProtocol, ALongErrorIsCutSoThatItCanBeRead) {
  const RankMessage long_error = RankError{Stage::run, RankError::Kind::local, std::string(100'000, '\xff')};
  EXPECT_TRUE(std::holds_alternative<RankMessage>(parse_rank_message(format(long_error))));
}

TEST(RankProtocol, HexadecimalThereAndBack) {
  const std::string bytes("\0\x0f\xff weft", 8);
  EXPECT_EQ(to_hex(bytes), "000fff2077656674");
  EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
  EXPECT_EQ(from_hex(""), "");
  for (const char* wrong : {"0", "0g", "0F", "0x"})
    EXPECT_EQ(from_hex(wrong), std::nullopt) << wrong;
}

TEST(RankProtocol, MovedBytesAreWholeFloatsForEachRank) {
  EXPECT_EQ(moved_bytes(Op::all_reduce, 4096, 3), 4096U);
  EXPECT_EQ(moved_bytes(Op::all_reduce, 4099, 3), 4096U);
  EXPECT_EQ(moved_bytes(Op::all_gather, 4096, 3), 4092U);
  EXPECT_EQ(moved_bytes(Op::reduce_scatter, 11, 3), 0U);
  EXPECT_EQ(moved_bytes(Op::reduce_scatter, 12, 3), 12U);
  EXPECT_EQ(moved_bytes(Op::broadcast, 3, 8), 0U);
}

TEST(SumPattern, ShowsAnyOneContributionThatIsMissingDoubledOrReplaced) {
  constexpr int kRanks = 9;
  for (std::size_t index = 0; index < 2 * kPatternLength; ++index) {
    const float sum = sum_of_contributions(kRanks, index, 3);
    float added = 0;
    for (int rank = 0; rank < kRanks; ++rank)
      added += contribution(rank, index, 3);
    ASSERT_EQ(added, sum);
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSERT_NE(sum - contribution(rank, index, 3), sum);
      ASSERT_NE(sum + contribution(rank, index, 3), sum);
      ASSERT_NE(sum - contribution(rank, index, 3) + contribution((rank + 1) % kRanks, index, 3), sum);
    }
    ASSERT_NE(sum, sum_of_contributions(kRanks, index + 1, 3)) << "moved by one";
    ASSERT_NE(sum, sum_of_contributions(kRanks, index, 2)) << "left over from the iteration before";
  }
}

TEST(SumPattern, IsExactInAFloatForTheMostRanks) {
  constexpr float kExact = 1 << 24;
  EXPECT_LE(sum_of_contributions(kMaxRanks, kPatternLength - 1, 0), kExact);
}

}  // namespace
}  // namespace weft::probes
