#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bisect/layout.h"
#include "bisect/run.h"

namespace weft::bisect {

/// What one round measures: groups that share no node, unless they are pinned to different rails of it.
class RoundPlan {
 public:
  explicit RoundPlan(const Layout& layout);

  /// Whether the node may still be in a group of this rail.
  bool free(NodeIndex node, int rail = kAllRails) const;

  /// Takes the group, in any order, unless one of its nodes is taken, or another group already crosses out of one of
  /// its units: two groups that share a link above the leaves may slow each other. Says whether it was taken.
  bool add(std::vector<NodeIndex> members, int rail = kAllRails);

  bool empty() const { return groups_.empty(); }
  Round to_round(std::string purpose) const;

 private:
  std::size_t slot(std::size_t thing, int rail) const;
  std::ptrdiff_t width(int rail) const { return rail == kAllRails ? layout_.rails : 1; }
  bool taken(const std::vector<bool>& flags, std::size_t thing, int rail) const;
  void take(std::vector<bool>& flags, std::size_t thing, int rail) const;

  const Layout& layout_;
  std::vector<bool> nodes_;  ///< node-major, by rail
  std::vector<bool> ways_;   ///< out of a unit, unit-major, by rail
  std::vector<std::pair<std::vector<NodeIndex>, int>> groups_;
};

}  // namespace weft::bisect
