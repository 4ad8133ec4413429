#pragma once

#include <set>
#include <vector>

#include "bisect/inference.h"
#include "bisect/layout.h"

namespace weft::bisect {

/// A way above the leaves that is slow: all ways of one unit (`uplink`), or only the one between two (`path`).
struct SlowWay {
  bool uplink = false;
  UnitIndex first = 0;
  UnitIndex second = 0;  ///< the other end of a path; unused for an uplink
  int rail = kAllRails;
  Evidence evidence;
};

/// Three ways of one unit, or more, slow and none good: its uplink. One slow way between two units that are well with
/// others: the path. `undecided`: slow ways that fit neither (three units, every way slow).
struct SlowWays {
  std::vector<SlowWay> convicted;
  std::vector<SlowWay> undecided;
};
SlowWays slow_ways(const Layout& layout, const Inference& inference);

/// Units to leave out so that what remains crosses no slow way.
std::set<UnitIndex> units_cut_off(const Layout& layout, const Inference& inference);

}  // namespace weft::bisect
