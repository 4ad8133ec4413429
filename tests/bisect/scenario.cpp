#include "tests/bisect/scenario.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace weft::bisect {

topology::Fabric make_fabric(std::size_t nodes, std::size_t unit_size, int rails, int gpus_per_node) {
  topology::Fabric fabric;
  fabric.name = "simulated";
  fabric.file = "simulated.yaml";
  fabric.rails = rails;
  fabric.gpus_per_node = gpus_per_node;
  fabric.link.speed_gbit = 400;
  fabric.spines.links_per_leaf = 4;
  for (std::size_t spine = 0; spine < (unit_size + 3) / 4; ++spine)
    fabric.spines.nodes.push_back(fmt::format("spine{}", spine));
  for (std::size_t begin = 0; begin < nodes; begin += unit_size) {
    topology::Unit unit;
    unit.name = fmt::format("su{}", fabric.units.size() + 1);
    for (std::size_t node = begin; node < std::min(nodes, begin + unit_size); ++node) {
      unit.nodes.push_back(fmt::format("gpu{:05}", node + 1));
      fabric.unit_by_node.emplace(unit.nodes.back(), fabric.units.size());
    }
    for (int rail = 0; rail < rails; ++rail)
      unit.leaves.push_back(fmt::format("leaf-{}-{}", unit.name, rail));
    fabric.units.push_back(std::move(unit));
  }
  return fabric;
}

std::vector<std::string> hosts_of(const topology::Fabric& fabric) {
  std::vector<std::string> hosts;
  for (const topology::Unit& unit : fabric.units)
    hosts.insert(hosts.end(), unit.nodes.begin(), unit.nodes.end());
  return hosts;
}

probes::SimFault random_fault(probes::SimFault::Kind kind, const topology::Fabric& fabric, std::mt19937_64& random) {
  using Kind = probes::SimFault::Kind;
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const std::vector<std::string> hosts = hosts_of(fabric);
  probes::SimFault fault;
  fault.kind = kind;
  fault.factor = std::uniform_real_distribution<double>(0.5, 0.85)(random);
  const std::size_t unit = below(fabric.units.size());
  switch (kind) {
    case Kind::leaf:
    case Kind::uplink:
      fault.units = {fabric.units[unit].name};
      fault.rail = static_cast<int>(below(static_cast<std::size_t>(fabric.rails)));
      break;
    case Kind::path:
      fault.units = {fabric.units[unit].name, fabric.units[(unit + 1) % fabric.units.size()].name};
      fault.rail = static_cast<int>(below(static_cast<std::size_t>(fabric.rails)));
      break;
    case Kind::pair: {
      const std::size_t a = below(hosts.size());
      std::size_t b = below(hosts.size() - 1);
      if (b >= a) ++b;
      fault.nodes = {hosts[std::min(a, b)], hosts[std::max(a, b)]};
      break;
    }
    case Kind::scale:
      fault.min_nodes = static_cast<int>(3 + below(hosts.size() - 3));
      break;
    case Kind::rail:
      fault.rail = static_cast<int>(below(static_cast<std::size_t>(fabric.rails)));
      fault.nodes = {hosts[below(hosts.size())]};
      break;
    default:
      fault.nodes = {hosts[below(hosts.size())]};
  }
  return fault;
}

namespace {

std::string key_of(std::string kind, const std::vector<std::string>& names, std::optional<int> rail, int min_nodes) {
  for (const std::string& name : names)
    kind += " " + name;
  if (rail) kind += fmt::format(" rail {}", *rail);
  if (min_nodes > 0) kind += fmt::format(" from {}", min_nodes);
  return kind;
}

}  // namespace

std::vector<std::string> described(const std::vector<probes::SimFault>& faults, const topology::Fabric& fabric) {
  using Kind = probes::SimFault::Kind;
  static const char* const names[] = {"node",  "rail",  "leaf", "uplink",  "path",       "pair",
                                      "scale", "crash", "hang", "corrupt", "unreachable"};
  std::vector<std::string> result;
  for (const probes::SimFault& fault : faults) {
    std::string kind = names[static_cast<int>(fault.kind)];
    std::vector<std::string> things = fault.nodes.empty() ? fault.units : fault.nodes;
    // With two units nothing can tell whose uplink it is.
    if (fault.kind == Kind::uplink && fabric.units.size() == 2) {
      kind = "path";
      things = {fabric.units[0].name, fabric.units[1].name};
    }
    std::sort(things.begin(), things.end());
    result.push_back(key_of(kind, things, fault.rail, fault.min_nodes));
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> described(const Verdict& verdict) {
  static const char* const names[] = {"node",  "rail",  "leaf", "uplink",  "path",       "pair",
                                      "scale", "crash", "hang", "corrupt", "unreachable"};
  std::vector<std::string> result;
  for (const Culprit& culprit : verdict.culprits) {
    std::vector<std::string> things = culprit.nodes;
    things.insert(things.end(), culprit.units.begin(), culprit.units.end());
    if (!culprit.node.empty()) things.push_back(culprit.node);
    if (!culprit.unit.empty()) things.push_back(culprit.unit);
    std::sort(things.begin(), things.end());
    result.push_back(
        key_of(names[static_cast<int>(culprit.kind)], things, culprit.rail, culprit.min_nodes.value_or(0)));
  }
  std::sort(result.begin(), result.end());
  return result;
}

SearchOptions options_for(const topology::Fabric& fabric, const probes::Prober& prober) {
  SearchOptions options;
  options.expect_busbw_gbps = fabric.link.speed_gbit / 8 * fabric.rails;
  options.scaling = prober.scaling();
  options.can_pin_rails = prober.can_pin_rails();
  options.can_probe_single_nodes = prober.can_probe_single_nodes();
  return options;
}

SearchRun run_search(const topology::Fabric& fabric, const std::vector<std::string>& hosts, probes::Prober& prober,
                     const SearchOptions& options, std::uint64_t bytes) {
  using Clock = std::chrono::steady_clock;
  SearchRun run;
  probes::ProbeSpec spec;
  spec.bytes = bytes;
  spec.gpus_per_node = fabric.gpus_per_node;
  const std::atomic<bool> cancel{false};
  Search search(fabric, hosts, options);
  while (true) {
    auto begin = Clock::now();
    Round round = search.next_round();
    double choice_s = std::chrono::duration<double>(Clock::now() - begin).count();
    if (round.groups.empty()) break;
    const std::vector<probes::Measurement> measurements = prober.measure(round.groups, spec, cancel, {});
    for (const probes::Measurement& measurement : measurements) {
      run.node_seconds += static_cast<double>(measurement.group.nodes.size()) * measurement.wall_s;
    }
    begin = Clock::now();
    search.record(measurements);
    choice_s += std::chrono::duration<double>(Clock::now() - begin).count();
    run.slowest_choice_s = std::max(run.slowest_choice_s, choice_s);
    run.rounds = round.number;
    run.probes += static_cast<int>(measurements.size());
    run.log.push_back(std::move(round));
  }
  run.verdict = search.verdict();
  return run;
}

}  // namespace weft::bisect
