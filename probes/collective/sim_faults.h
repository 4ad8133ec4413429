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
///
/// Throws InputError with file:line:column for syntax, unknown keys (with the nearest known one), values out of range,
/// nodes, units and rails that the fabric does not have, and keys that do not belong to the kind.
SimScenario parse_sim_faults(std::string_view yaml, const std::string& file, const topology::Fabric& fabric);
SimScenario load_sim_faults(const std::string& path, const topology::Fabric& fabric);

}  // namespace weft::probes
