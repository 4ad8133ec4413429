#include "launch/collective_probe.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace weft::launch {
namespace {

using probes::Stage;
using std::chrono::milliseconds;
using TimePoint = CollectiveProbe::TimePoint;

/// After evidence against someone: for the reports of others that failed at the same moment.
constexpr milliseconds kSettleAfterEvidence{300};
/// After a rank has only lost a peer: for the news of that peer.
constexpr milliseconds kSettleAfterLostPeer{1500};
constexpr milliseconds kInspectionLimit{2000};
constexpr milliseconds kEndingLimit{2500};
constexpr milliseconds kCancelLimit{1500};
/// Between the last result and the end of the last rank.
constexpr milliseconds kExitLimit{5000};
/// The agent ends ranks by itself when its controller has not done so for this long after the last stage's limit.
constexpr double kAgentMargin_s = 30;
/// A rank's clock is not ours.
constexpr double kClockSlack_s = 1;

milliseconds to_milliseconds(double seconds) {
  return std::chrono::ceil<milliseconds>(std::chrono::duration<double>(seconds));
}

double agent_deadline_s(const probes::StageTimeouts& limits) {
  return limits.start_s + limits.rendezvous_s + limits.init_s + limits.warm_up_s + 2 * limits.run_s + kAgentMargin_s;
}

bool is_over(const RankRecord& rank) {
  return rank.exit || rank.error || !rank.refusal.empty();
}

bool has_result(const RankRecord& rank) {
  return rank.result.has_value();
}

bool has_result_and_is_gone(const RankRecord& rank) {
  return rank.result && rank.exit;
}

/// Whether nothing more can be learnt about it: a stopped process is known by its state, it will not answer.
bool has_answered(const RankRecord& rank) {
  if (is_over(rank) || !rank.started || rank.progress) return true;
  const char state = rank.process_state.value_or('?');
  return state == 'T' || state == 't' || state == 'D';
}

}  // namespace

CollectiveProbe::CollectiveProbe(std::uint64_t id, const std::string& program, probes::Group group,
                                 const probes::ProbeSpec& spec, const std::vector<RankPlan>& plan, TimePoint now)
    : id_(id), began_(now), stage_deadline_(now + to_milliseconds(spec.timeouts.start_s)) {
  record_.group = std::move(group);
  record_.spec = spec;
  for (const RankPlan& rank : plan) {
    const std::uint64_t request = new_request();
    start_requests_[request] = rank.parameters.rank;
    nodes_[rank.node] = false;
    record_.ranks.emplace_back().node = rank.node;
    tell(rank.node, StartRank{request, id_, program, agent_deadline_s(spec.timeouts), rank.parameters});
  }
}

std::vector<CollectiveProbe::Outgoing> CollectiveProbe::take_outgoing() {
  return std::exchange(outgoing_, {});
}

void CollectiveProbe::tell(const std::string& node, ControllerMessage message) {
  outgoing_.push_back({node, std::move(message)});
}

RankRecord* CollectiveProbe::rank_on(const std::string& node, int rank) {
  const auto index = static_cast<std::size_t>(rank);
  if (index >= record_.ranks.size() || record_.ranks[index].node != node) return nullptr;
  return &record_.ranks[index];
}

bool CollectiveProbe::everyone(bool (*test)(const RankRecord& rank)) const {
  return std::all_of(record_.ranks.begin(), record_.ranks.end(), test);
}

std::optional<std::string> CollectiveProbe::hear(const std::string& node, const AgentMessage& message, TimePoint now) {
  if (phase_ == Phase::finished) return std::nullopt;  // said before it knew
  std::optional<std::string> lie;
  if (const auto* said = std::get_if<FromRank>(&message)) lie = hear_rank(node, *said, now);
  if (const auto* started = std::get_if<Started>(&message)) lie = hear_started(node, *started);
  if (const auto* exited = std::get_if<RankExited>(&message)) lie = hear_exit(node, *exited, now);
  if (const auto* state = std::get_if<ProbeState>(&message)) lie = hear_state(node, *state);
  if (const auto* refused = std::get_if<Refused>(&message)) lie = hear_refusal(node, *refused, now);
  if (std::holds_alternative<Done>(message)) {
    if (phase_ != Phase::ending) return "a request was done that was not made";
    nodes_[node] = true;
  }
  if (lie) return lie;
  deliver_mail_when_complete();
  advance_stage(now);
  pass_time(now);
  return std::nullopt;
}

