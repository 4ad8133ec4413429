#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "launch/probe_record.h"
#include "launch/protocol.h"
#include "probes/collective/measurement.h"

namespace weft::launch {

/// One probe as the controller sees it: a state machine that hears what agents say and what time it is, says what to
/// tell them, and in the end gives a measurement. No I/O and no clock of its own, so that every hang and lie can be
/// tested without a process.
///
/// running    → finished    every rank has given its result and is gone
///            → settling    a rank or node failed; the others' reports may tell who was first
///            → inspecting  a stage outlived its limit: which ranks still answer, and how far is each?
/// settling   → ending      or → inspecting when nobody is to blame yet
/// inspecting → ending
/// ending     → finished    every agent has ended its ranks
///
/// A stage lasts until the slowest rank has left it.
class CollectiveProbe {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct RankPlan {
    std::string node;
    probes::RankParameters parameters;
  };

  struct Outgoing {
    std::string node;
    ControllerMessage message;
  };

  /// `plan` is in rank order. REQUIRES: 0 < id < 2^37. The first outgoing messages start the ranks with `program`.
  CollectiveProbe(std::uint64_t id, const std::string& program, probes::Group group, const probes::ProbeSpec& spec,
                  const std::vector<RankPlan>& plan, TimePoint now);

  /// The probe that a request id belongs to; 0 for none.
  static std::uint64_t probe_of_request(std::uint64_t id) { return id >> kRequestBits; }

  std::vector<Outgoing> take_outgoing();

  /// What an agent said about this probe. Gives the reason why it cannot be true when it cannot: then the agent is not
  /// to be trusted any more.
  std::optional<std::string> hear(const std::string& node, const AgentMessage& message, TimePoint now);
  void lose_node(const std::string& node, const std::string& reason, TimePoint now);
  void pass_time(TimePoint now);
  /// Ends it, and its measurement says "cancelled".
  void cancel(TimePoint now);

  bool involves(const std::string& node) const { return nodes_.contains(node); }
  bool finished() const { return phase_ == Phase::finished; }
  /// REQUIRES: finished.
  const probes::Measurement& measurement() const { return measurement_; }

 private:
  enum class Phase { running, settling, inspecting, ending, finished };
  static constexpr int kRequestBits = 16;

  std::uint64_t new_request() { return id_ << kRequestBits | next_request_++; }
  void tell(const std::string& node, ControllerMessage message);
  RankRecord* rank_on(const std::string& node, int rank);

  std::optional<std::string> hear_rank(const std::string& node, const FromRank& said, TimePoint now);
  std::optional<std::string> hear_exit(const std::string& node, const RankExited& exit, TimePoint now);
  std::optional<std::string> hear_started(const std::string& node, const Started& started);
  std::optional<std::string> hear_state(const std::string& node, const ProbeState& state);
  std::optional<std::string> hear_refusal(const std::string& node, const Refused& refused, TimePoint now);
  std::optional<std::string> take(RankRecord& rank, const probes::RankStage& said, TimePoint now);
  std::optional<std::string> take(RankRecord& rank, const probes::RankPost& said, TimePoint now);
  std::optional<std::string> take(RankRecord& rank, const probes::RankProgress& said, TimePoint now);
  std::optional<std::string> take(RankRecord& rank, const probes::RankResult& said, TimePoint now);
  std::optional<std::string> take(RankRecord& rank, const probes::RankError& said, TimePoint now);

  void deliver_mail_when_complete();
  void advance_stage(TimePoint now);
  void pass_running_time(TimePoint now);
  bool is_explained() const;
  void note_failure(bool is_decisive, TimePoint now);
  void inspect(TimePoint now);
  void end_ranks(TimePoint now);
  void finish_when_gone(TimePoint now);
  void finish(TimePoint now);
  bool everyone(bool (*test)(const RankRecord& rank)) const;

  std::uint64_t id_;
  ProbeRecord record_;
  std::map<std::string, bool> nodes_;  ///< and whether it has no process of this probe any more
  std::unordered_map<std::uint64_t, int> start_requests_;
  std::vector<Outgoing> outgoing_;
  std::uint64_t next_request_ = 0;
  Phase phase_ = Phase::running;
  TimePoint began_;
  TimePoint stage_deadline_;
  TimePoint phase_deadline_;
  bool is_mail_delivered_ = false;
  probes::Measurement measurement_;
};

}  // namespace weft::launch
