#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bisect/layout.h"

namespace weft::bisect {

/// Finds what makes a set slow although each of its nodes is well: nodes that only misbehave together, a number of
/// nodes from which on the fabric gives way, or both ("node007, and at least 8 nodes").
///
/// First by halves, two disjoint questions at once: a pair that sits in one half is followed there, a pair across them
/// by halving both sides together. What is left is taken by growing prefixes (delta debugging): the smallest prefix
/// that is slow ends with a node that matters, or has the size that matters; a set of the same size without that node
/// tells which. About 1.5·log2(n) rounds for a pair and log2(n) for a size. Source: Zeller & Hildebrandt, "Simplifying
/// and isolating failure-inducing input" (2002).
///
/// It keeps no state: it is asked again after each round with all answers so far, and walks the same path up to the
/// first question without an answer. A measurement that is corrected by a repetition therefore corrects the path as
/// well.
///
/// Assumes that a superset of a slow set is slow.
class CombinationSearch {
 public:
  enum class Answer {
    well,
    slow_once,  ///< one reading says so: to be repeated before anything that nothing else supports is built on it
    slow,
    unknown,
  };
  using Oracle = std::function<Answer(const std::vector<NodeIndex>& sorted_members)>;

  struct Conclusion {
    std::vector<NodeIndex> together;       ///< nodes without which it does not happen; two: a pair
    std::optional<std::size_t> min_nodes;  ///< it takes at least this many nodes (with those in `together`)
    std::vector<NodeIndex> witness;        ///< the smallest slow set found
  };

  struct Step {
    std::vector<std::vector<NodeIndex>> ask;  ///< disjoint sets to measure next; none when the walk has ended
    std::optional<Conclusion> conclusion;     ///< what it ended with; none when nothing fits
  };

  struct Options {
    bool by_halves = true;  ///< off when a slow set is one that hangs: each question then costs a whole time-out
    /// Whether two disjoint sets may be measured in one round (they share no link).
    std::function<bool(const std::vector<NodeIndex>&, const std::vector<NodeIndex>&)> at_once;
  };

  /// `slow_set`: sorted nodes, slow together.
  CombinationSearch(std::vector<NodeIndex> slow_set, Oracle oracle, const Options& options)
      : slow_set_(std::move(slow_set)), oracle_(std::move(oracle)), options_(options) {}

  Step next() const;

 private:
  class Walk;
  std::vector<NodeIndex> slow_set_;
  Oracle oracle_;
  Options options_;
};

}  // namespace weft::bisect
