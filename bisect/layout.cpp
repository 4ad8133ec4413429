#include "bisect/layout.h"

#include <algorithm>
#include <numeric>

namespace weft::bisect {

Layout::Layout(const topology::Fabric& fabric, const std::vector<std::string>& hosts, int pinned_rails)
    : rails(pinned_rails), gpus_per_node(fabric.gpus_per_node) {
  // A host that the fabric does not know forms, with its like, a unit of its own behind the declared ones.
  const std::size_t outside = fabric.units.size();
  std::vector<std::vector<std::string>> hosts_of_unit(outside + 1);
  for (const std::string& host : hosts)
    hosts_of_unit[fabric.unit_of(host).value_or(outside)].push_back(host);

  for (std::size_t unit = 0; unit <= outside; ++unit) {
    if (hosts_of_unit[unit].empty()) continue;
    const auto index = static_cast<UnitIndex>(unit_names.size());
    unit_names.push_back(unit < outside ? fabric.units[unit].name : "all");
    one_leaf.push_back(unit < outside && fabric.units[unit].leaves.size() == 1);
    unit_nodes.emplace_back();
    for (std::string& host : hosts_of_unit[unit]) {
      const auto node = static_cast<NodeIndex>(names.size());
      index_of.emplace(host, node);
      names.push_back(std::move(host));
      unit_of.push_back(index);
      unit_nodes.back().push_back(node);
    }
  }
}

bool Layout::crosses_units(std::span<const NodeIndex> members) const {
  return std::any_of(members.begin(), members.end(),
                     [&](NodeIndex node) { return unit_of[node] != unit_of[members.front()]; });
}

std::vector<std::string> Layout::names_of(std::span<const NodeIndex> members) const {
  std::vector<std::string> result;
  result.reserve(members.size());
  for (NodeIndex node : members)
    result.push_back(names[node]);
  return result;
}

Reading to_reading(const Layout& layout, const probes::Measurement& measurement) {
  Reading reading;
  reading.members.reserve(measurement.group.nodes.size());
  for (const std::string& node : measurement.group.nodes)
    reading.members.push_back(layout.index_of.at(node));
  std::sort(reading.members.begin(), reading.members.end());
  reading.rail = measurement.group.rail.value_or(kAllRails);
  reading.status = measurement.status;
  reading.busbw_gbps = measurement.busbw_gbps;
  for (const probes::NodeFault& fault : measurement.node_faults) {
    const auto found = layout.index_of.find(fault.node);
    if (found != layout.index_of.end()) reading.faulted.push_back(found->second);
  }
  return reading;
}

}  // namespace weft::bisect
