#include "topology/bandwidth_model.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "topology/error.h"

namespace weft::topology {
namespace {

constexpr double kBitsPerByte = 8;

BandwidthBound nic_bound(double rail_gbps, int rails, std::size_t nodes, int gpus, CollectiveAlgorithm algorithm) {
  const double sum = rail_gbps * rails;
  if (algorithm == CollectiveAlgorithm::flat_ring) {
    return {BandwidthBound::Stage::nics, sum, fmt::format("{} rails x {:.4g} GB/s", rails, rail_gbps)};
  }
  const double ranks = static_cast<double>(nodes) * gpus;
  const double bound = sum * (ranks - 1) / (ranks - gpus);
  return {BandwidthBound::Stage::nics, bound,
          fmt::format("{} rails x {:.4g} GB/s x ({:.0f} - 1) / ({:.0f} - {})", rails, rail_gbps, ranks, ranks, gpus)};
}

std::map<std::size_t, std::size_t> nodes_by_unit(const Fabric& fabric, const std::vector<std::string>& nodes) {
  std::map<std::size_t, std::size_t> count;
  for (const std::string& node : nodes)
    ++count[fabric.unit_of(node).value_or(fabric.units.size())];
  return count;
}

}  // namespace

BandwidthModel model_all_reduce(const Fabric& fabric, const std::vector<std::string>& nodes,
                                CollectiveAlgorithm algorithm, std::optional<double> nvlink_busbw_gbps) {
  if (fabric.link.speed_gbit <= 0) {
    throw InputError({"the speed of a rail is not declared", fabric.file.empty() ? "fabric" : fabric.file,
                      "link: {type: infiniband, speed: 400}", "add it to the fabric file"});
  }
  if (nodes.empty()) throw InputError({"no nodes are named", "fabric", "at least one node", ""});
  const double rail_gbps = fabric.link.speed_gbit / kBitsPerByte;
  BandwidthModel model;
  if (nodes.size() > 1) {
    model.bounds.push_back(nic_bound(rail_gbps, fabric.rails, nodes.size(), fabric.gpus_per_node, algorithm));
    const auto by_unit = nodes_by_unit(fabric, nodes);
    model.crossings = by_unit.size() > 1 ? static_cast<int>(by_unit.size()) : 0;
    const auto uplinks = static_cast<double>(fabric.spines.nodes.size()) * fabric.spines.links_per_leaf;
    if (by_unit.size() > 1 && uplinks > 0) {
      std::size_t most = 0;
      for (const auto& [unit, count] : by_unit)
        most = std::max(most, count);
      model.oversubscription = static_cast<double>(most) / uplinks;
    }
  }
  if (nvlink_busbw_gbps) {
    model.bounds.push_back({BandwidthBound::Stage::nvlink, *nvlink_busbw_gbps, "as given for one node alone"});
  }
  if (model.bounds.empty()) {
    throw InputError({"one node alone does not use the fabric", "--nvlink-gbps", "the bus bandwidth of one node", ""});
  }
  std::stable_sort(model.bounds.begin(), model.bounds.end(),
                   [](const BandwidthBound& a, const BandwidthBound& b) { return a.busbw_gbps < b.busbw_gbps; });
  return model;
}

const char* to_string(BandwidthBound::Stage stage) {
  switch (stage) {
    case BandwidthBound::Stage::nics:
      return "NICs";
    case BandwidthBound::Stage::nvlink:
      return "NVLink";
  }
  return "";
}

const char* to_string(CollectiveAlgorithm algorithm) {
  return algorithm == CollectiveAlgorithm::flat_ring ? "flat ring" : "hierarchical";
}

}  // namespace weft::topology
