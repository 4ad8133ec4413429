#pragma once

#include <span>
#include <string>
#include <vector>

#include "probes/collective/measurement.h"

namespace weft::bisect {

/// What one node's presence costs the groups that it is in.
struct NodeEffect {
  std::string node;
  double effect_gbps = 0;  ///< mean with the node, less the mean without it, the others' effects taken out
  double relative = 0;     ///< of the mean without it
  double t = 0;            ///< Welch's t statistic of the difference
  int with = 0;            ///< trials with the node
  int without = 0;
  double confidence = 0;  ///< that the effect is not chance, corrected for having looked at every node; 0–1
};

/// Finds nodes that cost a fraction of a per cent, far below any threshold for one measurement, from many subsets.
///
/// Forward selection: the node with the largest |t| between groups with and without it (Welch, "The generalization of
/// Student's problem when several different population variances are involved", 1947) is taken, its effect is taken
/// out of its groups, and the search goes on while the Bonferroni-corrected confidence is at least
/// `kSmallEffectConfidence`. Only groups of the most common size are compared. The result is ordered by |t|: the
/// selected ones first, then the rest as they stand after them.
struct SmallEffects {
  std::vector<NodeEffect> selected;
  std::vector<NodeEffect> others;
  int trials = 0;
};

inline constexpr double kSmallEffectConfidence = 0.99;

SmallEffects small_effects(std::span<const probes::Measurement> measurements);

}  // namespace weft::bisect
