#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/protocol.h"
#include "probes/collective/measurement.h"

namespace weft::launch {

/// What the controller has heard of one rank.
struct RankRecord {
  std::string node;
  probes::Stage stage = probes::Stage::start;
  bool started = false;
  std::string refusal;  ///< why its agent could not start it
  std::optional<probes::RankPost> post;
  std::optional<probes::RankResult> result;
  std::optional<probes::RankError> error;
  std::optional<RankExited> exit;  ///< by itself, before the controller ended the probe
  // Answers to an inspection.
  std::optional<probes::RankProgress> progress;
  std::optional<char> process_state;
};

/// All that is known of a probe when it is over.
struct ProbeRecord {
  probes::Group group;
  probes::ProbeSpec spec;
  std::vector<RankRecord> ranks;
  std::map<std::string, std::string> lost_nodes;  ///< node and why
  probes::Stage stage = probes::Stage::start;     ///< of the slowest rank
  bool cancelled = false;
  bool out_of_time = false;  ///< the stage outlived its limit
};

/// The time limit of a stage, seconds. The check shares the run's.
double limit_of(probes::Stage stage, const probes::StageTimeouts& timeouts);

/// Whether the rank itself gives evidence against its node: it crashed, could not be started, or cannot go on by its
/// own account. One that reports a lost peer does not.
bool is_guilty(const RankRecord& rank);

/// Turns the record into a measurement without `wall_s`. Those that only waited for another rank are named in `reason`
/// and never blamed: for a hang the guilty ones are the ranks that are missing (not started, not joined, stopped,
/// not answering, or behind the others), and where the ranks all wait for each other there is none.
probes::Measurement conclude(const ProbeRecord& record);

}  // namespace weft::launch
