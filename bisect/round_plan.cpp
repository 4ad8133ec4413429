#include "bisect/round_plan.h"

#include <algorithm>
#include <optional>

namespace weft::bisect {

RoundPlan::RoundPlan(const Layout& layout)
    : layout_(layout),
      nodes_(layout.node_count() * static_cast<std::size_t>(layout.rails), false),
      ways_(layout.unit_count() * static_cast<std::size_t>(layout.rails), false) {}

std::size_t RoundPlan::slot(std::size_t thing, int rail) const {
  return thing * static_cast<std::size_t>(layout_.rails) + static_cast<std::size_t>(std::max(rail, 0));
}

bool RoundPlan::taken(const std::vector<bool>& flags, std::size_t thing, int rail) const {
  const auto begin = flags.begin() + static_cast<std::ptrdiff_t>(slot(thing, rail));
  return std::any_of(begin, begin + width(rail), [](bool flag) { return flag; });
}

void RoundPlan::take(std::vector<bool>& flags, std::size_t thing, int rail) const {
  std::fill_n(flags.begin() + static_cast<std::ptrdiff_t>(slot(thing, rail)), width(rail), true);
}

bool RoundPlan::free(NodeIndex node, int rail) const {
  return !taken(nodes_, node, rail);
}

bool RoundPlan::add(std::vector<NodeIndex> members, int rail) {
  const bool crosses = layout_.crosses_units(members);
  for (NodeIndex node : members) {
    if (taken(nodes_, node, rail) || (crosses && taken(ways_, layout_.unit_of[node], rail))) return false;
  }
  for (NodeIndex node : members) {
    take(nodes_, node, rail);
    if (crosses) take(ways_, layout_.unit_of[node], rail);
  }
  std::sort(members.begin(), members.end());
  groups_.emplace_back(std::move(members), rail);
  return true;
}

Round RoundPlan::to_round(std::string purpose) const {
  Round round;
  round.purpose = std::move(purpose);
  for (const auto& [members, rail] : groups_) {
    round.groups.push_back({layout_.names_of(members), rail == kAllRails ? std::nullopt : std::optional<int>(rail)});
  }
  return round;
}

}  // namespace weft::bisect
