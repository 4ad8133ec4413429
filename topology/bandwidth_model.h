#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "topology/fabric.h"

namespace weft::topology {

/// How an all-reduce moves its data between nodes.
enum class CollectiveAlgorithm {
  flat_ring,     ///< one ring over all ranks on each rail: bounded by the sum of a node's rails
  hierarchical,  ///< reduce-scatter inside nodes, rings between them on each rail, all-gather inside
};

/// The slowest stage of a collective, and the bus bandwidth that it allows.
struct BandwidthBound {
  enum class Stage { nics, nvlink };
  Stage stage = Stage::nics;
  double busbw_gbps = 0;  ///< nccl-tests' bus bandwidth, GB/s (10^9 bytes)
  std::string formula;    ///< with its figures, for a person
};

struct BandwidthModel {
  std::vector<BandwidthBound> bounds;  ///< slowest first
  int crossings = 0;  ///< units that a ring in unit order leaves: it crosses their uplinks once each way
  /// The most nodes of one unit to each uplink of its leaves; nothing where the spines are not declared. One ring a
  /// rail needs one uplink, so an all-reduce alone does not mind; traffic of other kinds, and other jobs, do.
  std::optional<double> oversubscription;
  const BandwidthBound& limit() const { return bounds.front(); }
};

/// The all-reduce bus bandwidth that `nodes` of the fabric should reach, from link speeds alone. k nodes of g GPUs, n =
/// k·g ranks, R rails of L GB/s:
///
/// - flat ring: each rail's ring enters and leaves a node once, so the bus bandwidth is at most R·L.
/// - hierarchical: each GPU's share of the data, 1/g, goes over its rail with the ring factor 2(k-1)/k, so the bus
/// bandwidth is at most
///   R·L · (n-1)/(n-g), which is R·L · (n-1)/(g·(k-1)). With R = g this is the NIC's speed times (n-1)/(k-1): fifteen
///   NICs for two nodes of eight, falling towards eight for many. Busbw is not a wire speed.
/// - uplinks: ranks are in unit order, so a ring crosses a unit's uplinks once each way on each rail: one uplink a leaf
/// carries
///   it at full speed, and none of them lets nothing through. They bound an all-reduce no further than the NICs do.
/// - NVLink: the bus bandwidth inside one node, where it is given.
///
/// Sources: nccl-tests doc/PERFORMANCE.md (bus bandwidth); Bekman, "Machine Learning Engineering", network notes
/// (hierarchical bound). Throws InputError without a declared link speed, and for no nodes.
BandwidthModel model_all_reduce(const Fabric& fabric, const std::vector<std::string>& nodes,
                                CollectiveAlgorithm algorithm, std::optional<double> nvlink_busbw_gbps);

const char* to_string(BandwidthBound::Stage stage);
const char* to_string(CollectiveAlgorithm algorithm);

}  // namespace weft::topology
