#include "launch/agent_prober.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "launch/printable.h"
#include "topology/hostlist.h"

namespace weft::launch {
namespace {

using Clock = std::chrono::steady_clock;
using probes::Group;
using probes::Measurement;
using probes::ProbeSpec;
using std::chrono::milliseconds;

constexpr milliseconds kTick{20};

int ranks_per_node(const Group& group, const ProbeSpec& spec) {
  return group.rail ? 1 : std::max(1, spec.gpus_per_node);
}

int rank_count(const Group& group, const ProbeSpec& spec) {
  return static_cast<int>(group.nodes.size()) * ranks_per_node(group, spec);
}

Measurement without_numbers(const Group& group, const ProbeSpec& spec, probes::Status status, std::string reason) {
  Measurement measurement;
  measurement.group = group;
  measurement.op = spec.op;
  measurement.bytes = spec.bytes;
  measurement.ranks = rank_count(group, spec);
  measurement.status = status;
  measurement.reason = std::move(reason);
  return measurement;
}

/// Why a group cannot be measured whatever the nodes do; empty when it can.
std::string why_refused(const Group& group, const ProbeSpec& spec, const GlooProberOptions& options) {
  if (std::set<std::string>(group.nodes.begin(), group.nodes.end()).size() != group.nodes.size()) {
    return "a node is in the group twice";
  }
  if (rank_count(group, spec) < 2) return "a collective needs at least 2 ranks";
  if (rank_count(group, spec) > probes::kMaxRanks) return fmt::format("more than {} ranks", probes::kMaxRanks);
  if (spec.iterations < 1) return "no iterations";
  if (group.rail && (*group.rail < 0 || static_cast<std::size_t>(*group.rail) >= options.rail_interfaces.size())) {
    return fmt::format("rail {} has no network interface: {} are known", *group.rail, options.rail_interfaces.size());
  }
  return "";
}

/// The nodes of all groups, each once.
std::vector<std::string> nodes_of(std::span<const Group> groups) {
  std::vector<std::string> nodes;
  for (const Group& group : groups)
    nodes.insert(nodes.end(), group.nodes.begin(), group.nodes.end());
  return topology::without_repeats(std::move(nodes));
}

std::optional<std::uint64_t> probe_of(const AgentMessage& message) {
  if (const auto* m = std::get_if<Started>(&message)) return m->probe;
  if (const auto* m = std::get_if<FromRank>(&message)) return m->probe;
  if (const auto* m = std::get_if<RankExited>(&message)) return m->probe;
  if (const auto* m = std::get_if<ProbeState>(&message)) return m->probe;
  if (const auto* m = std::get_if<Done>(&message)) return CollectiveProbe::probe_of_request(m->id);
  if (const auto* m = std::get_if<Refused>(&message); m != nullptr && m->id) {
    return CollectiveProbe::probe_of_request(*m->id);
  }
  return std::nullopt;
}

}  // namespace

/// One call of measure.
class GlooProber::Round {
 public:
  Round(GlooProber& prober, std::span<const Group> groups, const ProbeSpec& spec,
        const std::function<void(const Measurement&)>& on_done)
      : prober_(prober),
        pool_(prober.pool_),
        groups_(groups),
        spec_(spec),
        on_done_(on_done),
        results_(groups.size()) {}

  std::vector<Measurement> run(const std::atomic<bool>& cancel);

 private:
  struct Running {
    std::size_t group;
    std::uint64_t id;
    CollectiveProbe probe;
  };

  void begin(std::size_t index, bool is_cancelled);
  std::vector<CollectiveProbe::RankPlan> plan(const Group& group) const;
  std::string host_of(const std::string& node) const;
  void count_ranks_by_host(std::span<const Group> groups);
  void note_other_versions(Measurement& measurement) const;
  void hear(AgentConnection& agent, const AgentMessage& message);
  void pass_news();
  void deliver(CollectiveProbe& probe);
  void collect_finished();
  void done(std::size_t group, Measurement measurement);

