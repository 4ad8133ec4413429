#include "topology/bandwidth_model.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "topology/error.h"

namespace weft::topology {
namespace {

constexpr double kBitsPerByte = 8;

void require_model(const Fabric& fabric, const std::vector<std::string>& nodes) {
  if (nodes.empty()) throw InputError({"no nodes are named", "fabric", "at least one node", ""});
  if (fabric.link.speed_gbit > 0) return;
  throw InputError({"the speed of a rail is not declared", fabric.declared() ? fabric.file : "--fabric",
                    "a fabric file with a line such as link: {type: infiniband, speed: 400}",
                    fabric.declared() ? "add it" : "write one (docs/fabric.md)"});
}

std::string rails_in_words(int rails) {
  return fmt::format("{} rail{}", rails, rails == 1 ? "" : "s");
}

BandwidthBound nic_bound(const Fabric& fabric, std::size_t nodes, CollectiveAlgorithm algorithm) {
  const double rail_gbps = fabric.link.speed_gbit / kBitsPerByte;
  const double sum_gbps = rail_gbps * fabric.rails;
  if (algorithm == CollectiveAlgorithm::flat_ring) {
    return {BandwidthBound::Stage::nics, sum_gbps,
            fmt::format("{} x {:.4g} GB/s", rails_in_words(fabric.rails), rail_gbps)};
  }
  const double ranks = static_cast<double>(nodes) * fabric.gpus_per_node;
  return {BandwidthBound::Stage::nics, sum_gbps * hierarchical_factor(nodes, fabric.gpus_per_node),
          fmt::format("{} x {:.4g} GB/s x ({:.0f} - 1) / ({:.0f} - {})", rails_in_words(fabric.rails), rail_gbps, ranks,
                      ranks, fabric.gpus_per_node)};
}

/// How many of the nodes each unit holds. Nodes in no unit count as one more.
std::map<std::size_t, std::size_t> nodes_by_unit(const Fabric& fabric, const std::vector<std::string>& nodes) {
  std::map<std::size_t, std::size_t> count;
  for (const std::string& node : nodes)
    ++count[fabric.unit_of(node).value_or(fabric.units.size())];
  return count;
}

/// Rings that share the uplinks of the unit's busiest leaf when each of them leaves it once.
int rails_of_a_leaf(const Fabric& fabric, std::size_t unit) {
  return unit < fabric.units.size() && fabric.units[unit].leaves.size() == 1 ? fabric.rails : 1;
}

/// Into `model`, whose only bound is that of the NICs.
void add_uplinks(BandwidthModel& model, const Fabric& fabric, const std::map<std::size_t, std::size_t>& by_unit,
                 std::size_t nodes) {
  const int uplinks = static_cast<int>(fabric.spines.nodes.size()) * fabric.spines.links_per_leaf;
  if (by_unit.size() < 2 || uplinks == 0) return;
  const double nics_gbps = model.limit().busbw_gbps;
  int most_rails = 1;
  double most_flows = 0;  // out of a leaf, in the worst order
  Crossing crossing;
  crossing.units = static_cast<int>(by_unit.size());
  for (const auto& [unit, count] : by_unit) {
    const int rails = rails_of_a_leaf(fabric, unit);
    const auto leaving = static_cast<double>(std::min(count, nodes - count));
    most_rails = std::max(most_rails, rails);
    most_flows = std::max(most_flows, leaving * rails);
    crossing.oversubscription = std::max(crossing.oversubscription, static_cast<double>(count) * rails / uplinks);
  }
  model.bounds.push_back(
      {BandwidthBound::Stage::uplinks, nics_gbps * uplinks / most_rails,
       fmt::format("{:.4g} GB/s x {} uplinks / {} of a leaf", nics_gbps, uplinks, rails_in_words(most_rails))});
  crossing.worst_order_busbw_gbps = nics_gbps * std::min(1.0, uplinks / most_flows);
  model.crossing = crossing;
}

}  // namespace

BandwidthModel model_all_reduce(const Fabric& fabric, const std::vector<std::string>& nodes,
                                CollectiveAlgorithm algorithm, std::optional<double> nvlink_busbw_gbps) {
  require_model(fabric, nodes);
  BandwidthModel model;
  if (nodes.size() > 1) {
    const auto by_unit = nodes_by_unit(fabric, nodes);
    model.units = static_cast<int>(by_unit.size());
    model.bounds.push_back(nic_bound(fabric, nodes.size(), algorithm));
    add_uplinks(model, fabric, by_unit, nodes.size());
  }
  if (nvlink_busbw_gbps) {
    model.bounds.push_back({BandwidthBound::Stage::nvlink, *nvlink_busbw_gbps, "one node alone"});
  }
  if (model.bounds.empty()) {
    throw InputError({"one node alone does not use the fabric", "--hosts", "two nodes or more",
                      "for one node, give its own bus bandwidth with --nvlink-gbps or --platform"});
  }
  std::stable_sort(model.bounds.begin(), model.bounds.end(),
                   [](const BandwidthBound& a, const BandwidthBound& b) { return a.busbw_gbps < b.busbw_gbps; });
  return model;
}

double hierarchical_factor(std::size_t nodes, int gpus_per_node) {
  const double ranks = static_cast<double>(nodes) * gpus_per_node;
  return (ranks - 1) / (ranks - gpus_per_node);
}

const char* to_string(BandwidthBound::Stage stage) {
  switch (stage) {
    case BandwidthBound::Stage::nics:
      return "NICs";
    case BandwidthBound::Stage::uplinks:
      return "uplinks";
    case BandwidthBound::Stage::nvlink:
      return "NVLink";
  }
  return "";
}

const char* to_string(CollectiveAlgorithm algorithm) {
  return algorithm == CollectiveAlgorithm::flat_ring ? "flat ring" : "hierarchical";
}

}  // namespace weft::topology
