#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bisect/verdict.h"
#include "probes/collective/measurement.h"
#include "probes/collective/prober.h"
#include "topology/fabric.h"

namespace weft::bisect {

struct AnalyzeOptions {
  double tolerance = 0.10;
  std::optional<double> expect_busbw_gbps;  ///< of all nodes together; without it, the fabric file's for all_reduce
  probes::Scaling scaling = probes::Scaling::unknown;
};

/// The search's inference over measurements that someone already has. Nothing can be repeated here, so less evidence
/// convicts than in a search: two independent readings. What is not decided comes with the cheapest next probe. Where
/// all measurements are of one group there is nothing to compare it with, and the fabric's declared link speeds judge
/// it. The order of measurements does not matter.
Verdict analyze(const topology::Fabric& fabric, const std::vector<std::string>& nodes,
                std::span<const probes::Measurement> measurements, const AnalyzeOptions& options);

}  // namespace weft::bisect
