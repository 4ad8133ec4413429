#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "launch/agent_pool.h"
#include "launch/collective_probe.h"
#include "launch/launcher.h"
#include "probes/collective/prober.h"

namespace weft::launch {

struct GlooProberOptions {
  int gpus_per_node = 1;                     ///< ranks of a node; only to know what can be probed before the first spec
  std::string interface;                     ///< network interface of every node; when empty, the one of its address
  std::vector<std::string> rail_interfaces;  ///< interface of rail 0, 1, …; rails can be pinned only with such a list
  std::map<std::string, std::string> addresses;      ///< of single nodes, in the place of the launcher's
  std::map<std::string, probes::RankFaults> faults;  ///< injected on purpose (launch/injection.h)
  ConnectionLimits limits;
};

/// Measures collectives over Gloo (TCP) with an agent on every node. The first probe of a node starts its agent; all
/// stay up until this object goes, which ends them (AgentPool). A node whose agent dies, falls silent or breaks the
/// protocol is `unreachable` from then on and the run goes on without it.
///
/// A group has gpus_per_node ranks of each node, or one when it is pinned to a rail. A collective needs two ranks.
///
/// measure throws nothing: what cannot be measured is a value. Always call it from the thread that called it first
/// (child processes die with the thread that started them).
class GlooProber : public probes::Prober {
 public:
  GlooProber(std::unique_ptr<Launcher> launcher, GlooProberOptions options);

  std::vector<probes::Measurement> measure(std::span<const probes::Group> groups, const probes::ProbeSpec& spec,
                                           const std::atomic<bool>& cancel,
                                           const std::function<void(const probes::Measurement&)>& on_done) override;

  std::string name() const override { return "gloo"; }
  probes::Scaling scaling() const override { return probes::Scaling::flat_ring; }
  bool can_pin_rails() const override { return !options_.rail_interfaces.empty(); }
  bool can_probe_single_nodes() const override { return options_.gpus_per_node > 1; }

 private:
  class Round;

  AgentPool pool_;
  GlooProberOptions options_;
  std::uint64_t next_probe_ = 1;
};

}  // namespace weft::launch
