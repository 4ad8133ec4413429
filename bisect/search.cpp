#include "bisect/search.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "bisect/combination.h"
#include "bisect/conclusion.h"
#include "bisect/inference.h"
#include "bisect/layout.h"
#include "bisect/round_plan.h"
#include "bisect/ways.h"

namespace weft::bisect {
namespace {

using Nodes = std::vector<NodeIndex>;

/// A group that does not settle is not measured more often than this.
constexpr int kMostReadings = 6;
/// Partners tried for one suspect.
constexpr int kMostPartners = 10;
/// Pairings of suspects with each other while no node is known to be good.
constexpr int kMostRotations = 3;
/// Rounds in a row in which not one probe could run: more of them would say the same.
constexpr int kMostRefusedRounds = 2;

}  // namespace

class Search::State {
 public:
  State(const topology::Fabric& fabric, const std::vector<std::string>& nodes, const SearchOptions& options)
      : layout_(fabric, nodes, options.can_pin_rails ? fabric.rails : 1),
        options_(options),
        inference_(layout_, {.tolerance = options.tolerance,
                             .scaling = options.scaling,
                             .absolute = absolute_expectation(fabric, nodes.size(), options),
                             .false_conviction_rate = 1e-3}) {}

  Round next_round() {
    Round round;
    if (!finished_ && rounds_ < options_.max_rounds && refused_rounds_ < kMostRefusedRounds) round = choose();
    if (round.groups.empty()) {
      finished_ = true;
      return round;
    }
    round.number = ++rounds_;
    return round;
  }

  void record(std::span<const probes::Measurement> measurements) {
    const bool nothing_ran = std::all_of(measurements.begin(), measurements.end(), [](const auto& measurement) {
      return measurement.status == probes::Status::refused;
    });
    refused_rounds_ = nothing_ran ? refused_rounds_ + 1 : 0;
    for (const probes::Measurement& measurement : measurements) {
      touched_.note(layout_, measurement);
      inference_.add(to_reading(layout_, measurement));
    }
    inference_.solve();
  }

  Verdict verdict() const {
    return conclude({.layout = layout_,
                     .inference = inference_,
                     .combinations = combinations_,
                     .touched = touched_,
                     .rest_good = rest_good(),
                     .rest = rest_groups().empty() ? Nodes{} : rest_groups().front(),
                     .out_of_rounds = rounds_ >= options_.max_rounds && !finished_cleanly_});
  }

 private:
  static std::optional<AbsoluteExpectation> absolute_expectation(const topology::Fabric& fabric, std::size_t nodes,
                                                                 const SearchOptions& options) {
    if (options.expect_busbw_gbps) return AbsoluteExpectation{*options.expect_busbw_gbps, Baseline::Source::flag};
    const auto declared = fabric.expect.find(probes::to_string(options.op));
    if (declared != fabric.expect.end())
      return AbsoluteExpectation{declared->second.busbw_gbps, Baseline::Source::fabric};
    if (options.history_busbw_gbps) return AbsoluteExpectation{*options.history_busbw_gbps, Baseline::Source::history};
    constexpr std::size_t kWithoutPeers = 2;
    if (options.model_busbw_gbps && nodes <= kWithoutPeers) {
      return AbsoluteExpectation{*options.model_busbw_gbps, Baseline::Source::model};
    }
    return std::nullopt;
  }

  Round choose() {
    if (!asked_whole_) return whole();
    if (rest_good() && !suspects_left()) return finish();
    if (options_.strategy == Strategy::halving) return choose_by_halving();
    if (!asked_singles_ && options_.can_probe_single_nodes) return singles();
    if (!asked_pairs_ && layout_.node_count() > 2) return pairs();
    for (const auto next :
         {&State::resolve, &State::measure_rest, &State::crossings, &State::combination, &State::doubts}) {
      Round round = (this->*next)();
      if (!round.groups.empty()) return round;
      if (rest_good() && !suspects_left()) return finish();
    }
    return finish();
  }

  /// One group at a time: what is left is halved until a node, a pair or a size is found, and taken out.
  Round choose_by_halving() {
    if (inference_.confounded()) {
      Round round = contrast();
      if (!round.groups.empty()) return round;
    }
    for (const auto next : {&State::measure_rest, &State::combination, &State::doubts}) {
      Round round = (this->*next)();
      if (!round.groups.empty()) return round;
    }
    return finish();
  }

