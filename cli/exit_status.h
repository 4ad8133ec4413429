#pragma once

#include "bisect/verdict.h"

namespace weft::cli {

/// What scripts may rely on; README and `weft --help` list them.
enum ExitStatus : int {
  kNothingWrong = 0,
  kFound = 1,
  kBadInput = 2,
  kCannotTell = 3,
  kCouldNotRun = 4,
  kInterrupted = 130,  ///< 128 + SIGINT
  kTerminated = 143,   ///< 128 + SIGTERM
};

inline int exit_status_of(bisect::Verdict::Kind verdict) {
  switch (verdict) {
    case bisect::Verdict::Kind::healthy:
      return kNothingWrong;
    case bisect::Verdict::Kind::degraded:
      return kFound;
    case bisect::Verdict::Kind::inconclusive:
      return kCannotTell;
    case bisect::Verdict::Kind::failed:
      return kCouldNotRun;
  }
  return kCouldNotRun;
}

}  // namespace weft::cli
