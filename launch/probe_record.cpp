#include "launch/probe_record.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "launch/printable.h"
#include "topology/hostlist.h"

namespace weft::launch {
namespace {

using probes::Measurement;
using probes::NodeFault;
using probes::RankError;
using probes::Stage;
using probes::Status;

using RankTest = std::function<bool(const RankRecord&)>;

std::vector<int> ranks_where(const ProbeRecord& record, const RankTest& test) {
  std::vector<int> found;
  for (std::size_t i = 0; i < record.ranks.size(); ++i) {
    if (test(record.ranks[i])) found.push_back(static_cast<int>(i));
  }
  return found;
}

const RankRecord& rank_of(const ProbeRecord& record, int rank) {
  return record.ranks[static_cast<std::size_t>(rank)];
}

std::string with_last_words(std::string text, const RankRecord& rank) {
  const std::string words = rank.exit ? last_words(rank.exit->last_output) : "";
  return words.empty() ? text : fmt::format("{}; its last words: {}", text, words);
}

std::string guilt_of(const RankRecord& rank) {
  if (!rank.refusal.empty()) return fmt::format("could not be started: {}", printable(rank.refusal));
  if (rank.error) return printable(rank.error->what);
  if (rank.exit->past_deadline) return with_last_words("ended by its agent", rank);
  return with_last_words(probes::ExitStatus{rank.exit->exit_code, rank.exit->signal}.describe(), rank);
}

/// "rank 5 on node6"; the rank is left out where every node has one.
std::string name_of(const NodeFault& fault) {
  return fmt::format("rank {} on {}", fault.rank, fault.node);
}

/// The nodes that have no part in the faults, folded; empty when there are none.
std::string waiting_nodes(const ProbeRecord& record, const std::vector<NodeFault>& faults) {
  std::vector<std::string> waiting;
  for (const std::string& node : record.group.nodes) {
    const auto is_same = [&](const NodeFault& fault) { return fault.node == node; };
    if (std::none_of(faults.begin(), faults.end(), is_same)) waiting.push_back(node);
  }
  return waiting.empty() ? "" : fmt::format("; waiting for it: {}", topology::fold_hostlist(waiting));
}

/// "rank 5 on node6: exit code 1 (and 2 more)".
std::string summary_of(const std::vector<NodeFault>& faults) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> parts;
  for (const NodeFault& fault : faults) {
    if (parts.size() == kMostNamed) {
      parts.push_back(fmt::format("and {} more", faults.size() - kMostNamed));
      break;
    }
    parts.push_back(fmt::format("{}: {}", name_of(fault), fault.what));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<NodeFault> faults_of(const ProbeRecord& record, const std::vector<int>& ranks,
                                 const std::function<std::string(const RankRecord&)>& what) {
  std::vector<NodeFault> faults;
  for (const int rank : ranks) {
    const RankRecord& known = rank_of(record, rank);
    faults.push_back({.node = known.node, .rank = rank, .stage = known.stage, .what = what(known)});
  }
  return faults;
}

// ---- who is missing from a hang

/// A process that is stopped, stuck in the kernel, or does not answer although its agent does. Only an inspection
/// tells.
bool is_silent(const RankRecord& rank) {
  return rank.started && !rank.exit && !rank.error && !rank.progress;
}

bool answers_nothing_yet(const RankRecord& rank) {
  return !rank.progress && !rank.process_state;
}

std::string why_silent(const RankRecord& rank) {
  if (!rank.process_state) return "its agent does not answer";
  if (*rank.process_state == 'T' || *rank.process_state == 't') return "its process is stopped (state T)";
  if (*rank.process_state == 'D') return "its process is stuck in the kernel (state D)";
  return fmt::format("its process does not answer (state {})", printable(std::string(1, *rank.process_state)));
}

std::string why_missing(const RankRecord& rank) {
  if (!rank.started) return "never started";
  if (is_silent(rank)) return why_silent(rank);
  if (rank.stage == Stage::start) return "started and has not said a word";
  if (rank.stage == Stage::rendezvous && !rank.post) return "has not joined the rendezvous";
  if (rank.stage == Stage::init) return "does not get through connecting, which the others did";
  return fmt::format("is behind the others, in iteration {}", rank.progress ? rank.progress->iteration : 0);
}

/// Those that are behind all others, where they are a minority: a majority that waits is no culprit.
std::vector<int> ranks_behind(const ProbeRecord& record) {
  const auto place = [](const RankRecord& rank) {
    const bool posted = rank.stage == Stage::rendezvous && rank.post;
    return std::tuple(rank.stage, posted, rank.progress ? rank.progress->iteration : 0);
  };
  const auto last = std::min_element(record.ranks.begin(), record.ranks.end(),
                                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
  auto behind = ranks_where(record, [&](const RankRecord& rank) { return place(rank) == place(*last); });
  // Nobody can be waiting for a rank that has not arrived while having arrived: before the connection any number may be
  // missing.
  const bool is_before_connection = std::get<0>(place(*last)) <= Stage::rendezvous && !std::get<1>(place(*last));
  const std::size_t most = is_before_connection ? record.ranks.size() : record.ranks.size() / 2;
  if (behind.size() > most || behind.size() == record.ranks.size()) behind.clear();
  // Whoever reports a lost peer has been waiting for someone else.
  std::erase_if(behind, [&](int rank) { return rank_of(record, rank).error.has_value(); });
  return behind;
}

std::vector<int> missing_ranks(const ProbeRecord& record) {
  const bool inspected = std::any_of(record.ranks.begin(), record.ranks.end(),
                                     [](const RankRecord& rank) { return !answers_nothing_yet(rank); });
  auto never_started = ranks_where(record, [](const RankRecord& rank) { return !rank.started; });
  if (!never_started.empty()) return never_started;
  auto silent = inspected ? ranks_where(record, is_silent) : std::vector<int>{};
  return silent.empty() ? ranks_behind(record) : silent;
}

// ---- conclusions, each of which may not apply

using Conclusion = bool (*)(const ProbeRecord& record, Measurement& measurement);

bool conclude_cancelled(const ProbeRecord& record, Measurement& m) {
  if (!record.cancelled) return false;
  m.status = Status::refused;
  m.reason = "cancelled";
  return true;
}

bool conclude_unreachable(const ProbeRecord& record, Measurement& m) {
  if (record.lost_nodes.empty()) return false;
  m.status = Status::unreachable;
  for (const auto& [node, reason] : record.lost_nodes) {
    m.node_faults.push_back({.node = node, .rank = -1, .stage = m.stage, .what = reason});
  }
  m.reason = fmt::format("{}: {}", m.node_faults[0].node, m.node_faults[0].what);
  if (m.node_faults.size() > 1) m.reason += fmt::format(" (and {} nodes more)", m.node_faults.size() - 1);
  return true;
}

bool conclude_refused(const ProbeRecord& record, Measurement& m) {
  for (const RankRecord& rank : record.ranks) {
    if (!rank.error || rank.error->kind != RankError::Kind::refused) continue;
    m.status = Status::refused;
    m.reason = fmt::format("{}: {}", rank.node, printable(rank.error->what));
    return true;
  }
  return false;
}

bool conclude_failed(const ProbeRecord& record, Measurement& m) {
  const auto guilty = ranks_where(record, is_guilty);
  if (guilty.empty()) return false;
  m.status = Status::failed;
  m.node_faults = faults_of(record, guilty, guilt_of);
  m.stage = m.node_faults[0].stage;
  m.reason = fmt::format("failed in {}: {}{}", to_string(m.stage), summary_of(m.node_faults),
                         waiting_nodes(record, m.node_faults));
  return true;
}

bool conclude_hung(const ProbeRecord& record, Measurement& m) {
  const auto lost_a_peer = ranks_where(record, [](const RankRecord& rank) { return rank.error.has_value(); });
  if (!record.out_of_time && lost_a_peer.empty()) return false;
  m.status = record.out_of_time ? Status::hung : Status::failed;
  m.node_faults = faults_of(record, missing_ranks(record), why_missing);
  const std::string what =
      record.out_of_time
          ? fmt::format("no progress in {} for {:g} s", to_string(m.stage), limit_of(m.stage, record.spec.timeouts))
          : fmt::format("rank {} on {} lost a peer in {} ({})", lost_a_peer[0], rank_of(record, lost_a_peer[0]).node,
                        to_string(m.stage), printable(rank_of(record, lost_a_peer[0]).error->what));
  if (m.node_faults.empty()) {
    m.reason = fmt::format("{}: no rank is missing, all {} wait for each other", what, record.ranks.size());
  } else {
    m.reason = fmt::format("{}: {}{}", what, summary_of(m.node_faults), waiting_nodes(record, m.node_faults));
  }
  return true;
}

bool conclude_corrupt(const ProbeRecord& record, Measurement& m) {
  const auto wrong =
      ranks_where(record, [](const RankRecord& rank) { return rank.result && rank.result->wrong_values > 0; });
  if (wrong.empty()) return false;
  m.status = Status::corrupt;
  const auto what = [](const RankRecord& rank) {
    return fmt::format("{} wrong values, the first: {}", rank.result->wrong_values,
                       printable(rank.result->first_wrong));
  };
  const auto faults = faults_of(record, wrong, what);
  m.reason = fmt::format("wrong data: {}", summary_of(faults));
  // When everybody has the same wrong sum, it may have gone wrong anywhere.
  if (wrong.size() < record.ranks.size()) m.node_faults = faults;
  return true;
}

bool conclude_ok(const ProbeRecord& record, Measurement& m) {
  m.status = Status::ok;
  m.stage = Stage::none;
  m.iteration_s.assign(static_cast<std::size_t>(record.spec.iterations), 0.0);
  for (const RankRecord& rank : record.ranks) {
    for (std::size_t i = 0; i < m.iteration_s.size(); ++i)
      m.iteration_s[i] = std::max(m.iteration_s[i], rank.result->iteration_s[i]);
  }
  m.time_s = probes::median_of(m.iteration_s);
  m.algbw_gbps = static_cast<double>(probes::moved_bytes(m.op, m.bytes, m.ranks)) / m.time_s / 1e9;
  m.busbw_gbps = m.algbw_gbps * probes::bus_factor(m.op, m.ranks);
  return true;
}

}  // namespace

double limit_of(Stage stage, const probes::StageTimeouts& timeouts) {
  switch (stage) {
    case Stage::rendezvous:
      return timeouts.rendezvous_s;
    case Stage::init:
      return timeouts.init_s;
    case Stage::warm_up:
      return timeouts.warm_up_s;
    case Stage::run:
    case Stage::check:
      return timeouts.run_s;
    case Stage::none:
    case Stage::login:
    case Stage::start:
      break;
  }
  return timeouts.start_s;
}

bool is_guilty(const RankRecord& rank) {
  if (!rank.refusal.empty()) return true;
  if (rank.error) return rank.error->kind == RankError::Kind::local;
  return rank.exit && !rank.result;
}

Measurement conclude(const ProbeRecord& record) {
  constexpr Conclusion kConclusions[] = {conclude_cancelled, conclude_unreachable, conclude_refused, conclude_failed,
                                         conclude_hung,      conclude_corrupt,     conclude_ok};
  Measurement measurement;
  measurement.group = record.group;
  measurement.op = record.spec.op;
  measurement.bytes = record.spec.bytes;
  measurement.ranks = static_cast<int>(record.ranks.size());
  measurement.stage = record.stage;
  for (const Conclusion apply : kConclusions) {
    if (apply(record, measurement)) break;
  }
  return measurement;
}

}  // namespace weft::launch
