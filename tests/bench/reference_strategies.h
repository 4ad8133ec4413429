#pragma once

#include <functional>
#include <string>
#include <vector>

#include "probes/collective/prober.h"
#include "topology/fabric.h"

namespace weft::bench {

/// What people do today, in its plainest form, for comparison with the search: each measures groups over all rails,
/// calls one slow below `threshold_gbps`, repeats nothing, and blames nodes.
struct Attempt {
  std::vector<std::string> blamed;  ///< nodes
  int rounds = 0;
  double node_seconds = 0;
};

struct Bench {
  const std::vector<std::string>& hosts;
  probes::Prober& prober;
  double threshold_gbps = 0;
};

/// One half at a time, by hand: the half that is well sends the search into the other.
Attempt sequential_halving(const Bench& bench);
/// Both halves of every slow set at once, down to pairs; their members then against a node of a set that was well.
Attempt recursive_parallel_halving(const Bench& bench);
/// Every pair once, N - 1 rounds of N/2 pairs; a node that is slow with more than half of its partners is blamed.
Attempt full_pair_scan(const Bench& bench);

}  // namespace weft::bench
