#include "bisect/inference.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace weft::bisect {
namespace {

/// Of a unit's nodes seen on a leaf, this share must be slow before the leaf is suspected rather than its nodes.
constexpr double kLeafShare = 0.75;
/// Slow groups of one leaf run at one speed: this share of them within kLeafSpeedBand of their median.
constexpr double kLeafSpeedBand = 0.08;

/// Readings less than so many spreads above the threshold are near it.
constexpr double kGuardSpreads = 1.5;
/// That many near readings, and none below, are good.
constexpr int kNearIsGood = 3;

Group::State state_of(const Group& group) {
  if (group.good + group.bad() == 0) return group.near >= kNearIsGood ? Group::State::good : Group::State::unknown;
  return group.good >= group.bad() ? Group::State::good : Group::State::low;
}

bool contains(const std::vector<NodeIndex>& sorted, NodeIndex node) {
  return std::binary_search(sorted.begin(), sorted.end(), node);
}

bool run_at_one_speed(const std::vector<double>& busbw_gbps) {
  const double median = probes::median_of(busbw_gbps);
  const auto near = std::count_if(busbw_gbps.begin(), busbw_gbps.end(),
                                  [&](double sample) { return std::abs(sample - median) <= kLeafSpeedBand * median; });
  return static_cast<double>(near) >= kLeafShare * static_cast<double>(busbw_gbps.size());
}

/// The units of a sorted group, each once; the ring enters the next one from each, and the first from the last.
std::vector<UnitIndex> units_in_ring(const Layout& layout, const std::vector<NodeIndex>& members) {
  std::vector<UnitIndex> units;
  for (NodeIndex node : members) {
    if (units.empty() || units.back() != layout.unit_of[node]) units.push_back(layout.unit_of[node]);
  }
  return units;
}

template <typename Visit>
void for_each_crossing(const std::vector<UnitIndex>& units, int rail, Visit visit) {
  if (units.size() < 2) return;
  const std::size_t crossings = units.size() == 2 ? 1 : units.size();
  for (std::size_t i = 0; i < crossings; ++i) {
    const UnitIndex from = units[i];
    const UnitIndex to = units[(i + 1) % units.size()];
    visit(CrossingKey{std::min(from, to), std::max(from, to), rail});
  }
}

}  // namespace

Inference::Inference(const Layout& layout, const Options& options)
    : layout_(layout),
      options_(options),
      expectations_({}),
      unreachable_(layout.node_count(), false),
      node_(layout.node_count()),
      single_(layout.node_count()),
      rail_(layout.node_count() * static_cast<std::size_t>(layout.rails)) {}

void Inference::add(Reading reading) {
  if (reading.status == probes::Status::refused) return;
  if (reading.status == probes::Status::unreachable) {
    for (NodeIndex node : reading.faulted)
      unreachable_[node] = true;
    if (!reading.faulted.empty()) return;
  }
  const auto [entry, is_new] = group_index_.try_emplace(std::pair(reading.rail, reading.members), groups_.size());
  if (is_new) {
    Group group;
    group.crosses_units = layout_.crosses_units(reading.members);
    group.members = std::move(reading.members);
    group.rail = reading.rail;
    groups_.push_back(std::move(group));
  }
  Group& group = groups_[entry->second];
  ++readings_;
  if (reading.status == probes::Status::ok) {
    group.busbw_gbps.push_back(reading.busbw_gbps);
  } else {
    ++group.failed;
    group.failure = reading.status;
  }
}

void Inference::solve() {
  std::fill(node_.begin(), node_.end(), Evidence{});
  std::fill(single_.begin(), single_.end(), Evidence{});
  std::fill(rail_.begin(), rail_.end(), Evidence{});
  leaf_good_.clear();
  leaf_bad_.clear();
  crossings_.clear();
  pairs_.clear();
  learn_expectations();
  judge_groups();
  detect_confounding();
  acquit();
  convict_leaves();
  convict_nodes();
  weigh_crossings_and_pairs();
}

const Group* Inference::find(std::vector<NodeIndex> members, int rail) const {
  std::sort(members.begin(), members.end());
  const auto found = group_index_.find(std::pair(rail, std::move(members)));
  return found == group_index_.end() ? nullptr : &groups_[found->second];
}

double Inference::expected_or_zero(std::size_t nodes, bool one_rail) const {
  return expectations_.expected_gbps({nodes, one_rail}).value_or(0);
}