std::optional<std::string> CollectiveProbe::hear_rank(const std::string& node, const FromRank& said, TimePoint now) {
  RankRecord* rank = rank_on(node, said.rank);
  if (rank == nullptr) return fmt::format("rank {} does not run there", said.rank);
  if (rank->exit) return fmt::format("rank {} speaks after its end", said.rank);
  if (phase_ == Phase::ending) return std::nullopt;
  return std::visit([&](const auto& message) { return take(*rank, message, now); }, said.message);
}

std::optional<std::string> CollectiveProbe::hear_started(const std::string& node, const Started& started) {
  RankRecord* rank = rank_on(node, started.rank);
  if (rank == nullptr || rank->started) return fmt::format("rank {} cannot be started there", started.rank);
  rank->started = true;
  return std::nullopt;
}

std::optional<std::string> CollectiveProbe::hear_exit(const std::string& node, const RankExited& exit, TimePoint now) {
  RankRecord* rank = rank_on(node, exit.rank);
  if (rank == nullptr || rank->exit || !rank->started) return fmt::format("rank {} cannot end there", exit.rank);
  if (phase_ == Phase::ending) return std::nullopt;  // our own doing
  rank->exit = exit;
  if (!rank->result) note_failure(is_guilty(*rank), now);
  return std::nullopt;
}

std::optional<std::string> CollectiveProbe::hear_state(const std::string& node, const ProbeState& state) {
  for (const RankState& said : state.ranks) {
    RankRecord* rank = rank_on(node, said.rank);
    if (rank == nullptr) return fmt::format("rank {} has no state there", said.rank);
    rank->process_state = said.state;
  }
  return std::nullopt;
}

std::optional<std::string> CollectiveProbe::hear_refusal(const std::string& node, const Refused& refused,
                                                         TimePoint now) {
  const auto request = start_requests_.find(refused.id.value_or(0));
  if (request == start_requests_.end()) return "a request was refused that must not be: " + refused.reason;
  RankRecord* rank = rank_on(node, request->second);
  if (rank == nullptr || rank->started) return fmt::format("rank {} cannot be refused there", request->second);
  rank->refusal = refused.reason.empty() ? "no reason given" : refused.reason;
  note_failure(true, now);
  return std::nullopt;
}

std::optional<std::string> CollectiveProbe::take(RankRecord& rank, const probes::RankStage& said, TimePoint) {
  if (said.stage <= rank.stage || said.stage > Stage::check) {
    return fmt::format("stage {} comes after stage {}", to_string(said.stage), to_string(rank.stage));
  }
  rank.stage = said.stage;
  return std::nullopt;
}

std::optional<std::string> CollectiveProbe::take(RankRecord& rank, const probes::RankPost& said, TimePoint) {
  const bool has_one_for_each = said.each.empty() || said.each.size() == record_.ranks.size();
  if (rank.post || rank.stage != Stage::rendezvous || !has_one_for_each) {
    return fmt::format("a post of {} pieces for {} ranks in {}", said.each.size(), record_.ranks.size(),
                       to_string(rank.stage));
  }
  rank.post = said;
  return std::nullopt;
}

std::optional<std::string> CollectiveProbe::take(RankRecord& rank, const probes::RankProgress& said, TimePoint) {
  rank.progress = said;
  return std::nullopt;
}

std::optional<std::string> CollectiveProbe::take(RankRecord& rank, const probes::RankResult& said, TimePoint now) {
  if (rank.result || rank.stage != Stage::check) return fmt::format("a result in {}", to_string(rank.stage));
  if (said.iteration_s.size() != static_cast<std::size_t>(record_.spec.iterations)) {
    return fmt::format("a result of {} iterations instead of {}", said.iteration_s.size(), record_.spec.iterations);
  }
  if (std::any_of(said.iteration_s.begin(), said.iteration_s.end(), [](double time) { return time <= 0; })) {
    return "a result with an iteration that took no time";
  }
  const double total_s = std::accumulate(said.iteration_s.begin(), said.iteration_s.end(), 0.0);
  const double elapsed_s = std::chrono::duration<double>(now - began_).count();
  if (total_s > elapsed_s + kClockSlack_s) {
    return fmt::format("a result whose iterations took {:g} s, in a probe of {:g} s", total_s, elapsed_s);
  }
  rank.result = said;
  if (everyone(has_result)) stage_deadline_ = now + kExitLimit;
  return std::nullopt;
}

std::optional<std::string> CollectiveProbe::take(RankRecord& rank, const probes::RankError& said, TimePoint now) {
  if (rank.error || rank.result) return "a rank fails that was over";
  rank.error = said;
  note_failure(said.kind != probes::RankError::Kind::peer, now);
  return std::nullopt;
}

