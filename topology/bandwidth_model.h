#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "topology/fabric.h"

namespace weft::topology {

/// How an all-reduce moves its data between nodes.
enum class CollectiveAlgorithm {
  flat_ring,     ///< rings over all ranks, at least one on each rail: bounded by the sum of a node's rails
  hierarchical,  ///< reduce-scatter inside nodes, rings between them on each rail, all-gather inside
};

/// A stage of a collective, and the bus bandwidth that it allows.
struct BandwidthBound {
  enum class Stage { nics, uplinks, nvlink };
  Stage stage = Stage::nics;
  double busbw_gbps = 0;  ///< nccl-tests' bus bandwidth, GB/s (10^9 bytes)
  std::string formula;    ///< with its figures, for a person
};

/// What the spines leave to a collective over several units.
struct Crossing {
  int units = 0;                ///< a ring in unit order leaves each of them once, on each rail
  double oversubscription = 0;  ///< rails of the unit with the most of these nodes, to each uplink of their leaf
  /// A ring in the worst order leaves a unit after each of its nodes; this is what its uplinks then leave of the bus
  /// bandwidth, never more than in unit order.
  double worst_order_busbw_gbps = 0;
};

struct BandwidthModel {
  std::vector<BandwidthBound> bounds;  ///< slowest first
  int units = 1;                       ///< that the nodes are in
  std::optional<Crossing> crossing;    ///< nothing inside one unit, and where the uplinks are not declared
  const BandwidthBound& limit() const { return bounds.front(); }
};

/// The all-reduce bus bandwidth that `nodes` of the fabric should reach, from link speeds alone. k nodes of g GPUs, n =
/// k·g ranks, R rails of L GB/s, U uplinks of a leaf that serves r rails:
///
/// - NICs, flat ring: each rail's ring enters and leaves a node once, so the bus bandwidth is at most R·L.
/// - NICs, hierarchical: each GPU's share of the data, 1/g, goes over the rails with the ring's factor 2(k-1)/k, so the
///   bus bandwidth is at most R·L · hierarchical_factor. With R = g this is the NIC's speed times (n-1)/(k-1): fifteen
///   NICs for two nodes of eight, falling towards eight for many. Busbw is not a wire speed.
/// - Uplinks (where the nodes are in several units): ranks are in unit order, so each of the r rings through a leaf
///   leaves it once: at most U/r of the above. The uplinks are taken to be as fast as a rail; U is links_per_leaf times
///   the number of spines; r is 1, or R under a top-of-rack switch that serves every rail.
/// - NVLink: the bus bandwidth inside one node, where it is given.
///
/// Sources: nccl-tests doc/PERFORMANCE.md (bus bandwidth); Bekman, "Machine Learning Engineering", network notes
/// (hierarchical bound). Throws InputError without a declared link speed, for no nodes, and for one node without an
/// NVLink figure.
BandwidthModel model_all_reduce(const Fabric& fabric, const std::vector<std::string>& nodes,
                                CollectiveAlgorithm algorithm, std::optional<double> nvlink_busbw_gbps);

/// What a hierarchical all-reduce shows of the sum of a node's rails as bus bandwidth: (n-1)/(n-g) for k nodes of g
/// GPUs and n = k·g ranks. 1 for one GPU a node. REQUIRES: two nodes or more, one GPU or more.
double hierarchical_factor(std::size_t nodes, int gpus_per_node);

const char* to_string(BandwidthBound::Stage stage);
const char* to_string(CollectiveAlgorithm algorithm);

}  // namespace weft::topology