  /// Without a figure for the whole set, its halves are each other's measure.
  Round contrast() {
    const Nodes nodes = all_nodes();
    if (nodes.size() < 4) return {};
    const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
    RoundPlan plan(layout_);
    for (const Nodes& half : {Nodes(nodes.begin(), middle), Nodes(middle, nodes.end())}) {
      if (plan.empty() && inference_.find(half, kAllRails) == nullptr) plan.add(half);
    }
    return plan.to_round("halves");
  }

  Round finish() {
    finished_cleanly_ = true;
    return {};
  }

  // ---- what is left -------------------------------------------------------------------------------------------

  bool usable(NodeIndex node) const { return inference_.reachable(node); }

  bool unit_has_bad_leaf(UnitIndex unit) const {
    const auto& leaves = inference_.bad_leaves();
    return std::any_of(leaves.begin(), leaves.end(), [&](const auto& leaf) { return leaf.first.first == unit; });
  }

  /// Well on every rail that its unit's leaves let it show.
  bool acquitted(NodeIndex node) const {
    if (inference_.node_good(node)) return true;
    if (!unit_has_bad_leaf(layout_.unit_of[node])) return false;
    for (int rail = 0; rail < layout_.rails; ++rail) {
      if (inference_.leaf_bad(layout_.unit_of[node], rail)) continue;
      if (inference_.leaf_bad(layout_.unit_of[node], kAllRails)) return true;
      if (!inference_.rail_good(node, rail)) return false;
    }
    return true;
  }

  bool good_on(NodeIndex node, int rail) const {
    return rail == kAllRails ? inference_.node_good(node) : inference_.rail_good(node, rail);
  }

  bool settled(NodeIndex node) const {
    if (!usable(node) || acquitted(node)) return true;
    if (tries_[node] >= kMostPartners) return true;
    if (!inference_.node_bad(node)) return false;
    return !options_.can_pin_rails || inference_.convicted(inference_.single(node)) ||
           (swept_.contains(node) && inference_.rails_confirmed(node));
  }

  bool suspects_left() const {
    if (!asked_pairs_) return false;
    for (NodeIndex node = 0; node < layout_.node_count(); ++node) {
      if (inference_.node_bad(node) && !settled(node)) return true;
    }
    return false;
  }

  /// Everything that is neither guilty nor behind something guilty; units cut off by their uplinks stand apart.
  std::vector<Nodes> rest_groups() const {
    const std::set<UnitIndex> cut = units_cut_off(layout_, inference_);
    std::set<NodeIndex> paired;
    for (const CombinationSearch::Conclusion& combination : combinations_) {
      paired.insert(combination.together.begin(), combination.together.end());
    }
    for (const auto& [pair, evidence] : inference_.pairs()) {
      if (inference_.convicted(evidence)) paired.insert({pair.first, pair.second});
    }
    Nodes rest;
    std::map<UnitIndex, Nodes> apart;
    for (NodeIndex node = 0; node < layout_.node_count(); ++node) {
      const UnitIndex unit = layout_.unit_of[node];
      if (!usable(node) || inference_.node_bad(node) || unit_has_bad_leaf(unit) || paired.contains(node)) continue;
      (cut.contains(unit) ? apart[unit] : rest).push_back(node);
    }
    std::vector<Nodes> groups;
    if (rest.size() >= 2) groups.push_back(std::move(rest));
    for (auto& [unit, nodes] : apart) {
      if (nodes.size() >= 2) groups.push_back(std::move(nodes));
    }
    return groups;
  }

  bool rest_good() const {
    const std::vector<Nodes> groups = rest_groups();
    if (groups.empty()) return false;
    return std::all_of(groups.begin(), groups.end(), [&](const Nodes& members) {
      const Group* group = inference_.find(members, kAllRails);
      return group != nullptr && group->state == Group::State::good && group->good + group->near > group->bad();
    });
  }

  // ---- rounds -------------------------------------------------------------------------------------------------