double Inference::conviction_weight() const {
  return std::log(2 * static_cast<double>(layout_.node_count()) / options_.false_conviction_rate);
}

void Inference::learn_expectations() {
  expectations_ = ExpectationModel({.tolerance = options_.tolerance,
                                    .scaling = options_.scaling,
                                    .gpus_per_node = layout_.gpus_per_node,
                                    .rails = layout_.rails,
                                    .whole_nodes = layout_.node_count(),
                                    .absolute = options_.absolute});
  std::map<Shape, std::vector<double>> samples;
  std::map<Shape, int> groups;
  for (const Group& group : groups_) {
    const Shape shape{group.members.size(), group.rail != kAllRails};
    samples[shape].insert(samples[shape].end(), group.busbw_gbps.begin(), group.busbw_gbps.end());
    ++groups[shape];
  }
  for (auto& [shape, busbw_gbps] : samples) {
    // Where nothing else speaks for a shape, its only group would be its own measure.
    if (options_.scaling == probes::Scaling::none && groups[shape] < 2) continue;
    expectations_.learn(shape, std::move(busbw_gbps));
  }
}

double Inference::margin() const {
  return std::max(options_.tolerance, 3 * expectations_.spread());
}

void Inference::judge_groups() {
  // The threshold follows the measured spread: on a fabric that scatters by 5 %, 10 % below is no news. What lies less
  // than kGuardSpreads above it is repeated rather than believed.
  const double margin = this->margin();
  const double guard = std::min(kGuardSpreads * expectations_.spread(), margin / 2);
  flips_ = 0;
  for (Group& group : groups_) {
    group.good = group.near = group.low = 0;
    group.expected_gbps = expectations_.expected_gbps({group.members.size(), group.rail != kAllRails});
    for (double busbw_gbps : group.busbw_gbps) {
      if (!group.expected_gbps) continue;
      const double reached = busbw_gbps / *group.expected_gbps;
      ++(reached < 1 - margin ? group.low : reached < 1 - margin + guard ? group.near : group.good);
    }
    group.state = state_of(group);
    flips_ += std::min(group.good, group.bad());
  }
}

void Inference::detect_confounding() {
  confounded_ = false;
  if (options_.absolute) return;
  for (const bool one_rail : {false, true}) {
    std::vector<NodeIndex> common;
    bool first = true;
    bool contrast = false;
    for (const Group& group : groups_) {
      if ((group.rail != kAllRails) != one_rail || group.members.size() < 2 || group.busbw_gbps.empty()) continue;
      contrast |= group.state == Group::State::low;
      if (first) {
        common = group.members;
      } else {
        std::erase_if(common, [&](NodeIndex node) { return !contains(group.members, node); });
      }
      first = false;
    }
    if (first || contrast || common.empty()) continue;
    if (!one_rail) confounded_ = true;
    for (Group& group : groups_) {
      if ((group.rail != kAllRails) == one_rail && group.members.size() >= 2 && group.state == Group::State::good) {
        group.state = Group::State::unknown;
      }
    }
  }
}

bool Inference::rail_good(NodeIndex node, int rail) const {
  return node_[node].good || (rail != kAllRails && this->rail(node, rail).good);
}

const Evidence& Inference::rail(NodeIndex node, int rail) const {
  return rail_[node * static_cast<std::size_t>(layout_.rails) + static_cast<std::size_t>(rail)];
}

void Inference::acquit() {
  for (const Group& group : groups_) {
    if (group.state == Group::State::good) acquit_group(group);
  }
}

void Inference::acquit_group(const Group& group) {
  if (group.members.size() == 1) {
    single_[group.members.front()].good = true;
    return;
  }
  for (NodeIndex node : group.members) {
    Evidence& evidence =
        group.rail == kAllRails
            ? node_[node]
            : rail_[node * static_cast<std::size_t>(layout_.rails) + static_cast<std::size_t>(group.rail)];
    evidence.good = true;
    leaf_good_[{layout_.unit_of[node], group.rail}] = true;
  }
  for_each_crossing(units_in_ring(layout_, group.members), group.rail,
                    [&](const CrossingKey& key) { crossings_[key].good = true; });
}

