#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/collective/sim.h"
#include "topology/fabric.h"

namespace weft::probes {

struct SimScenario {
  std::vector<SimFault> faults;
  SimNoise noise;
};

/// Reads a faults file (docs/probes.md, "A simulated fabric"):
///
///     noise: {spread: 0.02, outliers: 0.01}
///     faults:
///       - {kind: rail, node: gpu007, rail: 3, factor: 0.6}
///       - {kind: uplink, unit: su2, rail: 1, factor: 0.7, from_round: 2}
///       - {kind: path, units: [su1, su2]}
///       - {kind: pair, nodes: [gpu001, gpu009]}
///       - {kind: scale, min_nodes: 18, factor: 0}
///       - {kind: crash, nodes: "gpu[021-024]"}
///
/// `node` and `nodes` mean the same, a host list or a list of them: a fault of each node, except for `pair` (two nodes)
/// and `scale` (nodes without which it does not happen). `factor` is what is left of the bandwidth, above 0 and below
/// 1; for `scale`, 0 hangs. Noise: `spread` (standard deviation of a reading, relative), `outliers` (share of probes
/// that run at a share of their speed drawn from `outlier_range`).
///
/// Throws InputError with file:line:column for what StrictYaml refuses, values out of range, nodes, units, rails and
/// group sizes that the fabric does not have, and keys that do not belong to the kind. At most 1 MiB, and kMaxHosts
/// nodes in all faults together.
SimScenario parse_sim_faults(std::string_view yaml, const std::string& file, const topology::Fabric& fabric);
SimScenario load_sim_faults(const std::string& path, const topology::Fabric& fabric);

}  // namespace weft::probes
