#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "bisect/search.h"
#include "probes/collective/sim.h"
#include "topology/fabric.h"

namespace weft::bisect {

/// A rail-optimised fabric of `nodes` in units of `unit_size`, with non-blocking uplinks.
topology::Fabric make_fabric(std::size_t nodes, std::size_t unit_size = 32, int rails = 8, int gpus_per_node = 8);
std::vector<std::string> hosts_of(const topology::Fabric& fabric);

/// One fault of a kind at a random place, of a random factor in [0.5, 0.85]. Paths join neighbours in the ring of
/// units.
probes::SimFault random_fault(probes::SimFault::Kind kind, const topology::Fabric& fabric, std::mt19937_64& random);

/// What a verdict has to name for these faults, and what it named: printable and comparable.
std::vector<std::string> described(const std::vector<probes::SimFault>& faults, const topology::Fabric& fabric);
std::vector<std::string> described(const Verdict& verdict);

struct SearchRun {
  Verdict verdict;
  int rounds = 0;
  int probes = 0;
  double node_seconds = 0;
  double slowest_choice_s = 0;  ///< the search's own time in its slowest round
  std::vector<Round> log;
};

SearchOptions options_for(const topology::Fabric& fabric, const probes::Prober& prober);
SearchRun run_search(const topology::Fabric& fabric, const std::vector<std::string>& hosts, probes::Prober& prober,
                     const SearchOptions& options, std::uint64_t bytes = 1ULL << 30);

}  // namespace weft::bisect
