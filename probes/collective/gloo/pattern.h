#pragma once

#include <cstddef>

namespace weft::probes {

/// What rank `rank` contributes at element `index` in iteration `iteration`, and the sum over all ranks.
///
/// Small whole numbers: every partial sum of up to kMaxRanks of them is below 2^24 and so exact in a float, in any
/// order of adding. Contributions are positive and differ between ranks, so a sum shows any one rank that is missing,
/// counted twice or counted in another's place; they differ between neighbouring elements and iterations, so that moved
/// or stale data shows too.
constexpr std::size_t kPatternLength = 251;

inline float contribution(int rank, std::size_t index, int iteration) {
  const std::size_t position = (index + static_cast<std::size_t>(iteration)) % kPatternLength;
  return static_cast<float>(rank + 1) + static_cast<float>(position);
}

inline float sum_of_contributions(int ranks, std::size_t index, int iteration) {
  const std::size_t position = (index + static_cast<std::size_t>(iteration)) % kPatternLength;
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t sum = n * (n + 1) / 2 + n * position;
  return static_cast<float>(sum);
}

}  // namespace weft::probes
