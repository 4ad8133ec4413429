#pragma once

#include <cstdint>
#include <optional>

#include "bisect/run.h"

namespace weft::report {

/// What the culprits cost a job that is bound by the collective that was measured, over the nodes of the run.
struct Cost {
  enum class Kind {
    slow,   ///< runs at `speed`
    stops,  ///< a node crashes, hangs or cannot be reached: does not run at all
    wrong,  ///< computes wrong values
  };
  Kind kind = Kind::slow;
  double speed = 1;  ///< share of the speed without the culprits, 0–1
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  double lost_gpu_hours_per_hour = 0;
};

/// From the whole set's bandwidth against that of the rest alone, else from the largest slowdown of a culprit. None
/// when nobody is convicted or no figure is known.
std::optional<Cost> cost_of(const bisect::RunResult& run);

}  // namespace weft::report