  Nodes all_nodes() const {
    Nodes nodes(layout_.node_count());
    for (NodeIndex node = 0; node < nodes.size(); ++node)
      nodes[node] = node;
    return nodes;
  }

  Round whole() {
    asked_whole_ = true;
    RoundPlan plan(layout_);
    plan.add(all_nodes());
    return plan.to_round(layout_.node_count() == 1 ? "single node" : "whole set");
  }

  Round singles() {
    asked_singles_ = true;
    RoundPlan plan(layout_);
    for (NodeIndex node = 0; node < layout_.node_count(); ++node) {
      if (usable(node)) plan.add({node});
    }
    return plan.to_round("single nodes");
  }

  /// Neighbours under the same leaves; the odd one out of each unit gets its partner later.
  Round pairs() {
    asked_pairs_ = true;
    RoundPlan plan(layout_);
    for (const Nodes& nodes : layout_.unit_nodes) {
      Nodes waiting;
      for (NodeIndex node : nodes) {
        if (!usable(node)) continue;
        waiting.push_back(node);
        if (waiting.size() < 2) continue;
        plan.add(std::exchange(waiting, {}));
      }
    }
    return plan.to_round("pairs");
  }

  Round resolve() {
    RoundPlan plan(layout_);
    sweep_slow_units(plan);
    for (NodeIndex node : suspects())
      test_suspect(plan, node);
    repeat_low_singles(plan);
    if (swept_this_round_) add_controls(plan);
    swept_this_round_ = false;
    // A few suspects may be outliers, and the ways between units what is slow: nodes that idle look at those meanwhile.
    if (!plan.empty()) add_crossings(plan);
    return plan.to_round("partners");
  }

  /// A node that is well among others does not slow a collective: its repetition rides along, and costs no round.
  void repeat_low_singles(RoundPlan& plan) {
    const bool nothing_else = plan.empty();
    for (const Group& group : inference_.groups()) {
      if (group.members.size() != 1 || group.state != Group::State::low) continue;
      const NodeIndex node = group.members.front();
      if (inference_.node_bad(node) || group.good + group.bad() >= kMostReadings) continue;
      if (nothing_else && inference_.node_good(node)) continue;
      plan.add({node});
    }
  }

  /// Two nodes that are well with others and slow together: noise, or a pair.
  void repeat_contradictions(RoundPlan& plan) {
    for (const auto& [pair, evidence] : inference_.pairs()) {
      if (inference_.convicted(evidence) || known_combination(pair.first, pair.second)) continue;
      const Group* group = inference_.find({pair.first, pair.second}, kAllRails);
      if (group != nullptr && group->good + group->bad() < kMostReadings) plan.add({pair.first, pair.second});
    }
  }

  /// Where nearly all pairs of a unit are slow its leaf is suspected: look at every rail of the pairs at once.
  void sweep_slow_units(RoundPlan& plan) {
    if (!options_.can_pin_rails) return;
    std::vector<std::pair<int, int>> low_of_all(layout_.unit_count());
    for (const Group& group : inference_.groups()) {
      if (group.members.size() != 2 || group.rail != kAllRails || group.crosses_units) continue;
      auto& [low, all] = low_of_all[layout_.unit_of[group.members.front()]];
      ++all;
      low += group.state == Group::State::low;
    }
    for (UnitIndex unit = 0; unit < layout_.unit_count(); ++unit) {
      const auto& [low, all] = low_of_all[unit];
      if (low == 0 || 4 * low < 3 * all || unit_sweeps_[unit] >= 2) continue;
      if (layout_.unit_nodes[unit].size() < 3 && unit_sweeps_[unit] > 0) continue;
      if (unit_sweeps_[unit] > 0 && !leaf_may_be_bad(unit)) continue;
      ++unit_sweeps_[unit];
      sweep_unit(plan, unit);
    }
  }

  /// After a first sweep: some rail is slow on most nodes seen, and not convicted yet.
  bool leaf_may_be_bad(UnitIndex unit) const {
    if (unit_has_bad_leaf(unit)) return false;
    for (int rail = 0; rail < layout_.rails; ++rail) {
      int low = 0;
      int good = 0;
      for (const Group& group : inference_.groups()) {
        if (group.rail != rail || layout_.unit_of[group.members.front()] != unit || group.crosses_units) continue;
        (group.state == Group::State::low ? low : good) += 1;
      }
      if (low >= 1 && low >= 3 * good) return true;
    }
    return false;
  }

