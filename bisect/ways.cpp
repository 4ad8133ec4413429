#include "bisect/ways.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weft::bisect {
namespace {

/// A way is slow by its own evidence, not by that of its neighbour.
constexpr int kLeastReadingsOfAWay = 2;

Evidence joined(const Evidence& a, const Evidence& b) {
  Evidence result = a;
  result.against += b.against;
  result.bad_readings += b.bad_readings;
  result.busbw_gbps.insert(result.busbw_gbps.end(), b.busbw_gbps.begin(), b.busbw_gbps.end());
  result.expected_gbps = std::max(a.expected_gbps, b.expected_gbps);
  if (b.failure != probes::Status::ok) result.failure = b.failure;
  return result;
}

}  // namespace

SlowWays slow_ways(const Layout& layout, const Inference& inference) {
  SlowWays result;
  std::set<int> rails;
  for (const auto& [key, evidence] : inference.crossings())
    rails.insert(key.rail);
  std::set<std::pair<UnitIndex, UnitIndex>> slow_on_one_rail;
  // One rail is more specific than all of them: the way over all rails (kAllRails is -1) comes last.
  for (auto rail = rails.rbegin(); rail != rails.rend(); ++rail) {
    std::map<UnitIndex, std::vector<CrossingKey>> slow_at;
    std::set<UnitIndex> well_somewhere;
    for (const auto& [key, evidence] : inference.crossings()) {
      if (key.rail != *rail) continue;
      if (evidence.good) {
        well_somewhere.insert({key.first, key.second});
      } else if (evidence.against > 0) {
        slow_at[key.first].push_back(key);
        slow_at[key.second].push_back(key);
      }
    }
    std::set<CrossingKey> explained;
    std::vector<SlowWay> uplinks;
    for (const auto& [unit, ways] : slow_at) {
      if (ways.size() < 2 || well_somewhere.contains(unit)) continue;
      // Each way on its own evidence: one outlier beside a slow path must not make it an uplink.
      const bool each_repeated = std::all_of(ways.begin(), ways.end(), [&](const CrossingKey& way) {
        return inference.crossings().at(way).bad_readings >= kLeastReadingsOfAWay;
      });
      explained.insert(ways.begin(), ways.end());
      if (!each_repeated) continue;
      SlowWay uplink{true, unit, unit, *rail, {}};
      for (const CrossingKey& way : ways)
        uplink.evidence = joined(uplink.evidence, inference.crossings().at(way));
      if (inference.convicted(uplink.evidence)) uplinks.push_back(std::move(uplink));
    }
    const bool every_way_slow = layout.unit_count() == 3 && uplinks.size() == 3;
    auto& into = every_way_slow ? result.undecided : result.convicted;
    into.insert(into.end(), uplinks.begin(), uplinks.end());
    for (const auto& [key, evidence] : inference.crossings()) {
      if (key.rail != *rail || explained.contains(key) || !inference.convicted(evidence)) continue;
      const bool ends_well = well_somewhere.contains(key.first) && well_somewhere.contains(key.second);
      if (layout.unit_count() > 2 && !ends_well) continue;  // may still turn out to be an uplink
      if (*rail == kAllRails && slow_on_one_rail.contains({key.first, key.second})) continue;
      if (*rail != kAllRails) slow_on_one_rail.insert({key.first, key.second});
      result.convicted.push_back({false, key.first, key.second, *rail, evidence});
    }
  }
  return result;
}

std::set<UnitIndex> units_cut_off(const Layout& layout, const Inference& inference) {
  std::set<UnitIndex> units;
  for (const SlowWay& way : slow_ways(layout, inference).convicted) {
    if (units.contains(way.first) || (!way.uplink && units.contains(way.second))) continue;
    const bool second_smaller =
        !way.uplink && layout.unit_nodes[way.second].size() <= layout.unit_nodes[way.first].size();
    units.insert(second_smaller ? way.second : way.first);
  }
  return units;
}

}  // namespace weft::bisect
