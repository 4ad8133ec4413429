#include "bisect/expectation.h"

#include <algorithm>
#include <cmath>

#include "probes/collective/measurement.h"
#include "topology/bandwidth_model.h"

namespace weft::bisect {

double hierarchical_share(std::size_t nodes, int gpus_per_node) {
  if (nodes < 2) return 1;
  return topology::hierarchical_factor(nodes, gpus_per_node) / topology::hierarchical_factor(2, gpus_per_node);
}

double fast_cluster_median(std::vector<double> samples, double tolerance) {
  if (samples.empty()) return 0;
  const double top = probes::quantile_of(samples, 0.9);
  std::erase_if(samples, [&](double sample) { return sample < top * (1 - tolerance); });
  return probes::median_of(std::move(samples));
}

void ExpectationModel::learn(const Shape& shape, std::vector<double> busbw_gbps) {
  if (busbw_gbps.empty()) return;
  const double peers = fast_cluster_median(busbw_gbps, options_.tolerance);
  if (peers <= 0) return;
  peers_[shape] = peers;
  if (busbw_gbps.size() < 4) return;
  for (double sample : busbw_gbps) {
    const double deviation = std::abs(sample / peers - 1);
    if (deviation <= options_.tolerance) relative_deviations_.push_back(deviation);
  }
}

double ExpectationModel::share(std::size_t from_nodes, std::size_t to_nodes) const {
  if (options_.scaling == probes::Scaling::none) return to_nodes == from_nodes ? 1 : 0;
  if (to_nodes <= from_nodes || options_.scaling == probes::Scaling::flat_ring) return 1;
  return hierarchical_share(to_nodes, options_.gpus_per_node) / hierarchical_share(from_nodes, options_.gpus_per_node);
}

std::optional<double> ExpectationModel::expected_gbps(const Shape& shape) const {
  if (options_.absolute && shape.nodes >= 2) {
    const bool whole = shape.nodes == options_.whole_nodes && !shape.one_rail;
    const double figure = options_.absolute->busbw_gbps / (shape.one_rail ? options_.rails : 1);
    // The figure is for the whole set; a smaller group of an algorithm that we do not know reaches at least as much.
    if (whole || options_.scaling == probes::Scaling::flat_ring) return figure;
    const auto peers = peers_.find(shape);
    return peers == peers_.end() ? figure : std::max(figure, peers->second);
  }
  std::optional<double> best;
  for (const auto& [other, busbw_gbps] : peers_) {
    // One node alone measures NVLink and PCIe, not the fabric: it is its own scale.
    if (other.one_rail != shape.one_rail || (other.nodes == 1) != (shape.nodes == 1)) continue;
    const double bound = busbw_gbps * share(other.nodes, shape.nodes);
    if (bound <= 0) continue;
    if (!best || bound > *best) best = bound;
  }
  return best;
}

Baseline::Source ExpectationModel::source() const {
  return options_.absolute ? options_.absolute->source : Baseline::Source::peers;
}

double ExpectationModel::spread() const {
  return 1.4826 * probes::median_of(relative_deviations_);
}

}  // namespace weft::bisect