  void sweep_unit(RoundPlan& plan, UnitIndex unit) {
    swept_this_round_ = true;
    const Nodes& nodes = layout_.unit_nodes[unit];
    const std::size_t shift = unit_sweeps_[unit] == 1 ? 0 : 1;  // other pairs the second time
    for (std::size_t i = 0; i + 1 < nodes.size(); i += 2) {
      const NodeIndex a = nodes[(i + shift) % nodes.size()];
      const NodeIndex b = nodes[(i + 1 + shift) % nodes.size()];
      if (!usable(a) || !usable(b)) continue;
      for (int rail = 0; rail < layout_.rails; ++rail)
        plan.add({a, b}, rail);
      swept_.insert({a, b});
    }
  }

  Nodes suspects() const {
    Nodes result;
    for (NodeIndex node = 0; node < layout_.node_count(); ++node) {
      if (!settled(node)) result.push_back(node);
    }
    return result;
  }

  void test_suspect(RoundPlan& plan, NodeIndex node) {
    if (!plan.free(node)) return;
    const Evidence& evidence = inference_.node(node);
    const std::vector<int> low_rails = inference_.bad_rails(node);
    const bool behind_bad_leaf = unit_has_bad_leaf(layout_.unit_of[node]);
    bool tested = false;
    if (options_.can_pin_rails && swept_.contains(node) && !low_rails.empty() && !inference_.rails_confirmed(node)) {
      for (int rail : low_rails)
        tested |= pair_with_good(plan, node, rail);
    } else if (options_.can_pin_rails && ((evidence.against > 0 && !swept_.contains(node)) || behind_bad_leaf)) {
      tested = sweep_node(plan, node);
    } else {
      tested = pair_with_good(plan, node, kAllRails) || pair_with_suspect(plan, node);
    }
    if (tested) ++tries_[node];
  }

  bool sweep_node(RoundPlan& plan, NodeIndex node) {
    bool tested = false;
    for (int rail = 0; rail < layout_.rails; ++rail) {
      if (!inference_.leaf_bad(layout_.unit_of[node], rail)) tested |= pair_with_good(plan, node, rail);
    }
    if (tested) {
      swept_.insert(node);
      swept_this_round_ = true;
    }
    return tested;
  }

  /// With a partner known to be good, of the same unit where there is one, a new one where there is one.
  bool pair_with_good(RoundPlan& plan, NodeIndex node, int rail) {
    const UnitIndex own = layout_.unit_of[node];
    if (pair_with_good_of(plan, node, rail, own)) return true;
    for (UnitIndex step = 1; step < layout_.unit_count(); ++step) {
      const auto unit = static_cast<UnitIndex>((own + step) % layout_.unit_count());
      if (!unit_has_bad_leaf(unit) && pair_with_good_of(plan, node, rail, unit)) return true;
    }
    return false;
  }

  bool pair_with_good_of(RoundPlan& plan, NodeIndex node, int rail, UnitIndex unit) {
    const Nodes& nodes = layout_.unit_nodes[unit];
    const std::size_t start = static_cast<std::size_t>(node) + static_cast<std::size_t>(tries_[node]) * 7 + 1;
    std::optional<NodeIndex> known;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodeIndex partner = nodes[(start + i) % nodes.size()];
      if (partner == node || !usable(partner) || !good_on(partner, rail) || inference_.node_bad(partner)) continue;
      if (!plan.free(partner, rail)) continue;
      const Group* group = inference_.find({node, partner}, rail);
      if (group == nullptr) return plan.add({node, partner}, rail);
      if (!known && group->good + group->bad() < kMostReadings) known = partner;
    }
    return known && plan.add({node, *known}, rail);
  }