  GlooProber& prober_;
  AgentPool& pool_;
  std::span<const Group> groups_;
  const ProbeSpec& spec_;
  const std::function<void(const Measurement&)>& on_done_;
  std::vector<Measurement> results_;
  std::vector<Running> running_;
  std::map<std::string, int> ranks_by_host_;
};

std::vector<Measurement> GlooProber::Round::run(const std::atomic<bool>& cancel) {
  pool_.resume();
  std::vector<Group> possible;
  std::copy_if(groups_.begin(), groups_.end(), std::back_inserter(possible),
               [this](const Group& group) { return why_refused(group, spec_, prober_.options_).empty(); });
  pool_.connect(nodes_of(possible), cancel);
  count_ranks_by_host(possible);
  for (std::size_t i = 0; i < groups_.size(); ++i)
    begin(i, cancel);
  while (!running_.empty()) {
    if (cancel) {
      for (Running& running : running_)
        running.probe.cancel(Clock::now());
    }
    pass_news();
    collect_finished();
    if (running_.empty()) break;
    pool_.exchange(kTick, [this](AgentConnection& agent, const AgentMessage& message) { hear(agent, message); });
  }
  return std::move(results_);
}

void GlooProber::Round::begin(std::size_t index, bool is_cancelled) {
  const Group& group = groups_[index];
  const std::string refusal = why_refused(group, spec_, prober_.options_);
  if (!refusal.empty()) return done(index, without_numbers(group, spec_, probes::Status::refused, refusal));
  if (is_cancelled) return done(index, without_numbers(group, spec_, probes::Status::refused, "cancelled"));
  Measurement unreachable = without_numbers(group, spec_, probes::Status::unreachable, "");
  unreachable.stage = probes::Stage::login;
  for (const std::string& node : group.nodes) {
    const AgentConnection* agent = pool_.find(node);
    if (agent->state() == AgentConnection::State::ready) continue;
    if (unreachable.reason.empty()) unreachable.reason = fmt::format("{}: {}", node, agent->lost_reason());
    unreachable.node_faults.push_back(
        {.node = node, .rank = -1, .stage = probes::Stage::login, .what = agent->lost_reason()});
  }
  if (!unreachable.node_faults.empty()) return done(index, std::move(unreachable));
  const std::uint64_t id = prober_.next_probe_++;
  running_.push_back({index, id, CollectiveProbe(id, "gloo", group, spec_, plan(group), Clock::now())});
}

/// Nodes with one boot id are one host and share its memory.
std::string GlooProber::Round::host_of(const std::string& node) const {
  const std::string& boot_id = pool_.find(node)->host().boot_id;
  return boot_id.empty() ? node : boot_id;
}

void GlooProber::Round::count_ranks_by_host(std::span<const Group> groups) {
  for (const Group& group : groups) {
    for (const std::string& node : group.nodes)
      ranks_by_host_[host_of(node)] += ranks_per_node(group, spec_);
  }
}

std::vector<CollectiveProbe::RankPlan> GlooProber::Round::plan(const Group& group) const {
  const GlooProberOptions& options = prober_.options_;
  const int per_node = ranks_per_node(group, spec_);
  std::vector<CollectiveProbe::RankPlan> plan;
  for (const std::string& node : group.nodes) {
    probes::RankParameters parameters;
    parameters.ranks = rank_count(group, spec_);
    parameters.ranks_on_host = std::min(ranks_by_host_.at(host_of(node)), probes::kMaxRanks);
    parameters.op = spec_.op;
    parameters.bytes = spec_.bytes;
    parameters.iterations = spec_.iterations;
    parameters.warm_up_iterations = std::max(0, spec_.warm_up_iterations);
    parameters.interface =
        group.rail ? options.rail_interfaces[static_cast<std::size_t>(*group.rail)] : options.interface;
    const auto address = options.addresses.find(node);
    parameters.address = address != options.addresses.end() ? address->second : pool_.launcher().address_of(node);
    parameters.timeouts = spec_.timeouts;
    const auto faults = options.faults.find(node);
    if (faults != options.faults.end()) parameters.faults = faults->second;
    for (int i = 0; i < per_node; ++i) {
      parameters.rank = static_cast<int>(plan.size());
      plan.push_back({node, parameters});
    }
  }
  return plan;
}

void GlooProber::Round::hear(AgentConnection& agent, const AgentMessage& message) {
  const auto id = probe_of(message);
  if (!id) {
    const auto* refused = std::get_if<Refused>(&message);
    return agent.lose(fmt::format("its agent refuses: {}", printable(refused != nullptr ? refused->reason : "")));
  }
  if (*id == 0 || *id >= prober_.next_probe_) {
    return agent.lose(fmt::format("its agent spoke of probe {}, which there never was", *id));
  }
  for (Running& running : running_) {
    if (running.id != *id) continue;
    const auto lie = running.probe.involves(agent.node()) ? running.probe.hear(agent.node(), message, Clock::now())
                                                          : std::optional<std::string>("this node has no part in it");
    if (lie) agent.lose(fmt::format("its agent cannot be right about probe {}: {}", *id, printable(*lie)));
    return deliver(running.probe);
  }
  // A probe that is over: the agent may have said it before it knew.
}

/// Tells the probes what time it is and who is lost, and the agents what the probes say.
void GlooProber::Round::pass_news() {
  const Clock::time_point now = Clock::now();
  const auto lost = pool_.lost();
  for (Running& running : running_) {
    for (const AgentConnection* agent : lost)
      running.probe.lose_node(agent->node(), agent->lost_reason(), now);
    running.probe.pass_time(now);
    deliver(running.probe);
  }
}

void GlooProber::Round::deliver(CollectiveProbe& probe) {
  for (const CollectiveProbe::Outgoing& outgoing : probe.take_outgoing())
    pool_.find(outgoing.node)->send(outgoing.message);
}

void GlooProber::Round::collect_finished() {
  std::erase_if(running_, [this](Running& running) {
    if (!running.probe.finished()) return false;
    Measurement measurement = running.probe.measurement();
    note_other_versions(measurement);
    done(running.group, std::move(measurement));
    return true;
  });
}

void GlooProber::Round::note_other_versions(Measurement& measurement) const {
  for (const std::string& node : measurement.group.nodes) {
    const std::string& version = pool_.find(node)->version();
    if (version != build_version()) {
      measurement.notes.push_back(fmt::format("{} runs weft {}, this is weft {}", node, version, build_version()));
    }
  }
}

void GlooProber::Round::done(std::size_t group, Measurement measurement) {
  results_[group] = std::move(measurement);
  if (on_done_) on_done_(results_[group]);
}

GlooProber::GlooProber(std::unique_ptr<Launcher> launcher, GlooProberOptions options)
    : pool_(std::move(launcher), options.limits), options_(std::move(options)) {}

std::vector<Measurement> GlooProber::measure(std::span<const Group> groups, const ProbeSpec& spec,
                                             const std::atomic<bool>& cancel,
                                             const std::function<void(const Measurement&)>& on_done) {
  return Round(*this, groups, spec, on_done).run(cancel);
}

}  // namespace weft::launch