void Inference::accuse(Evidence& evidence, const Group& group) const {
  const int unanswered = std::max(0, group.bad() - group.good);
  const int failed = std::min(group.failed, unanswered);
  evidence.against += failed * std::log(1 / kFailureRate) + (unanswered - failed) * std::log(1 / kOutlierRate);
  evidence.bad_readings += unanswered;
  evidence.busbw_gbps.insert(evidence.busbw_gbps.end(), group.busbw_gbps.begin(), group.busbw_gbps.end());
  if (group.expected_gbps) evidence.expected_gbps = std::max(evidence.expected_gbps, *group.expected_gbps);
  if (group.failed > 0) evidence.failure = group.failure;
}

// A leaf is suspected on one rail when nearly all nodes of its unit are slow there, at one speed, while another rail of
// the same unit is well: many independent faults would not look like that. A top-of-rack switch, or a probe that
// cannot pin rails, shows on all rails at once; then nodes of other units, known to be good, must be slow with it too.
void Inference::convict_leaves() {
  struct Seen {
    std::set<NodeIndex> low;
    std::set<NodeIndex> low_with_outsiders;
    std::set<NodeIndex> good;
    Evidence evidence;
  };
  std::map<std::pair<UnitIndex, int>, Seen> seen;
  for (const Group& group : groups_) {
    if (group.members.size() < 2 || group.state == Group::State::unknown) continue;
    const std::vector<UnitIndex> units = units_in_ring(layout_, group.members);
    for (UnitIndex unit : units) {
      bool outsiders_acquitted = true;
      for (NodeIndex node : group.members) {
        outsiders_acquitted &= layout_.unit_of[node] == unit || rail_good(node, group.rail);
      }
      if (!outsiders_acquitted || units.size() > 2) continue;
      Seen& of_leaf = seen[{unit, group.rail}];
      for (NodeIndex node : group.members) {
        if (layout_.unit_of[node] != unit) continue;
        if (group.state == Group::State::good) {
          of_leaf.good.insert(node);
        } else if (!rail_good(node, group.rail)) {
          of_leaf.low.insert(node);
          if (units.size() == 2) of_leaf.low_with_outsiders.insert(node);
        }
      }
      if (group.state == Group::State::low && group.members.size() < layout_.node_count()) {
        accuse(of_leaf.evidence, group);
      }
    }
  }
  for (auto& [key, of_leaf] : seen) {  // a node that is well over all rails is well on this one
    for (NodeIndex node : layout_.unit_nodes[key.first]) {
      if (node_[node].good) of_leaf.good.insert(node);
    }
  }
  const auto mostly_low = [](const Seen& of_leaf) {
    const auto total = static_cast<double>(of_leaf.low.size() + of_leaf.good.size());
    return static_cast<double>(of_leaf.low.size()) >= kLeafShare * total;
  };
  for (auto& [key, of_leaf] : seen) {
    const auto& [unit, rail] = key;
    const std::size_t unit_size = layout_.unit_nodes[unit].size();
    const bool seen_widely =
        of_leaf.low.size() >= 3 || (of_leaf.low_with_outsiders.size() == unit_size && unit_size == 2);
    if (!seen_widely || !mostly_low(of_leaf) || !run_at_one_speed(of_leaf.evidence.busbw_gbps)) continue;
    bool another_rail_well = false;
    bool any_rail_pinned = false;
    for (int other = 0; other < layout_.rails; ++other) {
      const auto found = seen.find({unit, other});
      if (found == seen.end()) continue;
      any_rail_pinned = true;
      another_rail_well |= other != rail && !mostly_low(found->second);
    }
    const bool all_at_once =
        rail == kAllRails && !of_leaf.low_with_outsiders.empty() && (layout_.one_leaf[unit] || !any_rail_pinned);
    const bool one_rail = rail != kAllRails && another_rail_well;
    if ((one_rail || all_at_once) && convicted(of_leaf.evidence)) leaf_bad_[key] = of_leaf.evidence;
  }
}

std::vector<NodeIndex> Inference::candidates(const Group& group) const {
  std::vector<NodeIndex> result;
  for (NodeIndex node : group.members) {
    const bool acquitted = group.members.size() == 1 ? single_[node].good : rail_good(node, group.rail);
    if (!acquitted) result.push_back(node);
  }
  return result;
}