  /// While nobody is known to be good: with another suspect that it has not been paired with.
  bool pair_with_suspect(RoundPlan& plan, NodeIndex node) {
    const bool few = layout_.node_count() <= 6;
    if (rotations_[node] >= (few ? static_cast<int>(layout_.node_count()) : kMostRotations)) return false;
    const Nodes& nodes = layout_.unit_nodes[layout_.unit_of[node]];
    for (std::size_t step = 1; step < nodes.size(); ++step) {
      const std::size_t at = static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
      const NodeIndex partner = nodes[(at + step) % nodes.size()];
      if (acquitted(partner) || !usable(partner) || !plan.free(partner)) continue;
      if (inference_.find({node, partner}, kAllRails) != nullptr) continue;
      ++rotations_[node];
      ++rotations_[partner];
      return plan.add({node, partner});
    }
    return false;
  }

  /// Good pairs on every rail beside a sweep: without them a node that is slow on all rails would be its own measure.
  void add_controls(RoundPlan& plan) {
    int controls = 0;
    for (const Group& group : inference_.groups()) {
      if (controls == 2) return;
      if (group.members.size() != 2 || group.rail != kAllRails || group.state != Group::State::good) continue;
      if (!plan.free(group.members[0]) || !plan.free(group.members[1])) continue;
      if (inference_.node_bad(group.members[0]) || inference_.node_bad(group.members[1])) continue;
      for (int rail = 0; rail < layout_.rails; ++rail)
        plan.add(group.members, rail);
      ++controls;
    }
  }

  Round measure_rest() {
    RoundPlan plan(layout_);
    for (const Nodes& members : rest_groups()) {
      const Group* group = inference_.find(members, kAllRails);
      const bool near_threshold = group != nullptr && group->state == Group::State::unknown && group->near > 0;
      // As often low as good: a third reading decides.
      const bool undecided = group != nullptr && group->good > 0 && group->good == group->bad();
      if (group == nullptr || near_threshold || undecided) plan.add(members);
    }
    return plan.to_round("rest");
  }

  /// The rest is slow and no node, leaf or way explains it. What was low once is measured again before it splits
  /// anything: the rest itself, and pairs that were slow although both nodes are well with others.
  Round doubts() {
    if (size_limit_known()) return {};  // nothing as large as the rest can be well
    RoundPlan plan(layout_);
    for (const Nodes& members : rest_groups()) {
      const Group* group = inference_.find(members, kAllRails);
      if (group != nullptr && group->state == Group::State::low && group->bad() < 2) plan.add(members);
    }
    if (!plan.empty()) return plan.to_round("rest again");
    repeat_contradictions(plan);
    return plan.to_round("pairs again");
  }

  bool known_combination(NodeIndex a, NodeIndex b) const {
    return std::any_of(combinations_.begin(), combinations_.end(), [&](const CombinationSearch::Conclusion& known) {
      return known.together == Nodes{a, b};
    });
  }

  // ---- ways between units -------------------------------------------------------------------------------------

  /// Neighbours in the ring of units, each way once, in rounds that share no uplink; then the slow ones again with
  /// other nodes until they are convicted or acquitted.
  Round crossings() {
    RoundPlan plan(layout_);
    add_crossings(plan);
    if (!looked_for_combinations_) repeat_contradictions(plan);
    return plan.to_round(layout_.unit_count() > 1 ? "between units" : "pairs again");
  }

  void add_crossings(RoundPlan& plan) {
    const std::vector<UnitIndex> ring = ring_of_rest();
    if (ring.size() < 2) return;
    std::vector<CrossingKey> open;
    for (const auto& [first, second] : ring_edges_in_rounds(ring)) {
      for (int rail : crossing_rails()) {
        const CrossingKey key{std::min(first, second), std::max(first, second), rail};
        if (crossing_open(key)) open.push_back(key);
      }
    }
    // Every way once before any of them twice, and both ways of a slow uplink in turn.
    const auto readings = [&](const CrossingKey& key) {
      const auto found = inference_.crossings().find(key);
      return found == inference_.crossings().end() ? 0 : found->second.bad_readings;
    };
    std::stable_sort(open.begin(), open.end(),
                     [&](const CrossingKey& a, const CrossingKey& b) { return readings(a) < readings(b); });
    for (const CrossingKey& key : open)
      cross(plan, key);
  }

