#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "probes/collective/measurement.h"
#include "topology/fabric.h"

namespace weft::bisect {

using NodeIndex = std::uint32_t;
using UnitIndex = std::uint32_t;

/// Pinned to no rail: a probe that uses every rail of its nodes.
inline constexpr int kAllRails = -1;

/// The nodes of a run in index form, in ring order: sorted by unit, so that a ring over any subset enters and leaves
/// each unit once. Nodes keep the order of the host list inside a unit.
struct Layout {
  /// `rails`: those that probes can be pinned to, 1 where they cannot.
  Layout(const topology::Fabric& fabric, const std::vector<std::string>& hosts, int rails);

  std::size_t node_count() const { return names.size(); }
  std::size_t unit_count() const { return unit_names.size(); }
  bool crosses_units(std::span<const NodeIndex> members) const;
  std::vector<std::string> names_of(std::span<const NodeIndex> members) const;

  std::vector<std::string> names;                  ///< by NodeIndex
  std::vector<UnitIndex> unit_of;                  ///< by NodeIndex
  std::vector<std::string> unit_names;             ///< units that have at least one node of the run, in fabric order
  std::vector<std::vector<NodeIndex>> unit_nodes;  ///< by UnitIndex
  std::vector<bool> one_leaf;                      ///< by UnitIndex: a single (top-of-rack) switch carries every rail
  int rails = 1;
  int gpus_per_node = 1;
  std::unordered_map<std::string, NodeIndex> index_of;
};

/// What one probe said, in index form. `members` is sorted.
struct Reading {
  std::vector<NodeIndex> members;
  int rail = kAllRails;
  probes::Status status = probes::Status::refused;
  double busbw_gbps = 0;
  std::vector<NodeIndex> faulted;  ///< nodes that the probe's own evidence names
};

/// Throws std::out_of_range for a node that is not in the layout.
Reading to_reading(const Layout& layout, const probes::Measurement& measurement);

}  // namespace weft::bisect
