#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bisect/run.h"
#include "bisect/verdict.h"
#include "probes/collective/prober.h"
#include "topology/fabric.h"

namespace weft::bisect {

enum class Strategy {
  parallel,  ///< all suspects at once, in disjoint groups
  halving,   ///< one group at a time: for when few nodes may be used, and little is to be disturbed
};

struct SearchOptions {
  Strategy strategy = Strategy::parallel;
  probes::Op op = probes::Op::all_reduce;    ///< picks the fabric file's expectation
  double tolerance = 0.10;                   ///< a healthy measurement is at least (1 - tolerance) of what is expected
  std::optional<double> expect_busbw_gbps;   ///< the user's figure for the whole set
  std::optional<double> history_busbw_gbps;  ///< this cluster's own, for the same shape
  std::optional<double> model_busbw_gbps;    ///< from link speeds; used only where there are no peers (two nodes)
  probes::Scaling scaling = probes::Scaling::unknown;
  bool can_pin_rails = false;
  bool can_probe_single_nodes = false;
  int max_rounds = 100;
};

/// Which groups to measure next, and what the answers mean: a state machine without I/O, clock or thread. Give it a
/// round's measurements and it gives the next round, or a verdict. The same measurements in the same order always give
/// the same rounds, so that a run can be replayed from the history and gone on with.
class Search {
 public:
  /// REQUIRES: nodes is not empty and has no duplicates; `fabric` outlives the search.
  Search(const topology::Fabric& fabric, std::vector<std::string> nodes, const SearchOptions& options);
  ~Search();

  /// The groups to measure now; without groups when the search has ended.
  Round next_round();
  /// REQUIRES: the measurements of the round that next_round gave, one a group, in order. Those of a round cut short
  /// are `refused` and count as not known.
  void record(std::span<const probes::Measurement> measurements);
  /// What is known so far; final once next_round has given a round without groups.
  Verdict verdict() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::bisect