void CollectiveProbe::deliver_mail_when_complete() {
  if (is_mail_delivered_ || !everyone([](const RankRecord& rank) { return rank.post.has_value(); })) return;
  is_mail_delivered_ = true;
  std::vector<std::string> shared;
  for (const RankRecord& rank : record_.ranks)
    shared.push_back(rank.post->shared);
  for (std::size_t reader = 0; reader < record_.ranks.size(); ++reader) {
    probes::RankMail mail{shared, {}};
    for (const RankRecord& rank : record_.ranks)
      mail.each.push_back(rank.post->each.empty() ? "" : rank.post->each[reader]);
    tell(record_.ranks[reader].node, ToRank{id_, static_cast<int>(reader), std::move(mail)});
  }
}

void CollectiveProbe::advance_stage(TimePoint now) {
  if (phase_ != Phase::running) return;
  const auto slowest = std::min_element(record_.ranks.begin(), record_.ranks.end(),
                                        [](const RankRecord& a, const RankRecord& b) { return a.stage < b.stage; });
  if (slowest->stage != record_.stage) {
    record_.stage = slowest->stage;
    stage_deadline_ = now + to_milliseconds(limit_of(record_.stage, record_.spec.timeouts));
  }
}

void CollectiveProbe::note_failure(bool is_decisive, TimePoint now) {
  const TimePoint until = now + (is_decisive ? kSettleAfterEvidence : kSettleAfterLostPeer);
  if (phase_ == Phase::running) {
    phase_ = Phase::settling;
    phase_deadline_ = until;
  } else if (phase_ == Phase::settling) {
    phase_deadline_ = std::min(phase_deadline_, until);
  }
}

void CollectiveProbe::lose_node(const std::string& node, const std::string& reason, TimePoint now) {
  if (finished() || !involves(node) || record_.lost_nodes.contains(node)) return;
  nodes_[node] = true;
  if (phase_ == Phase::ending) return finish_when_gone(now);
  record_.lost_nodes[node] = reason;
  note_failure(true, now);
}

void CollectiveProbe::cancel(TimePoint now) {
  if (phase_ == Phase::ending || finished()) return;
  record_.cancelled = true;
  end_ranks(now);
  phase_deadline_ = now + kCancelLimit;
}

void CollectiveProbe::pass_time(TimePoint now) {
  switch (phase_) {
    case Phase::running:
      pass_running_time(now);
      break;
    case Phase::settling:
      if (everyone(is_over) || (now >= phase_deadline_ && is_explained())) {
        end_ranks(now);
      } else if (now >= phase_deadline_) {
        inspect(now);
      }
      break;
    case Phase::inspecting:
      if (now >= phase_deadline_ || everyone(has_answered)) end_ranks(now);
      break;
    case Phase::ending:
      finish_when_gone(now);
      break;
    case Phase::finished:
      break;
  }
}

void CollectiveProbe::pass_running_time(TimePoint now) {
  if (everyone(has_result_and_is_gone)) {
    measurement_ = conclude(record_);
    finish(now);
  } else if (now >= stage_deadline_ && everyone(has_result)) {
    end_ranks(now);  // they have told all they had to and do not leave
  } else if (now >= stage_deadline_) {
    record_.out_of_time = true;
    inspect(now);
  }
}

/// Whether what failed so far has a cause other than a lost peer.
bool CollectiveProbe::is_explained() const {
  return !record_.lost_nodes.empty() || std::any_of(record_.ranks.begin(), record_.ranks.end(), [](const auto& rank) {
    return is_guilty(rank) || (rank.error && rank.error->kind == probes::RankError::Kind::refused);
  });
}

void CollectiveProbe::inspect(TimePoint now) {
  phase_ = Phase::inspecting;
  phase_deadline_ = now + kInspectionLimit;
  for (const auto& [node, is_gone] : nodes_)
    tell(node, Inspect{new_request(), id_});
}

/// What is known now decides; what the ranks do when they are ended is our own doing.
void CollectiveProbe::end_ranks(TimePoint now) {
  measurement_ = conclude(record_);
  phase_ = Phase::ending;
  phase_deadline_ = now + kEndingLimit;
  for (const auto& [node, is_gone] : nodes_) {
    if (!is_gone) tell(node, Cancel{new_request(), id_});
  }
}

void CollectiveProbe::finish_when_gone(TimePoint now) {
  const bool all_gone = std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node.second; });
  if (!all_gone && now < phase_deadline_) return;
  for (const auto& [node, is_gone] : nodes_) {
    if (!is_gone) measurement_.notes.push_back(fmt::format("{} has not confirmed that its ranks are gone", node));
  }
  finish(now);
}

void CollectiveProbe::finish(TimePoint now) {
  phase_ = Phase::finished;
  measurement_.wall_s = std::chrono::duration<double>(now - began_).count();
}

}  // namespace weft::launch
