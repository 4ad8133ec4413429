#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bisect/verdict.h"
#include "probes/collective/measurement.h"

namespace weft::bisect {

/// The groups to measure at once, and why (for people: "whole set", "pairs", "partners", …).
struct Round {
  int number = 0;  ///< from 1
  std::string purpose;
  std::vector<probes::Group> groups;
};

struct RoundResult {
  Round round;
  std::vector<probes::Measurement> measurements;  ///< one a group, in order
  double wall_s = 0;
};

/// What was asked for, before anything was measured.
struct RunInfo {
  std::int64_t id = 0;     ///< in the history; 0 when there is none
  std::string started_at;  ///< UTC, ISO 8601 to the second
  std::vector<std::string> command_line;
  std::string version;
  std::string user;
  std::string controller_host;
  std::string prober;    ///< gloo, exec, nccl, sim
  std::string launcher;  ///< local, ssh, …; empty where the prober needs none
  std::string fabric_file;
  std::string fabric_text;  ///< the file as it was, so that the history stands alone
  std::vector<std::string> hosts;
  probes::ProbeSpec spec;
  std::vector<std::string> injected;  ///< faults injected on purpose; shown in every output
};

struct RunResult {
  RunInfo info;
  std::vector<RoundResult> rounds;
  Verdict verdict;
  double wall_s = 0;
  bool interrupted = false;
  std::vector<std::string> notes;

  int probe_count() const;
  /// Sum over probes of their nodes times their seconds: what the search cost the cluster.
  double node_seconds() const;
};

}  // namespace weft::bisect