void Inference::convict_nodes() {
  for (const Group& group : groups_) {
    if (group.state != Group::State::low) continue;
    // A large group may also be slow by its size, or by two nodes together: it is no evidence against one.
    if (group.members.size() > std::max<std::size_t>(2, layout_.node_count() / 2)) continue;
    const bool on_bad_leaf = std::any_of(group.members.begin(), group.members.end(), [&](NodeIndex node) {
      if (group.members.size() == 1) return false;
      const UnitIndex unit = layout_.unit_of[node];
      if (group.rail != kAllRails) return leaf_bad(unit, group.rail) || leaf_bad(unit, kAllRails);
      return std::any_of(leaf_bad_.begin(), leaf_bad_.end(),
                         [&](const auto& leaf) { return leaf.first.first == unit; });
    });
    if (on_bad_leaf) continue;
    const std::vector<NodeIndex> suspects = candidates(group);
    if (suspects.size() != 1) continue;
    const NodeIndex suspect = suspects.front();
    if (group.members.size() == 1) {
      accuse(single_[suspect], group);
    } else if (group.rail == kAllRails) {
      accuse(node_[suspect], group);
    } else {
      accuse(rail_[suspect * static_cast<std::size_t>(layout_.rails) + static_cast<std::size_t>(group.rail)], group);
    }
  }
}

bool Inference::node_bad(NodeIndex node) const {
  if (unreachable_[node] || convicted(single_[node])) return true;
  if (node_[node].good) return false;
  double against = node_[node].against + single_[node].against;
  for (int r = 0; r < layout_.rails; ++r)
    against += rail(node, r).good ? 0 : rail(node, r).against;
  return against >= conviction_weight();
}

std::vector<int> Inference::bad_rails(NodeIndex node) const {
  std::vector<int> bad;
  bool any_good = false;
  for (int r = 0; r < layout_.rails; ++r) {
    const Evidence& evidence = rail(node, r);
    any_good |= evidence.good;
    if (!evidence.good && evidence.against > 0) bad.push_back(r);
  }
  // Nearly all of them: it is the node, and a good one among them was a lucky reading.
  const bool most = bad.size() >= 3 && 2 * bad.size() > static_cast<std::size_t>(layout_.rails);
  if (!any_good || most) bad.clear();
  return bad;
}

bool Inference::rails_confirmed(NodeIndex node) const {
  // One slow rail explains the slow node; a second one would be a fault of its own, and takes more to believe.
  const std::vector<int> rails = bad_rails(node);
  const int needed = rails.size() == 1 ? 2 : 3;
  return std::all_of(rails.begin(), rails.end(), [&](int r) { return rail(node, r).bad_readings >= needed; });
}

bool Inference::explained(const Group& group) const {
  if (group.members.size() >= 2) {
    for (const auto& [leaf, evidence] : leaf_bad_) {
      const auto& [unit, rail] = leaf;
      if (rail != kAllRails && group.rail != kAllRails && rail != group.rail) continue;
      for (NodeIndex node : group.members) {
        if (layout_.unit_of[node] == unit) return true;
      }
    }
  }
  return std::any_of(group.members.begin(), group.members.end(), [&](NodeIndex node) {
    if (!node_bad(node)) return false;
    if (group.rail == kAllRails || unreachable_[node]) return true;
    const std::vector<int> rails = bad_rails(node);
    return rails.empty() || std::find(rails.begin(), rails.end(), group.rail) != rails.end();
  });
}

void Inference::weigh_crossings_and_pairs() {
  for (const Group& group : groups_) {
    // Of larger groups it is open which way, or which of their nodes together, made them slow.
    if (group.state != Group::State::low || group.members.size() != 2 || explained(group)) continue;
    if (!candidates(group).empty()) continue;
    const std::vector<UnitIndex> units = units_in_ring(layout_, group.members);
    const CrossingKey crossing{units.front(), units.back(), group.rail};
    const auto known = crossings_.find(crossing);
    const bool crossing_good = known != crossings_.end() && known->second.good;
    if (units.size() == 2 && !crossing_good) {
      accuse(crossings_[crossing], group);
    } else {
      accuse(pairs_[{group.members[0], group.members[1]}], group);
    }
  }
}

std::vector<Inference::Unexplained> Inference::unexplained() const {
  std::vector<Unexplained> result;
  for (const Group& group : groups_) {
    if (group.state == Group::State::low && !explained(group)) result.push_back({&group, candidates(group)});
  }
  return result;
}

}  // namespace weft::bisect
