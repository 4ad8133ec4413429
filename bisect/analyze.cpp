#include "bisect/analyze.h"

#include <algorithm>

#include "bisect/conclusion.h"
#include "bisect/inference.h"
#include "bisect/layout.h"

namespace weft::bisect {
namespace {

/// Wrongly convicting somebody in one table of twenty: what two independent readings are worth in a small one.
constexpr double kFalseConvictionRate = 0.05;

}  // namespace

Verdict analyze(const topology::Fabric& fabric, const std::vector<std::string>& nodes,
                std::span<const probes::Measurement> measurements, const AnalyzeOptions& options) {
  const Layout layout(fabric, nodes, fabric.rails);
  std::optional<AbsoluteExpectation> absolute;
  if (options.expect_busbw_gbps) absolute = AbsoluteExpectation{*options.expect_busbw_gbps, Baseline::Source::flag};
  Inference inference(layout, {.tolerance = options.tolerance,
                               .scaling = options.scaling,
                               .absolute = absolute,
                               .false_conviction_rate = kFalseConvictionRate});
  Touched touched;
  for (const probes::Measurement& measurement : measurements) {
    touched.note(layout, measurement);
    inference.add(to_reading(layout, measurement));
  }
  inference.solve();
  const bool nothing_open = inference.unexplained().empty() && !inference.confounded();
  return conclude({.layout = layout,
                   .inference = inference,
                   .combinations = {},
                   .touched = touched,
                   .rest_good = nothing_open,
                   .rest = {},
                   .out_of_rounds = false});
}

}  // namespace weft::bisect
