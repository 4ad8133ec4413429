#include "bisect/combination.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace weft::bisect {
namespace {

using Nodes = std::vector<NodeIndex>;
using Rule = std::function<bool(const Nodes&)>;

bool has(const Nodes& nodes, NodeIndex node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

struct Outcome {
  std::optional<CombinationSearch::Conclusion> conclusion;
  int rounds = 0;
  int questions = 0;
};

/// Answers every question by the rule, a slow set counting as repeated, until the search concludes.
Outcome search(std::size_t count, const Rule& slow, bool by_halves) {
  Nodes all(count);
  for (NodeIndex i = 0; i < count; ++i)
    all[i] = i;
  std::map<Nodes, bool> answers{{all, true}};
  const auto oracle = [&](const Nodes& members) {
    for (const auto& [known, is_slow] : answers) {
      if (!is_slow && std::includes(known.begin(), known.end(), members.begin(), members.end())) {
        return CombinationSearch::Answer::well;
      }
      if (is_slow && std::includes(members.begin(), members.end(), known.begin(), known.end())) {
        return CombinationSearch::Answer::slow;
      }
    }
    return CombinationSearch::Answer::unknown;
  };
  const CombinationSearch combination(
      all, oracle, {.by_halves = by_halves, .at_once = [](const Nodes&, const Nodes&) { return true; }});
  Outcome outcome;
  while (outcome.rounds < 200) {
    const CombinationSearch::Step step = combination.next();
    if (step.ask.empty()) {
      outcome.conclusion = step.conclusion;
      return outcome;
    }
    ++outcome.rounds;
    for (const Nodes& members : step.ask) {
      ++outcome.questions;
      answers[members] = slow(members);
    }
  }
  return outcome;
}

class EveryWay : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Combination, EveryWay, testing::Bool(),
                         [](const auto& way) { return way.param ? "ByHalves" : "ByPrefixes"; });

TEST_P(EveryWay, FindsEveryPairOfThirteen) {
  for (NodeIndex a = 0; a < 13; ++a) {
    for (NodeIndex b = a + 1; b < 13; ++b) {
      const Outcome outcome = search(
          13, [&](const Nodes& nodes) { return has(nodes, a) && has(nodes, b); }, GetParam());
      ASSERT_TRUE(outcome.conclusion) << a << " " << b;
      EXPECT_EQ(outcome.conclusion->together, (Nodes{a, b}));
      EXPECT_FALSE(outcome.conclusion->min_nodes);
    }
  }
}

TEST_P(EveryWay, FindsEverySizeOfThirteen) {
  for (std::size_t size = 3; size <= 13; ++size) {
    const Outcome outcome = search(
        13, [&](const Nodes& nodes) { return nodes.size() >= size; }, GetParam());
    ASSERT_TRUE(outcome.conclusion) << size;
    EXPECT_EQ(outcome.conclusion->min_nodes, size);
    EXPECT_TRUE(outcome.conclusion->together.empty()) << size;
  }
}

TEST_P(EveryWay, FindsANodeThatNeedsEnoughOthers) {
  for (NodeIndex node = 0; node < 20; ++node) {
    for (std::size_t size = 3; size <= 11; ++size) {
      const Outcome outcome = search(
          20, [&](const Nodes& nodes) { return nodes.size() >= size && has(nodes, node); }, GetParam());
      ASSERT_TRUE(outcome.conclusion) << node << " from " << size;
      EXPECT_EQ(outcome.conclusion->together, Nodes{node}) << node << " from " << size;
      EXPECT_EQ(outcome.conclusion->min_nodes, size) << node << " from " << size;
    }
  }
}

TEST(Combination, ASizeLimitOfEighteenAmongTwentyTakesFewQuestions) {
  const Outcome outcome = search(
      20, [](const Nodes& nodes) { return nodes.size() >= 18; }, false);
  ASSERT_TRUE(outcome.conclusion);
  EXPECT_EQ(outcome.conclusion->min_nodes, 18U);
  EXPECT_LE(outcome.questions, 6);
}

TEST(Combination, RoundsGrowWithTheLogarithm) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  for (const std::size_t count : {64U, 1024U}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const auto a = static_cast<NodeIndex>(random() % count);
      const auto b = static_cast<NodeIndex>((a + 1 + random() % (count - 1)) % count);
      const Outcome outcome = search(
          count, [&](const Nodes& nodes) { return has(nodes, a) && has(nodes, b); }, true);
      ASSERT_TRUE(outcome.conclusion);
      EXPECT_EQ(outcome.conclusion->together, (Nodes{std::min(a, b), std::max(a, b)}));
      EXPECT_LE(outcome.rounds, 2 * static_cast<int>(std::log2(count)) + 2);
    }
  }
}

TEST(Combination, NothingFitsWhenTheSlowSetIsWellAfterAll) {
  Nodes all(8);
  for (NodeIndex i = 0; i < 8; ++i)
    all[i] = i;
  // The one slow reading of the whole set was an outlier: everything asked is well, and the set itself is asked again.
  std::map<Nodes, bool> asked;
  bool asked_whole_again = false;
  const CombinationSearch combination(
      all,
      [&](const Nodes& members) {
        if (members == all)
          return asked_whole_again ? CombinationSearch::Answer::well : CombinationSearch::Answer::slow_once;
        return asked.contains(members) ? CombinationSearch::Answer::well : CombinationSearch::Answer::unknown;
      },
      {.by_halves = true, .at_once = [](const Nodes&, const Nodes&) { return true; }});
  for (int round = 0; round < 20 && !asked_whole_again; ++round) {
    for (const Nodes& members : combination.next().ask) {
      asked[members] = true;
      asked_whole_again |= members == all;
    }
  }
  EXPECT_TRUE(asked_whole_again);
}

}  // namespace
}  // namespace weft::bisect
