#include "probes/collective/sim.h"

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

namespace weft::probes {
namespace {

constexpr double kDefaultRailGbit = 400;
constexpr double kNvlinkBusbwGbps = 480;  // one H100 node with NVLS: nccl-tests' all_reduce at large sizes
constexpr double kProbeOverheadS = 0.1;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::uint64_t mixed(std::uint64_t state, std::uint64_t value) {  // splitmix64's finaliser over both
  std::uint64_t z = state + 0x9e3779b97f4a7c15ULL + value;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

bool rails_meet(const std::optional<int>& fault, const std::optional<int>& probe) {
  return !fault || !probe || *fault == *probe;
}

Status status_of(SimFault::Kind kind) {
  switch (kind) {
    case SimFault::Kind::crash:
      return Status::failed;
    case SimFault::Kind::hang:
      return Status::hung;
    case SimFault::Kind::corrupt:
      return Status::corrupt;
    case SimFault::Kind::unreachable:
      return Status::unreachable;
    default:
      return Status::ok;
  }
}

int gravity(Status status) {
  switch (status) {
    case Status::ok:
      return 0;
    case Status::corrupt:
      return 1;
    case Status::failed:
      return 2;
    case Status::hung:
      return 3;
    case Status::unreachable:
      return 4;
    case Status::refused:
      return 5;
  }
  return 0;
}

}  // namespace

SimProber::SimProber(const topology::Fabric& fabric, std::vector<SimFault> faults, const SimNoise& noise)
    : fabric_(fabric), faults_(std::move(faults)), noise_(noise) {
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (faults_[i].nodes.empty()) other_faults_.push_back(i);
    if (!faults_[i].nodes.empty()) faults_of_node_[faults_[i].nodes.front()].push_back(i);
  }
}

SimProber::Ring SimProber::ring_of(const Group& group) const {
  Ring ring;
  for (const std::string& node : group.nodes) {
    const std::size_t unit = fabric_.unit_of(node).value_or(fabric_.units.size());
    if (ring.units.empty() || ring.units.back() != unit) ring.units.push_back(unit);
  }
  if (ring.units.size() > 1 && ring.units.front() == ring.units.back()) ring.units.pop_back();
  return ring;
}

double SimProber::full_speed_gbps(const Group& group) const {
  if (group.nodes.size() == 1) return kNvlinkBusbwGbps;
  const double rail_gbit = fabric_.link.speed_gbit > 0 ? fabric_.link.speed_gbit : kDefaultRailGbit;
  return rail_gbit / 8 * (group.rail ? 1 : fabric_.rails);
}

/// What a leaf's uplinks leave to each ring through it; 1 where the spines are not declared.
double SimProber::shared_uplink(const Group&, const Ring& ring, const std::vector<int>& rings_through) const {
  const auto links = static_cast<double>(fabric_.spines.nodes.size()) * fabric_.spines.links_per_leaf;
  if (!ring.crosses() || links <= 0) return 1;
  double share = 1;
  for (std::size_t unit : ring.units)
    share = std::min(share, links / rings_through[unit]);
  return share;
}

bool SimProber::touches(const SimFault& fault, const Group& group, const Ring& ring) const {
  const auto unit_is = [&](std::size_t unit, const std::string& name) {
    return unit < fabric_.units.size() && fabric_.units[unit].name == name;
  };
  const auto through = [&](const std::string& name) {
    return std::any_of(ring.units.begin(), ring.units.end(), [&](std::size_t unit) { return unit_is(unit, name); });
  };
  if (round_ < fault.from_round) return false;
  switch (fault.kind) {
    case SimFault::Kind::rail:
      return group.nodes.size() > 1 && rails_meet(fault.rail, group.rail);
    case SimFault::Kind::leaf:
      return group.nodes.size() > 1 && rails_meet(fault.rail, group.rail) && through(fault.units.front());
    case SimFault::Kind::uplink:
      return ring.crosses() && rails_meet(fault.rail, group.rail) && through(fault.units.front());
    case SimFault::Kind::path: {
      if (!ring.crosses() || !rails_meet(fault.rail, group.rail)) return false;
      for (std::size_t i = 0; i < ring.units.size(); ++i) {
        const std::size_t from = ring.units[i];
        const std::size_t to = ring.units[(i + 1) % ring.units.size()];
        if (unit_is(from, fault.units[0]) && unit_is(to, fault.units[1])) return true;
        if (unit_is(from, fault.units[1]) && unit_is(to, fault.units[0])) return true;
      }
      return false;
    }
    case SimFault::Kind::pair:
      return contains(group.nodes, fault.nodes[1]);
    case SimFault::Kind::scale:
      return static_cast<int>(group.nodes.size()) >= fault.min_nodes &&
             std::all_of(fault.nodes.begin(), fault.nodes.end(),
                         [&](const std::string& node) { return contains(group.nodes, node); });
    default:
      return true;
  }
}

void SimProber::apply_fault(const SimFault& fault, const Group& group, const Ring& ring, Measurement& measurement,
                            double& factor) const {
  if (!touches(fault, group, ring)) return;
  Status status = status_of(fault.kind);
  if (fault.kind == SimFault::Kind::scale && fault.factor <= 0) status = Status::hung;
  if (status == Status::ok) {
    factor = std::min(factor, fault.factor);
    return;
  }
  if (gravity(status) <= gravity(measurement.status)) return;
  measurement.status = status;
  measurement.stage = status == Status::corrupt ? Stage::check : Stage::run;
  measurement.reason = std::string("simulated: ") + to_string(status);
  if (status == Status::unreachable)
    measurement.node_faults = {{fault.nodes.front(), -1, Stage::login, "simulated: not reached"}};
}

double SimProber::noise(const Group& group) const {
  std::uint64_t key = mixed(noise_.seed, static_cast<std::uint64_t>(round_));
  key = mixed(key, static_cast<std::uint64_t>(group.rail.value_or(-1) + 1));
  for (const std::string& node : group.nodes)
    key = mixed(key, std::hash<std::string>{}(node));
  std::mt19937_64 random(key);
  double factor = std::max(0.01, std::normal_distribution<double>(1, noise_.spread)(random));
  std::uniform_real_distribution<double> uniform;
  if (uniform(random) < noise_.outlier_rate) {
    factor *= noise_.outlier_lowest + uniform(random) * (noise_.outlier_highest - noise_.outlier_lowest);
  }
  return factor;
}

std::vector<Measurement> SimProber::measure(std::span<const Group> groups, const ProbeSpec& spec,
                                            const std::atomic<bool>& cancel,
                                            const std::function<void(const Measurement&)>& on_done) {
  ++round_;
  std::vector<Ring> rings;
  rings.reserve(groups.size());
  std::unordered_map<int, std::vector<int>> rings_through;  // by rail, by unit
  for (const Group& group : groups) {
    rings.push_back(ring_of(group));
    auto& of_rail = rings_through[group.rail.value_or(-1)];
    of_rail.resize(fabric_.units.size() + 1);
    if (!rings.back().crosses()) continue;
    for (std::size_t unit : rings.back().units)
      ++of_rail[unit];
  }
  std::vector<Measurement> measurements;
  measurements.reserve(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    Measurement measurement;
    measurement.group = group;
    measurement.op = spec.op;
    measurement.bytes = spec.bytes;
    measurement.ranks = static_cast<int>(group.nodes.size()) * (group.rail ? 1 : fabric_.gpus_per_node);
    measurement.status = Status::ok;
    double factor = shared_uplink(group, rings[i], rings_through[group.rail.value_or(-1)]);
    for (const std::string& node : group.nodes) {
      const auto found = faults_of_node_.find(node);
      if (found == faults_of_node_.end()) continue;
      for (std::size_t fault : found->second)
        apply_fault(faults_[fault], group, rings[i], measurement, factor);
    }
    for (std::size_t fault : other_faults_)
      apply_fault(faults_[fault], group, rings[i], measurement, factor);
    measurement.busbw_gbps = full_speed_gbps(group) * factor * noise(group);
    const double bus = bus_factor(spec.op, measurement.ranks);
    measurement.algbw_gbps = bus > 0 ? measurement.busbw_gbps / bus : 0;
    if (measurement.algbw_gbps > 0) measurement.time_s = static_cast<double>(spec.bytes) / 1e9 / measurement.algbw_gbps;
    measurement.wall_s = kProbeOverheadS + measurement.time_s * (spec.iterations + spec.warm_up_iterations);
    if (measurement.status == Status::hung) measurement.wall_s = spec.timeouts.run_s;
    if (measurement.status != Status::ok) measurement.busbw_gbps = measurement.algbw_gbps = measurement.time_s = 0;
    if (cancel) {
      measurement.status = Status::refused;
      measurement.reason = "cancelled";
    }
    if (on_done) on_done(measurement);
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

}  // namespace weft::probes
