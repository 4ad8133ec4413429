#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bisect/combination.h"
#include "bisect/inference.h"
#include "bisect/layout.h"
#include "bisect/verdict.h"

namespace weft::bisect {

/// Which nodes took part in what, and what the probes said of them: for the counts and the words of a verdict.
struct Touched {
  std::set<NodeIndex> measured;
  std::set<NodeIndex> probed;
  std::map<NodeIndex, probes::NodeFault> faults;  ///< the first one of each node
  int probes = 0;
  int finished = 0;  ///< ended with values, right or wrong
  int refused = 0;
  std::string first_refusal;
  std::string first_failure;

  void note(const Layout& layout, const probes::Measurement& measurement);
};

/// All slow groups that this combination explains.
Evidence evidence_for(const Inference& inference, const CombinationSearch::Conclusion& combination);

struct Known {
  const Layout& layout;
  const Inference& inference;
  std::vector<CombinationSearch::Conclusion> combinations;
  const Touched& touched;
  bool rest_good = false;
  std::vector<NodeIndex> rest;
  bool out_of_rounds = false;
};

/// The verdict that the measurements so far allow.
Verdict conclude(const Known& known);

}  // namespace weft::bisect
