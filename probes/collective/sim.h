#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "probes/collective/prober.h"
#include "topology/fabric.h"

namespace weft::probes {

/// What is wrong with a simulated fabric. Which fields name it depends on `kind`, as for a culprit.
struct SimFault {
  enum class Kind { node, rail, leaf, uplink, path, pair, scale, crash, hang, corrupt, unreachable };
  Kind kind = Kind::node;
  std::vector<std::string> nodes;  ///< one; two for pair; for scale those without which it does not happen (or none)
  std::vector<std::string> units;  ///< one for leaf and uplink, two for path
  std::optional<int> rail;         ///< of rail; of leaf, uplink and path, where nothing means all rails
  int min_nodes = 0;               ///< of scale: the smallest group that shows it
  double factor = 0.5;             ///< what is left of the bandwidth; for scale 0 means that the probe hangs
  int from_round = 1;
};

struct SimNoise {
  double spread = 0.02;          ///< standard deviation of a reading, relative
  double outlier_rate = 0.01;    ///< share of probes that run at…
  double outlier_lowest = 0.6;   ///< …this to
  double outlier_highest = 0.9;  ///< …this of their true speed
  std::uint64_t seed = 1;
};

/// A fabric that exists only in arithmetic: each group reaches the bandwidth of its slowest part. Collectives are flat
/// rings in the order of the group's nodes, so a unit's uplink carries a ring once each way and a way between two units
/// counts only where they are neighbours in the ring. Groups of one round that share a leaf's uplinks share their
/// bandwidth. Noise depends on the seed, the round and the group, never on the order of calls.
class SimProber : public Prober {
 public:
  /// REQUIRES: every name in `faults` is in `fabric` (checked by parse_sim_faults). `fabric` outlives the prober.
  SimProber(const topology::Fabric& fabric, std::vector<SimFault> faults, const SimNoise& noise);

  std::vector<Measurement> measure(std::span<const Group> groups, const ProbeSpec& spec,
                                   const std::atomic<bool>& cancel,
                                   const std::function<void(const Measurement&)>& on_done) override;
  std::string name() const override { return "sim"; }
  Scaling scaling() const override { return Scaling::flat_ring; }
  bool can_pin_rails() const override { return fabric_.rails > 1; }
  bool can_probe_single_nodes() const override { return fabric_.gpus_per_node > 1; }

  /// Rounds measured before this prober was made, when a run is resumed.
  void start_after_round(int round) { round_ = round; }

 private:
  struct Ring {
    std::vector<std::size_t> units;  ///< each once, in the order that the ring enters them
    bool crosses() const { return units.size() > 1; }
  };
  Ring ring_of(const Group& group) const;
  double full_speed_gbps(const Group& group) const;
  double shared_uplink(const Group& group, const Ring& ring, const std::vector<int>& rings_through) const;
  void apply_fault(const SimFault& fault, const Group& group, const Ring& ring, Measurement& measurement,
                   double& factor) const;
  bool touches(const SimFault& fault, const Group& group, const Ring& ring) const;
  double noise(const Group& group) const;

  const topology::Fabric& fabric_;
  std::vector<SimFault> faults_;
  std::unordered_map<std::string, std::vector<std::size_t>> faults_of_node_;
  std::vector<std::size_t> other_faults_;
  SimNoise noise_;
  int round_ = 0;
};

}  // namespace weft::probes
