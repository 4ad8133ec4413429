#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "probes/collective/measurement.h"

namespace weft::probes {

/// How a prober's bus bandwidth moves with the number of nodes on a healthy fabric.
enum class Scaling {
  flat_ring,  ///< bounded by a node's links whatever the count: like may be compared across sizes
  none,       ///< nothing follows from one size for another (ranks that share a machine): equal shapes only
  unknown,    ///< may fall with the count (hierarchical algorithms): compare equal shapes only
};

/// Measures the groups of one round at once. Groups are disjoint unless pinned to different rails.
class Prober {
 public:
  virtual ~Prober() = default;

  /// One measurement a group, in the groups' order, whatever happens to it: a probe that fails is a value. `on_done` is
  /// called (from the calling thread) as each probe ends. When `*cancel` becomes true, what still runs is ended
  /// and reported as refused with reason "cancelled". Throws RunError only when nothing can be measured any more.
  virtual std::vector<Measurement> measure(std::span<const Group> groups, const ProbeSpec& spec,
                                           const std::atomic<bool>& cancel,
                                           const std::function<void(const Measurement&)>& on_done) = 0;

  virtual std::string name() const = 0;
  virtual Scaling scaling() const = 0;
  virtual bool can_pin_rails() const = 0;
  /// Whether a single node's probe has a bus bandwidth (more than one rank a node).
  virtual bool can_probe_single_nodes() const = 0;
};

}  // namespace weft::probes
