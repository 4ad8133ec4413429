#include "tests/bench/reference_strategies.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

namespace weft::bench {
namespace {

using Nodes = std::vector<std::string>;

/// Which of the groups, measured at once, are slow.
std::vector<bool> slow(const Bench& bench, const std::vector<Nodes>& groups, Attempt& attempt) {
  const std::atomic<bool> cancel{false};
  probes::ProbeSpec spec;
  spec.bytes = 1ULL << 30;
  std::vector<probes::Group> round;
  for (const Nodes& nodes : groups)
    round.push_back({nodes, std::nullopt});
  std::vector<bool> result;
  for (const probes::Measurement& measurement : bench.prober.measure(round, spec, cancel, {})) {
    result.push_back(measurement.status != probes::Status::ok || measurement.busbw_gbps < bench.threshold_gbps);
    attempt.node_seconds += static_cast<double>(measurement.group.nodes.size()) * measurement.wall_s;
  }
  ++attempt.rounds;
  return result;
}

std::pair<Nodes, Nodes> halves(const Nodes& nodes) {
  const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
  return {Nodes(nodes.begin(), middle), Nodes(middle, nodes.end())};
}

}  // namespace

Attempt sequential_halving(const Bench& bench) {
  Attempt attempt;
  Nodes suspects = bench.hosts;
  if (!slow(bench, {suspects}, attempt).front()) return attempt;
  Nodes well;
  while (suspects.size() > 1) {
    auto [left, right] = halves(suspects);
    Nodes probe = left;
    if (probe.size() == 1) probe.push_back(well.empty() ? right.back() : well.front());
    const bool left_slow = slow(bench, {probe}, attempt).front();
    well = left_slow ? right : left;
    suspects = left_slow ? left : right;
  }
  attempt.blamed = suspects;
  return attempt;
}

Attempt recursive_parallel_halving(const Bench& bench) {
  Attempt attempt;
  if (!slow(bench, {bench.hosts}, attempt).front()) return attempt;
  std::vector<Nodes> slow_sets = {bench.hosts};
  Nodes well;
  Nodes singles;
  while (!slow_sets.empty()) {
    std::vector<Nodes> parts;
    for (const Nodes& set : slow_sets) {
      if (set.size() <= 3) {
        singles.insert(singles.end(), set.begin(), set.end());
        continue;
      }
      auto [left, right] = halves(set);
      parts.push_back(std::move(left));
      parts.push_back(std::move(right));
    }
    slow_sets.clear();
    if (parts.empty()) break;
    const std::vector<bool> is_slow = slow(bench, parts, attempt);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (is_slow[i]) {
        slow_sets.push_back(parts[i]);
      } else {
        well.insert(well.end(), parts[i].begin(), parts[i].end());
      }
    }
  }
  for (std::size_t begin = 0; begin < singles.size() && !well.empty(); begin += well.size()) {
    std::vector<Nodes> pairs;
    for (std::size_t i = begin; i < std::min(singles.size(), begin + well.size()); ++i) {
      pairs.push_back({singles[i], well[i - begin]});
    }
    const std::vector<bool> is_slow = slow(bench, pairs, attempt);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (is_slow[i]) attempt.blamed.push_back(pairs[i].front());
    }
  }
  return attempt;
}

Attempt full_pair_scan(const Bench& bench) {
  Attempt attempt;
  std::vector<std::size_t> circle(bench.hosts.size() + bench.hosts.size() % 2);
  std::iota(circle.begin(), circle.end(), std::size_t{0});
  std::map<std::string, int> slow_partners;
  for (std::size_t round = 0; round + 1 < circle.size(); ++round) {
    std::vector<Nodes> pairs;
    for (std::size_t i = 0; i < circle.size() / 2; ++i) {
      const std::size_t a = circle[i];
      const std::size_t b = circle[circle.size() - 1 - i];
      if (a < bench.hosts.size() && b < bench.hosts.size()) pairs.push_back({bench.hosts[a], bench.hosts[b]});
    }
    const std::vector<bool> is_slow = slow(bench, pairs, attempt);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      for (const std::string& node : pairs[i])
        slow_partners[node] += is_slow[i];
    }
    std::rotate(circle.begin() + 1, circle.end() - 1, circle.end());
  }
  for (const auto& [node, count] : slow_partners) {
    if (2 * count > static_cast<int>(bench.hosts.size()) - 1) attempt.blamed.push_back(node);
  }
  return attempt;
}

}  // namespace weft::bench
