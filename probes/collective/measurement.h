#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::probes {

enum class Op { all_reduce, all_gather, reduce_scatter, broadcast, sendrecv };

/// The nodes of one probe; with `rail`, only that rail of each (one NIC and its GPU).
struct Group {
  std::vector<std::string> nodes;  ///< in rank order
  std::optional<int> rail;
  bool operator==(const Group&) const = default;
};

/// Time limits of one probe, each for one stage, in seconds. A stage that outlives its limit makes the probe `hung`.
struct StageTimeouts {
  double start_s = 20;
  double rendezvous_s = 20;
  double init_s = 30;
  double warm_up_s = 60;
  double run_s = 120;
};

struct ProbeSpec {
  Op op = Op::all_reduce;
  std::uint64_t bytes =
      0;  ///< nccl-tests' size: bytes of each rank's buffer (its total for all_gather, reduce_scatter)
  int iterations = 5;
  int warm_up_iterations = 1;
  int gpus_per_node = 1;
  StageTimeouts timeouts;
};

/// What became of a probe. Only `ok` carries a bandwidth that may be compared.
enum class Status {
  ok,
  failed,       ///< a rank crashed or the command failed; `culprits` where the evidence names who
  hung,         ///< a stage outlived its limit
  corrupt,      ///< finished, with wrong values in the result
  unreachable,  ///< a node could not be reached or its agent died
  refused,      ///< not run, or its shape was not what was asked for: says nothing about the nodes
};

enum class Stage { none, login, start, rendezvous, init, warm_up, run, check };

/// Evidence against one node that the probe itself gave (the rank that never arrived, the one that crashed), as
/// opposed to those that only waited for it.
struct NodeFault {
  std::string node;
  int rank = -1;
  Stage stage = Stage::none;
  std::string what;  ///< "killed by signal 11 (Segmentation fault)", "stopped answering in init", with its last words
  bool operator==(const NodeFault&) const = default;
};

struct Measurement {
  Group group;
  Op op = Op::all_reduce;
  std::uint64_t bytes = 0;
  int ranks = 0;
  Status status = Status::refused;
  Stage stage = Stage::none;  ///< where it stopped, for everything but ok and corrupt
  std::string reason;         ///< one sentence; empty when ok
  std::vector<NodeFault> node_faults;
  std::vector<double> iteration_s;  ///< each timed iteration, the slowest rank's time; empty where only a mean is known
  double time_s = 0;                ///< median iteration
  double algbw_gbps = 0;            ///< GB/s, 10^9 bytes
  double busbw_gbps = 0;            ///< GB/s; meaningful only when ok
  double wall_s = 0;                ///< of the whole probe, launch to last answer
  std::vector<std::string> notes;   ///< such as "data not verified", "connectivity only"
  std::string finding_kind;  ///< class of the finding that the probe itself gives, such as `split-launch`; else empty
};

const char* to_string(Op op);
const char* to_string(Status status);
const char* to_string(Stage stage);
std::optional<Op> op_from_string(std::string_view name);
std::optional<Status> status_from_string(std::string_view name);
std::optional<Stage> stage_from_string(std::string_view name);

/// nccl-tests' factor between algorithm and bus bandwidth for n ranks: 2(n-1)/n for all_reduce, (n-1)/n for all_gather
/// and reduce_scatter, 1 for broadcast and sendrecv. 0 for one rank: the bus bandwidth is undefined there.
/// Source: nccl-tests doc/PERFORMANCE.md.
double bus_factor(Op op, int ranks);

/// Summary of sorted or unsorted samples; 0 for none.
double median_of(std::vector<double> samples);
double quantile_of(std::vector<double> samples, double q);

}  // namespace weft::probes