  std::vector<UnitIndex> ring_of_rest() const {
    std::vector<UnitIndex> ring;
    const std::vector<Nodes> groups = rest_groups();
    if (groups.empty()) return ring;
    for (NodeIndex node : groups.front()) {
      if (ring.empty() || ring.back() != layout_.unit_of[node]) ring.push_back(layout_.unit_of[node]);
    }
    return ring;
  }

  std::vector<int> crossing_rails() const {
    if (!options_.can_pin_rails) return {kAllRails};
    std::vector<int> rails;
    for (int rail = 0; rail < layout_.rails; ++rail)
      rails.push_back(rail);
    return rails;
  }

  /// Even neighbours first, then odd ones: added in this order, a plan takes as many as share no unit.
  static std::vector<std::pair<UnitIndex, UnitIndex>> ring_edges_in_rounds(const std::vector<UnitIndex>& ring) {
    std::vector<std::pair<UnitIndex, UnitIndex>> edges;
    for (const std::size_t parity : {0U, 1U}) {
      for (std::size_t i = parity; i < ring.size(); i += 2) {
        if (i + 1 == ring.size() && ring.size() == 2) continue;
        edges.emplace_back(ring[i], ring[(i + 1) % ring.size()]);
      }
    }
    return edges;
  }

  bool crossing_open(const CrossingKey& key) const {
    const auto found = inference_.crossings().find(key);
    const auto over_all = inference_.crossings().find({key.first, key.second, kAllRails});
    if (over_all != inference_.crossings().end() && over_all->second.good) return false;
    if (found == inference_.crossings().end()) return true;
    return !found->second.good && !inference_.convicted(found->second) && found->second.bad_readings < kMostReadings;
  }

  void cross(RoundPlan& plan, const CrossingKey& key) {
    for (NodeIndex a : good_nodes_of(key.first)) {
      for (NodeIndex b : good_nodes_of(key.second)) {
        if (inference_.find({a, b}, key.rail) == nullptr && plan.add({a, b}, key.rail)) return;
        if (!plan.free(a, key.rail)) break;
      }
    }
    const Nodes left = good_nodes_of(key.first);
    const Nodes right = good_nodes_of(key.second);
    if (!left.empty() && !right.empty()) plan.add({left.front(), right.front()}, key.rail);
  }

  Nodes good_nodes_of(UnitIndex unit) const {
    constexpr std::size_t kEnough = 8;
    Nodes nodes;
    for (NodeIndex node : layout_.unit_nodes[unit]) {
      if (usable(node) && acquitted(node) && nodes.size() < kEnough) nodes.push_back(node);
    }
    return nodes;
  }

  // ---- faults that only show in combination -------------------------------------------------------------------

  Round combination() {
    const std::optional<Nodes> slow_set = slow_rest();
    if (!slow_set) return {};
    looked_for_combinations_ = true;
    const Group* group = inference_.find(*slow_set, kAllRails);
    const CombinationSearch search(
        *slow_set, answers(),
        {.by_halves = group->failed == 0 && options_.strategy == Strategy::parallel,
         .at_once = [&](const Nodes& a, const Nodes& b) { return share_no_unit_above(a, b); }});
    const CombinationSearch::Step step = search.next();
    RoundPlan plan(layout_);
    for (const Nodes& members : step.ask)
      plan.add(members);
    if (!plan.empty()) return plan.to_round(options_.strategy == Strategy::halving ? "halving" : "combinations");
    if (!step.conclusion) return {};
    return confirm_combination(plan, *step.conclusion);
  }

  /// Two groups may run at once unless both cross out of one unit.
  bool share_no_unit_above(const Nodes& a, const Nodes& b) const {
    RoundPlan plan(layout_);
    return plan.add(a) && plan.add(b);
  }

  /// Every slow group that the conclusion explains speaks for it; the smallest is repeated until they are enough.
  Round confirm_combination(RoundPlan& plan, const CombinationSearch::Conclusion& conclusion) {
    const Evidence evidence = evidence_for(inference_, conclusion);
    const Group* witness = inference_.find(conclusion.witness, kAllRails);
    const bool seen_twice = witness != nullptr && (witness->failed > 0 || witness->low >= 2 || conclusion.min_nodes);
    if ((!inference_.convicted(evidence) || !seen_twice) && witness != nullptr &&
        witness->bad() + witness->good < kMostReadings) {
      plan.add(witness->members);
      return plan.to_round("confirm");
    }
    combinations_.push_back(conclusion);
    return size_limit_known() ? Round{} : measure_rest();
  }

