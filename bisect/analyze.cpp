#include "bisect/analyze.h"

#include <algorithm>
#include <optional>

#include "bisect/conclusion.h"
#include "bisect/inference.h"
#include "bisect/layout.h"
#include "topology/bandwidth_model.h"

namespace weft::bisect {
namespace {

/// Wrongly convicting somebody in one table of twenty: what two independent readings are worth in a small one.
constexpr double kFalseConvictionRate = 0.05;

bool are_of_one_group(std::span<const probes::Measurement> measurements) {
  return std::all_of(measurements.begin(), measurements.end(), [&](const probes::Measurement& measurement) {
    return measurement.group == measurements.front().group;
  });
}

std::optional<AbsoluteExpectation> absolute_expectation(const topology::Fabric& fabric,
                                                        const std::vector<std::string>& nodes,
                                                        std::span<const probes::Measurement> measurements,
                                                        const AnalyzeOptions& options) {
  if (options.expect_busbw_gbps) return AbsoluteExpectation{*options.expect_busbw_gbps, Baseline::Source::flag};
  const auto declared = fabric.expect.find(probes::to_string(probes::Op::all_reduce));
  if (declared != fabric.expect.end()) {
    return AbsoluteExpectation{declared->second.busbw_gbps, Baseline::Source::fabric};
  }
  if (fabric.link.speed_gbit > 0 && nodes.size() > 1 && are_of_one_group(measurements)) {
    using topology::CollectiveAlgorithm;
    const auto model = topology::model_all_reduce(fabric, nodes, CollectiveAlgorithm::flat_ring, std::nullopt);
    return AbsoluteExpectation{model.limit().busbw_gbps, Baseline::Source::model};
  }
  return std::nullopt;
}

}  // namespace

Verdict analyze(const topology::Fabric& fabric, const std::vector<std::string>& nodes,
                std::span<const probes::Measurement> measurements, const AnalyzeOptions& options) {
  const Layout layout(fabric, nodes, fabric.rails);
  Inference inference(layout, {.tolerance = options.tolerance,
                               .scaling = options.scaling,
                               .absolute = absolute_expectation(fabric, nodes, measurements, options),
                               .false_conviction_rate = kFalseConvictionRate});
  Touched touched;
  for (const probes::Measurement& measurement : measurements) {
    touched.note(layout, measurement);
    inference.add(to_reading(layout, measurement));
  }
  inference.solve();
  const bool nothing_open = inference.unexplained().empty() && !inference.confounded();
  Verdict verdict = conclude({.layout = layout,
                              .inference = inference,
                              .combinations = {},
                              .touched = touched,
                              .rest_good = nothing_open,
                              .rest = {},
                              .out_of_rounds = false});
  // In a search, a probe without a figure is what was missing; here it may be beside the point.
  const bool some_finished = touched.finished > 0 && touched.refused > 0;
  if (verdict.kind == Verdict::Kind::inconclusive && some_finished && !verdict.unresolved.empty() &&
      !inference.confounded() && verdict.findings.empty()) {
    verdict.why = "Something is slow and the measurements cannot tell what.";
  }
  return verdict;
}

}  // namespace weft::bisect
