#pragma once

#include <vector>

#include "bisect/inference.h"
#include "bisect/layout.h"
#include "bisect/verdict.h"

namespace weft::bisect {

/// Sets of nodes of which at least one is bad: the slow groups that nothing convicted explains, joined where they share
/// a candidate. Each with the cheapest probe that would tell: its most suspected node with one that is known to be
/// good.
std::vector<Unresolved> unresolved_nodes(const Layout& layout, const Inference& inference);

/// Everything was measured against one node, so nobody stands out (Inference::confounded): all of them, with a probe
/// that leaves that node out. Nothing when there was one measurement only.
std::vector<Unresolved> unresolved_by_confounding(const Layout& layout, const Inference& inference);

}  // namespace weft::bisect