  bool size_limit_known() const {
    return std::any_of(combinations_.begin(), combinations_.end(),
                       [](const auto& known) { return known.min_nodes.value_or(0) > 2; });
  }

  /// The rest that is slow although its nodes are well in smaller groups.
  std::optional<Nodes> slow_rest() const {
    if (size_limit_known()) return std::nullopt;
    for (const Nodes& members : rest_groups()) {
      const Group* group = inference_.find(members, kAllRails);
      // A set that was well before is not slow by its members or its size: it is unstable.
      if (group == nullptr || group->state != Group::State::low || group->good > 0 || members.size() < 3) continue;
      if (options_.strategy == Strategy::halving) return members;
      const auto well = std::count_if(members.begin(), members.end(), [&](NodeIndex node) { return acquitted(node); });
      if (2 * static_cast<std::size_t>(well) > members.size()) return members;
    }
    return std::nullopt;
  }

  /// From all measurements: a subset of a good set is well, a superset of a slow one is slow. A slow set inside a good
  /// one was an outlier, and says nothing of its supersets.
  CombinationSearch::Oracle answers() const {
    struct Sets {
      std::vector<const Group*> good;
      std::vector<const Group*> low;
    };
    const auto inside = [](const Nodes& inner, const Nodes& outer) {
      return inner.size() <= outer.size() && std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
    };
    Sets known;
    for (const Group& group : inference_.groups()) {
      if (group.rail != kAllRails || group.members.size() < 2) continue;
      if (group.state == Group::State::good) known.good.push_back(&group);
      if (group.state == Group::State::low) known.low.push_back(&group);
    }
    std::erase_if(known.low, [&](const Group* low) {
      return std::any_of(known.good.begin(), known.good.end(),
                         [&](const Group* good) { return inside(low->members, good->members); });
    });
    return [known = std::move(known), inside](const Nodes& members) {
      const auto well = [&](const Group* good) { return inside(members, good->members); };
      if (std::any_of(known.good.begin(), known.good.end(), well)) return CombinationSearch::Answer::well;
      // Readings count together when one set lies in the other; two unrelated ones may both be outliers.
      int slow_readings = 0;
      for (const Group* outer : known.low) {
        if (!inside(outer->members, members)) continue;
        int nested = 0;
        for (const Group* inner : known.low) {
          if (inside(inner->members, outer->members)) nested += inner->low + 2 * inner->failed;  // no noise
        }
        slow_readings = std::max(slow_readings, nested);
      }
      if (slow_readings == 0) return CombinationSearch::Answer::unknown;
      return slow_readings == 1 ? CombinationSearch::Answer::slow_once : CombinationSearch::Answer::slow;
    };
  }

  Layout layout_;
  SearchOptions options_;
  Inference inference_;
  Touched touched_;
  std::vector<CombinationSearch::Conclusion> combinations_;
  std::vector<int> tries_ = std::vector<int>(layout_.node_count());
  std::vector<int> rotations_ = std::vector<int>(layout_.node_count());
  std::vector<int> unit_sweeps_ = std::vector<int>(layout_.unit_count());
  std::set<NodeIndex> swept_;
  bool swept_this_round_ = false;
  bool asked_whole_ = false;
  bool asked_singles_ = false;
  bool asked_pairs_ = false;
  bool looked_for_combinations_ = false;
  bool finished_ = false;
  bool finished_cleanly_ = false;
  int rounds_ = 0;
  int refused_rounds_ = 0;
};

Search::Search(const topology::Fabric& fabric, std::vector<std::string> nodes, const SearchOptions& options)
    : state_(std::make_unique<State>(fabric, nodes, options)) {}
Search::~Search() = default;

Round Search::next_round() {
  return state_->next_round();
}
void Search::record(std::span<const probes::Measurement> measurements) {
  state_->record(measurements);
}
Verdict Search::verdict() const {
  return state_->verdict();
}

}  // namespace weft::bisect
