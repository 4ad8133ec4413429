#include "topology/error.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Error, MessageSaysWhereWhatExpectedAndNextStep) {
  const InputError error({"unknown key \"rail\"", "fabric.yaml:3:1", "one of rails, units", "did you mean \"rails\"?"});
  EXPECT_STREQ(error.what(),
               "fabric.yaml:3:1: unknown key \"rail\"; expected one of rails, units; did you mean \"rails\"?");
  EXPECT_EQ(error.detail().where, "fabric.yaml:3:1");
}

TEST(Error, MessageLeavesOutWhatIsEmpty) {
  EXPECT_STREQ(RunError({"no node answered", "", "", ""}).what(), "no node answered");
  EXPECT_STREQ(RunError({"no node answered", "", "", "check the network"}).what(),
               "no node answered; check the network");
}

TEST(Error, InputAndRunErrorsAreToldApart) {
  EXPECT_THROW(throw InputError({"x", "", "", ""}), Error);
  try {
    throw RunError({"x", "", "", ""});
  } catch (const InputError&) {
    FAIL() << "a RunError is no InputError";
  } catch (const Error&) {
  }
}

TEST(Error, QuotesWhatATerminalMustNotGet) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {"gpu007", "\"gpu007\""},
      {"", "\"\""},
      {"a\tb\r\n", R"("a\tb\r\n")"},
      {"\x1b[31m", R"("\x1b[31m")"},
      {std::string("\0\x7f\xff", 3), R"("\x00\x7f\xff")"},
      {R"(say "x" \ y)", R"("say \"x\" \\ y")"},
      {std::string(60, 'x'), "\"" + std::string(60, 'x') + "\""},
      {std::string(61, 'x'), "\"" + std::string(60, 'x') + "…\""},
  };
  for (const auto& c : cases)
    EXPECT_EQ(in_quotes(c.text), c.expected);
}

TEST(Error, EditDistanceCountsInsertionsDeletionsAndSubstitutions) {
  const struct {
    std::string a, b;
    std::size_t limit, expected;
  } cases[] = {
      {"", "", 5, 0},           {"rails", "rails", 0, 0},    {"rail", "rails", 5, 1},
      {"raisl", "rails", 5, 2}, {"kitten", "sitting", 5, 3}, {"", "abc", 5, 3},
      {"abc", "", 5, 3},        {"kitten", "sitting", 2, 3},  // given up: limit + 1
      {"a", "abcdefgh", 3, 4},                                // lengths alone exceed the limit
  };
  for (const auto& c : cases)
    EXPECT_EQ(edit_distance(c.a, c.b, c.limit), c.expected) << c.a << " " << c.b;
}

TEST(Error, NearestNameFindsASlipAndNothingFarAway) {
  const std::vector<std::string> known = {"fabric", "rails", "gpus_per_node", "threshold_type"};
  const struct {
    std::string name, expected;
  } cases[] = {
      {"rail", "rails"},  {"raisl", "rails"},  {"gpu_per_node", "gpus_per_node"}, {"thresold_type", "threshold_type"},
      {"rails", "rails"}, {"gpu_of_rail", ""}, {"completely_different", ""},      {"", ""},
  };
  for (const auto& c : cases)
    EXPECT_EQ(nearest_name(c.name, known), c.expected) << c.name;
}

TEST(Error, NearestNameTakesTheFirstOfEquallyNear) {
  EXPECT_EQ(nearest_name("gpu07", std::vector<std::string>{"gpu01", "gpu17", "gpu08"}), "gpu01");
  EXPECT_EQ(nearest_name("gpu07", std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace weft
