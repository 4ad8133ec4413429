#include "bisect/analyze_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "bisect/expectation.h"
#include "bisect/small_effects.h"
#include "topology/bandwidth_model.h"
#include "topology/hostlist.h"

namespace weft::bisect {
namespace {

/// Of one finding; its subject names all of them, folded.
constexpr std::size_t kMostNodesListed = 16;

using probes::Measurement;
using probes::MeasurementTable;

bool is_ok(const Measurement& measurement) {
  return measurement.status == probes::Status::ok;
}

Shape shape_of(const Measurement& measurement) {
  return {measurement.group.nodes.size(), measurement.group.rail.has_value()};
}

bool says(const Verdict& verdict, std::string_view kind) {
  return std::any_of(verdict.findings.begin(), verdict.findings.end(),
                     [&](const Finding& finding) { return finding.kind == kind; });
}

/// What a measurement of each shape has to reach to be among the fast ones.
std::map<Shape, double> fast_by_shape(const MeasurementTable& table, double tolerance) {
  std::map<Shape, std::vector<double>> samples;
  for (const Measurement& measurement : table.measurements) {
    if (is_ok(measurement)) samples[shape_of(measurement)].push_back(measurement.busbw_gbps);
  }
  std::map<Shape, double> fast;
  for (auto& [shape, busbw_gbps] : samples)
    fast[shape] = fast_cluster_median(std::move(busbw_gbps), tolerance) * (1 - tolerance);
  return fast;
}

struct FastAndSlow {
  const Measurement* fast = nullptr;
  const Measurement* slow = nullptr;
};

/// Two measurements of one shape that both have the property.
FastAndSlow with_property(const MeasurementTable& table, const std::vector<bool>& has_it,
                          const std::map<Shape, double>& fast_gbps) {
  std::map<Shape, FastAndSlow> by_shape;
  for (std::size_t i = 0; i < has_it.size(); ++i) {
    const Measurement& measurement = table.measurements[i];
    if (!has_it[i] || !is_ok(measurement)) continue;
    FastAndSlow& seen = by_shape[shape_of(measurement)];
    const bool is_fast = measurement.busbw_gbps >= fast_gbps.at(shape_of(measurement));
    const Measurement*& kept = is_fast ? seen.fast : seen.slow;
    const bool clearer = kept == nullptr || (is_fast ? measurement.busbw_gbps > kept->busbw_gbps
                                                     : measurement.busbw_gbps < kept->busbw_gbps);
    if (clearer) kept = &measurement;
  }
  for (const auto& [shape, seen] : by_shape) {
    if (seen.fast != nullptr && seen.slow != nullptr) return seen;
  }
  return {};
}

void add_what_is_not_the_cause(Verdict& verdict, const MeasurementTable& table, double tolerance) {
  const std::map<Shape, double> fast_gbps = fast_by_shape(table, tolerance);
  for (const auto& [name, has_it] : table.properties) {
    const auto [fast, slow] = with_property(table, has_it, fast_gbps);
    if (fast == nullptr || slow == nullptr) continue;
    const std::string fast_hosts = topology::fold_hostlist(fast->group.nodes);
    const std::string slow_hosts = topology::fold_hostlist(slow->group.nodes);
    Finding finding;
    finding.kind = "not-the-cause";
    finding.subject = name;
    finding.summary =
        fmt::format("{} is not the cause: {} has it and reaches {:.4g} GB/s, {} has it and reaches {:.4g}", name,
                    fast_hosts, fast->busbw_gbps, slow_hosts, slow->busbw_gbps);
    finding.evidence = {{fast_hosts, fmt::format("{:.4g} GB/s", fast->busbw_gbps)},
                        {slow_hosts, fmt::format("{:.4g} GB/s", slow->busbw_gbps)}};
    verdict.findings.push_back(std::move(finding));
  }
}

/// Nodes without any result in the round, and those with a row of their own that gave none. A probe that crashed or
/// hung is a result.
std::vector<std::string> without_result_in(int round, const MeasurementTable& table) {
  std::set<std::string> with_result;
  std::set<std::string> silent_alone;
  for (std::size_t i = 0; i < table.measurements.size(); ++i) {
    const Measurement& measurement = table.measurements[i];
    if (table.rounds[i] != round) continue;
    const std::vector<std::string>& nodes = measurement.group.nodes;
    if (measurement.status != probes::Status::refused) {
      with_result.insert(nodes.begin(), nodes.end());
    } else if (nodes.size() == 1) {
      silent_alone.insert(nodes.front());
    }
  }
  std::vector<std::string> without;
  for (const std::string& node : table.nodes) {
    if (!with_result.contains(node) || silent_alone.contains(node)) without.push_back(node);
  }
  return without;
}

void add_missing_in_last_round(Verdict& verdict, const MeasurementTable& table) {
  const int last = *std::max_element(table.rounds.begin(), table.rounds.end());
  if (last == 0) return;
  const std::vector<std::string> missing = without_result_in(last, table);
  if (missing.empty()) return;
  const std::string hosts = topology::fold_hostlist(missing);
  Finding finding;
  finding.kind = "no-result";
  finding.severity = Severity::minor;
  finding.subject = (missing.size() == 1 ? "node " : "nodes ") + hosts;
  finding.summary = fmt::format("No result in round {}: what was measured earlier is not read as the figure now", last);
  for (const std::string& node : std::span(missing).first(std::min(missing.size(), kMostNodesListed)))
    finding.evidence.push_back({node, fmt::format("no result in round {}", last)});
  finding.next_step = "Measure again what gave no result.";
  verdict.findings.push_back(std::move(finding));
  if (verdict.kind != Verdict::Kind::healthy) return;
  verdict.kind = Verdict::Kind::inconclusive;
  verdict.why = fmt::format("{} gave no result in round {}.", hosts, last);
}

/// Bus bandwidth of a flat ring over all rails; nothing where the fabric does not declare their speed.
std::optional<double> wires_gbps(const topology::Fabric& fabric, const std::vector<std::string>& nodes) {
  if (fabric.link.speed_gbit <= 0 || nodes.size() < 2) return std::nullopt;
  return topology::model_all_reduce(fabric, nodes, topology::CollectiveAlgorithm::flat_ring, std::nullopt)
      .limit()
      .busbw_gbps;
}

/// The fastest measurement over all rails that a flat ring could not have reached.
void add_above_the_wires(Verdict& verdict, const topology::Fabric& fabric, const MeasurementTable& table) {
  const Measurement* fastest = nullptr;
  for (const Measurement& measurement : table.measurements) {
    if (!is_ok(measurement) || measurement.group.rail) continue;
    const std::optional<double> wires = wires_gbps(fabric, measurement.group.nodes);
    if (!wires || measurement.busbw_gbps <= *wires) continue;
    if (fastest == nullptr || measurement.busbw_gbps > fastest->busbw_gbps) fastest = &measurement;
  }
  if (fastest == nullptr) return;
  const std::string hosts = topology::fold_hostlist(fastest->group.nodes);
  Finding finding;
  finding.kind = "above-the-wires";
  finding.subject = hosts;
  finding.summary = fmt::format(
      "{} nodes reach {:.4g} GB/s, more than the {:.4g} that a node's rails carry: not comparable with the "
      "line rate, nor with other numbers of nodes",
      fastest->group.nodes.size(), fastest->busbw_gbps, *wires_gbps(fabric, fastest->group.nodes));
  finding.likely_cause = "A hierarchical all-reduce sends less over the wires the fewer nodes there are.";
  verdict.findings.push_back(std::move(finding));
}

/// The largest group first: that is the one which lost most.
std::vector<const Measurement*> over_all_rails_by_size(const MeasurementTable& table) {
  std::vector<const Measurement*> measurements;
  for (const Measurement& measurement : table.measurements) {
    if (is_ok(measurement) && !measurement.group.rail) measurements.push_back(&measurement);
  }
  std::stable_sort(measurements.begin(), measurements.end(), [](const Measurement* a, const Measurement* b) {
    return a->group.nodes.size() > b->group.nodes.size();
  });
  return measurements;
}

void add_shares_of_the_wires(Verdict& verdict, const topology::Fabric& fabric, const MeasurementTable& table) {
  for (Finding& finding : verdict.findings) {
    if (finding.kind != "scaling-loss") continue;
    for (const Measurement* measurement : over_all_rails_by_size(table)) {
      const std::optional<double> wires = wires_gbps(fabric, measurement->group.nodes);
      if (!wires) continue;
      finding.evidence.push_back(
          {topology::fold_hostlist(measurement->group.nodes),
           fmt::format("{:.4g} GB/s, {:.0f} % of the {:.4g} that a node's rails carry", measurement->busbw_gbps,
                       100 * measurement->busbw_gbps / *wires, *wires)});
    }
  }
}

/// A slow way hurts each time that a ring goes over it.
void add_order_of_ranks(Verdict& verdict) {
  for (Finding& finding : verdict.findings) {
    if (finding.kind != to_string(CulpritKind::path) && finding.kind != to_string(CulpritKind::uplink)) continue;
    if (!finding.next_step.empty()) continue;
    finding.next_step =
        "Look at the links between leaves and spines. Until then the order of ranks matters: sorted by unit, a ring "
        "goes over the slow way once each way; in any other order it does so more often, and each time costs.";
  }
}

/// Nothing is certain, whatever rounding makes of it.
std::string in_percent(double confidence) {
  return confidence > 0.9999 ? "> 99.99 %" : fmt::format("{:.2f} %", 100 * confidence);
}

Finding finding_for(const NodeEffect& effect, const SmallEffects& all) {
  Finding finding;
  finding.kind = "small-effect";
  finding.severity = Severity::minor;
  finding.subject = "node " + effect.node;
  finding.suspects = {effect.node};
  finding.summary = fmt::format(
      "Groups with it are {:.3g} GB/s ({:.2f} %) slower: {} trials with it, {} without, t = {:.1f}, confidence {}",
      std::abs(effect.effect_gbps), 100 * std::abs(effect.relative), effect.with, effect.without, effect.t,
      in_percent(effect.confidence));
  finding.evidence = {
      {fmt::format("{} trials", all.trials), "Welch's t test, corrected for having looked at every node"}};
  if (!all.others.empty()) {
    const NodeEffect& next = all.others.front();
    finding.evidence.push_back({"node " + next.node, fmt::format("the next in line, t = {:.1f}", next.t)});
  }
  finding.likely_cause =
      "Something on the node that every check calls healthy: a link trained down, a clock a little lower.";
  finding.next_step = "Compare its link widths and speeds, clocks and settings with its peers'.";
  return finding;
}

/// Nodes that cost a fraction of a per cent, where no single measurement is slow. Where measurements contradict each
/// other, differences so small mean nothing.
void add_small_effects(Verdict& verdict, const MeasurementTable& table) {
  if (says(verdict, "unstable")) return;
  const SmallEffects effects = small_effects(table.measurements);
  std::vector<std::string> nodes;
  for (const NodeEffect& effect : effects.selected) {
    verdict.findings.push_back(finding_for(effect, effects));
    nodes.push_back(effect.node);
  }
  const bool open = verdict.kind == Verdict::Kind::inconclusive && !verdict.unresolved.empty();
  if (nodes.empty() || open || verdict.kind == Verdict::Kind::degraded) return;
  verdict.kind = Verdict::Kind::degraded;
  verdict.why =
      fmt::format("Nothing is slow by itself, but {} costs a little in every group.", topology::fold_hostlist(nodes));
}

}  // namespace

Verdict analyze_table(const topology::Fabric& fabric, const MeasurementTable& table,
                      const AnalyzeTableOptions& options) {
  Verdict verdict = analyze(fabric, table.nodes, table.measurements, options.inference);
  add_order_of_ranks(verdict);
  add_shares_of_the_wires(verdict, fabric, table);
  if (options.small_effects) add_small_effects(verdict, table);
  add_what_is_not_the_cause(verdict, table, options.inference.tolerance);
  add_above_the_wires(verdict, fabric, table);
  add_missing_in_last_round(verdict, table);
  return verdict;
}

std::vector<RoundResult> rounds_of(const MeasurementTable& table) {
  std::map<int, RoundResult> by_number;
  for (std::size_t i = 0; i < table.measurements.size(); ++i) {
    RoundResult& result = by_number[table.rounds[i]];
    result.round.groups.push_back(table.measurements[i].group);
    result.measurements.push_back(table.measurements[i]);
  }
  std::vector<RoundResult> rounds;
  for (auto& [number, result] : by_number) {
    result.round.number = by_number.size() == 1 && number == 0 ? 1 : number;
    result.round.purpose = "as given";
    rounds.push_back(std::move(result));
  }
  return rounds;
}

}  // namespace weft::bisect
