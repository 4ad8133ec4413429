#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/collective/measurement.h"
#include "probes/collective/nccl_tests_output.h"

namespace weft::probes {

/// Classes of findings that a log of nccl-tests can show by itself.
inline constexpr const char* kSplitLaunch = "split-launch";  ///< other jobs ran than the one that was asked for
inline constexpr const char* kWrongData = "wrong-data";      ///< the collective delivered wrong values

/// Below this size a collective measures latency: nothing is judged from smaller messages.
inline constexpr std::uint64_t kSmallestJudgedBytes = std::uint64_t{1} << 20;
/// Sizes belong to the plateau while they are within this share of the largest size's bandwidth.
inline constexpr double kPlateauTolerance = 0.03;
/// No fabric moves this much for one GPU; what is beyond is a broken clock or a job of one rank.
inline constexpr double kAbsurdGbps = 10'000;

/// What the job was to be. Zero ranks, no hosts, no op: not known, not checked.
struct NcclTestsRequest {
  int ranks = 0;
  std::vector<std::string> hosts;  ///< compared without domain and case; addresses are counted only
  std::optional<Op> op;
};

/// The largest sizes whose bus bandwidths agree (kPlateauTolerance).
struct Plateau {
  int rows = 0;
  std::uint64_t smallest_bytes = 0;
  std::uint64_t largest_bytes = 0;
  double busbw_gbps = 0;   ///< median
  double spread_gbps = 0;  ///< half of what lies between the fastest and the slowest
  double algbw_gbps = 0;   ///< median
  double time_s = 0;       ///< of the largest size
  bool operator==(const Plateau&) const = default;
};

/// What a log is worth. `ok` with a plateau is a measurement; `ok` without one was a run of small messages only
/// ("connectivity only"): it passed, and no bandwidth may be judged or kept from it.
struct NcclTestsJudgement {
  Status status = Status::refused;
  std::string kind;                ///< kSplitLaunch, kWrongData, or empty
  std::string reason;              ///< one sentence; empty when ok
  int ranks = 0;                   ///< of the job, as far as the log shows; 0 when it does not
  std::vector<std::string> hosts;  ///< in rank order; empty when the log does not show them
  std::optional<Plateau> plateau;  ///< also given for corrupt runs, for information
  std::vector<std::string> notes;
  bool operator==(const NcclTestsJudgement&) const = default;
};

/// Judges the shape of the job first, then its data, then its numbers: a good figure of the wrong job is worth nothing.
/// The order of rows and runs in the log does not matter.
NcclTestsJudgement judge(const NcclTestsOutput& output, const NcclTestsRequest& request);

}  // namespace weft::probes
