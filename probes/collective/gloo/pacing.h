#pragma once

#include <chrono>

#include "probes/collective/rank_protocol.h"

namespace weft::probes {

/// Makes an iteration as slow as the injected faults say, by sleeping: one that began at `begin` and moved
/// `bytes_per_rank` over this rank's link takes at least their time at the emulated rate, and then the delays on top.
/// Without faults it returns at once.
void pace_iteration(std::chrono::steady_clock::time_point begin, double bytes_per_rank, const RankFaults& faults);

}  // namespace weft::probes
