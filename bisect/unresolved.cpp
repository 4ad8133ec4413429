#include "bisect/unresolved.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace weft::bisect {
namespace {

struct OpenSet {
  std::vector<NodeIndex> candidates;
  std::map<NodeIndex, int> slow_groups;  ///< in how many slow groups each is
  std::vector<const Group*> groups;
};

bool overlaps(const std::vector<NodeIndex>& a, const std::vector<NodeIndex>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](NodeIndex node) { return std::find(b.begin(), b.end(), node) != b.end(); });
}

/// Slow groups joined where they share a candidate; the smallest first, so that a large group that one of them would
/// explain adds nothing.
std::vector<OpenSet> open_sets(const Inference& inference) {
  std::vector<Inference::Unexplained> slow = inference.unexplained();
  std::erase_if(slow, [](const auto& item) { return item.candidates.empty(); });
  std::stable_sort(slow.begin(), slow.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.group->members.size(), a.group->members) <
           std::tuple(b.group->members.size(), b.group->members);
  });
  std::vector<OpenSet> sets;
  std::size_t smallest = slow.empty() ? 0 : slow.front().group->members.size();
  for (const Inference::Unexplained& item : slow) {
    std::vector<std::size_t> met;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (overlaps(sets[i].candidates, item.candidates)) met.push_back(i);
    }
    if (item.group->members.size() > smallest && !met.empty()) continue;
    OpenSet merged;
    for (auto i = met.rbegin(); i != met.rend(); ++i) {
      OpenSet& other = sets[*i];
      merged.candidates.insert(merged.candidates.end(), other.candidates.begin(), other.candidates.end());
      merged.groups.insert(merged.groups.end(), other.groups.begin(), other.groups.end());
      for (const auto& [node, count] : other.slow_groups)
        merged.slow_groups[node] += count;
      sets.erase(sets.begin() + static_cast<std::ptrdiff_t>(*i));
    }
    merged.candidates.insert(merged.candidates.end(), item.candidates.begin(), item.candidates.end());
    std::sort(merged.candidates.begin(), merged.candidates.end());
    merged.candidates.erase(std::unique(merged.candidates.begin(), merged.candidates.end()), merged.candidates.end());
    merged.groups.push_back(item.group);
    for (NodeIndex node : item.candidates)
      ++merged.slow_groups[node];
    sets.push_back(std::move(merged));
  }
  return sets;
}

/// The most suspected node with one that is known to be good, of its own unit where there is one; with nobody known
/// to be good, two that were never measured without the most suspected one.
std::optional<probes::Group> cheapest_probe(const Layout& layout, const Inference& inference, const OpenSet& open) {
  const auto most = std::max_element(open.slow_groups.begin(), open.slow_groups.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const NodeIndex suspect = most->first;
  std::optional<NodeIndex> partner;
  for (NodeIndex node = 0; node < layout.node_count(); ++node) {
    if (!inference.node_good(node) || node == suspect) continue;
    const bool same_unit = layout.unit_of[node] == layout.unit_of[suspect];
    if (!partner || (same_unit && layout.unit_of[*partner] != layout.unit_of[suspect])) partner = node;
  }
  if (partner) return probes::Group{{layout.names[suspect], layout.names[*partner]}, std::nullopt};
  std::vector<NodeIndex> others;
  for (NodeIndex node : open.candidates) {
    if (node != suspect) others.push_back(node);
  }
  if (others.size() < 2 || most->second < 2) return std::nullopt;
  return probes::Group{{layout.names[others[0]], layout.names[others[1]]}, std::nullopt};
}

/// Slow together although each is well with others, and never well together: noise or a pair; measuring them again
/// tells.
std::vector<Unresolved> contradicting_pairs(const Layout& layout, const Inference& inference) {
  std::vector<Unresolved> result;
  for (const auto& [pair, evidence] : inference.pairs()) {
    if (inference.convicted(evidence)) continue;
    const std::vector<NodeIndex> members = {pair.first, pair.second};
    const bool well_together =
        std::any_of(inference.groups().begin(), inference.groups().end(), [&](const Group& group) {
          return group.state == Group::State::good && group.rail == kAllRails &&
                 std::includes(group.members.begin(), group.members.end(), members.begin(), members.end());
        });
    if (well_together) continue;
    Unresolved unresolved;
    Culprit candidate;
    candidate.kind = CulpritKind::pair;
    candidate.nodes = layout.names_of(members);
    candidate.measured_gbps = probes::median_of(evidence.busbw_gbps);
    candidate.expected_gbps = evidence.expected_gbps;
    unresolved.next_probe = probes::Group{candidate.nodes, std::nullopt};
    unresolved.candidates.push_back(std::move(candidate));
    result.push_back(std::move(unresolved));
  }
  return result;
}

}  // namespace

std::vector<Unresolved> unresolved_nodes(const Layout& layout, const Inference& inference) {
  std::vector<Unresolved> result = contradicting_pairs(layout, inference);
  for (const OpenSet& open : open_sets(inference)) {
    Unresolved unresolved;
    for (NodeIndex node : open.candidates) {
      Culprit candidate;
      candidate.node = layout.names[node];
      for (const Group* group : open.groups) {
        if (!std::binary_search(group->members.begin(), group->members.end(), node)) continue;
        candidate.kind = kind_of_failure(group->failed > 0 ? group->failure : probes::Status::ok);
        if (!group->busbw_gbps.empty()) candidate.measured_gbps = group->median_gbps();
        candidate.expected_gbps = group->expected_gbps;
      }
      unresolved.candidates.push_back(std::move(candidate));
    }
    unresolved.next_probe = cheapest_probe(layout, inference, open);
    result.push_back(std::move(unresolved));
  }
  return result;
}

std::vector<Unresolved> unresolved_by_confounding(const Layout& layout, const Inference& inference) {
  OpenSet open;
  for (const Group& group : inference.groups()) {
    if (group.members.size() < 2 || group.rail != kAllRails) continue;
    for (NodeIndex node : group.members)
      ++open.slow_groups[node];
  }
  // A single measurement has no peers, and says nothing against anybody.
  if (std::all_of(open.slow_groups.begin(), open.slow_groups.end(), [](const auto& node) { return node.second < 2; })) {
    return {};
  }
  for (const auto& [node, count] : open.slow_groups)
    open.candidates.push_back(node);
  Unresolved unresolved;
  for (NodeIndex node : open.candidates) {
    Culprit candidate;
    candidate.node = layout.names[node];
    unresolved.candidates.push_back(std::move(candidate));
  }
  unresolved.next_probe = cheapest_probe(layout, inference, open);
  return {std::move(unresolved)};
}

}  // namespace weft::bisect
