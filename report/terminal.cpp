#include "report/terminal.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "report/advice.h"
#include "report/cost.h"
#include "report/printable.h"
#include "report/table.h"
#include "report/units.h"
#include "topology/hostlist.h"

namespace weft::report {
namespace {

using bisect::Culprit;
using bisect::Verdict;
using probes::Measurement;
using probes::Status;

constexpr std::size_t kMostCulprits = 40;
constexpr std::size_t kMostFindings = 40;
constexpr std::size_t kMostCandidates = 8;
constexpr std::size_t kMostFailures = 8;
constexpr std::size_t kLongestFailure = 600;  ///< columns; last words of a process can be long

std::size_t width_of(const Style& style) {
  return static_cast<std::size_t>(style.width);
}

std::string title(const Style& style, const char* text) {
  return '\n' + inked(style, Ink::bold, text) + '\n';
}

Ink ink_of(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::healthy:
      return Ink::green;
    case Verdict::Kind::degraded:
      return Ink::red;
    case Verdict::Kind::inconclusive:
      return Ink::yellow;
    case Verdict::Kind::failed:
      return Ink::red;
  }
  return Ink::plain;
}

const char* word_of(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::healthy:
      return "HEALTHY";
    case Verdict::Kind::degraded:
      return "DEGRADED";
    case Verdict::Kind::inconclusive:
      return "CANNOT TELL";
    case Verdict::Kind::failed:
      return "FAILED";
  }
  return "CANNOT TELL";
}

/// Wraps before inking: escapes take no columns.
std::string headline(const bisect::RunResult& run, const Style& style) {
  const std::string word = word_of(run.verdict.kind);
  const std::string_view cut = run.interrupted ? "interrupted before the end: " : "";
  const std::string text = fmt::format("{}: {}{}", word, cut, printable(run.verdict.why));
  std::string lines = wrapped_after("", text, width_of(style));
  lines.replace(0, word.size(), inked(style, ink_of(run.verdict.kind), word));
  return lines;
}

std::string injected_lines(const bisect::RunResult& run, const Style& style) {
  if (run.info.injected.empty()) return {};
  const std::string text = fmt::format("Faults injected on purpose: {}. This is not what the cluster does by itself.",
                                       printable(fmt::format("{}", fmt::join(run.info.injected, ", "))));
  std::string lines = wrapped(text, width_of(style));
  lines.pop_back();
  return inked(style, Ink::yellow, lines) + '\n';
}

std::string figures_of(const Culprit& culprit) {
  std::string text;
  if (culprit.measured_gbps) text += format_bandwidth(culprit.measured_gbps);
  if (culprit.expected_gbps)
    text += fmt::format("{}expected {}", text.empty() ? "" : ", ", format_bandwidth(culprit.expected_gbps));
  if (culprit.slowdown) text += fmt::format("{}{} slower", text.empty() ? "" : ": ", format_times(*culprit.slowdown));
  return fmt::format("{}{}confidence {}", text, text.empty() ? "" : ", ", format_percent(culprit.confidence));
}

std::string culprit_lines(const bisect::RunResult& run, const Style& style) {
  const std::vector<Culprit>& culprits = run.verdict.culprits;
  if (culprits.empty()) return {};
  const std::size_t shown = std::min(culprits.size(), kMostCulprits);
  std::vector<std::string> names;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    names.push_back(elided(printable(describe(culprits[i])), width_of(style) / 2));
    widest = std::max(widest, columns_of(names.back()));
  }
  std::string lines = "\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string blanks(widest - columns_of(names[i]) + 2, ' ');
    std::string line = wrapped_after("  " + names[i] + blanks, figures_of(culprits[i]), width_of(style));
    lines += line.replace(2, names[i].size(), inked(style, Ink::red, names[i]));
  }
  if (shown < culprits.size()) lines += fmt::format("  and {} more, all of them in --json\n", culprits.size() - shown);
  return lines;
}

std::string cost_lines(const bisect::RunResult& run, const Style& style) {
  const std::optional<Cost> cost = cost_of(run);
  if (!cost) return {};
  const std::string job =
      fmt::format("a job over these {} ({})", counted(cost->nodes, "node"), counted(cost->gpus, "GPU"));
  std::string text;
  switch (cost->kind) {
    case Cost::Kind::slow:
      text = fmt::format("As far as this collective bounds it, {} runs at {} of its speed: {} GPU-hours lost per hour.",
                         job, format_percent(cost->speed), format_amount(cost->lost_gpu_hours_per_hour));
      break;
    case Cost::Kind::stops:
      text = fmt::format("As it is, {} does not run at all.", job);
      break;
    case Cost::Kind::wrong:
      text = fmt::format("As it is, {} computes with wrong values.", job);
      break;
  }
  return title(style, "What it costs") + wrapped(text, width_of(style), 2);
}

std::string advice_lines(const bisect::RunResult& run, const Style& style) {
  const std::vector<Advice> all = advice_for(run);
  if (all.empty()) return {};
  std::string lines = title(style, "What to do next");
  for (const Advice& advice : all) {
    lines += wrapped(printable(advice.subject), width_of(style), 2);
    for (std::size_t i = 0; i < advice.steps.size(); ++i) {
      lines += wrapped_after("    - ", printable(advice.steps[i]), width_of(style));
      if (i == 0 && !advice.command.empty()) lines += "      " + printable(advice.command) + '\n';
    }
  }
  return lines;
}

std::string candidates_of(const bisect::Unresolved& set) {
  std::vector<std::string> names;
  for (const Culprit& candidate : set.candidates)
    names.push_back(describe(candidate));
  const std::size_t more = names.size() > kMostCandidates ? names.size() - kMostCandidates : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string tail_of(const bisect::Unresolved& set) {
  if (!set.next_probe) return "No single probe tells.";
  if (!set.next_probe->rail) return "The cheapest probe that tells:";
  return fmt::format("The cheapest probe that tells is on rail {} of these:", *set.next_probe->rail);
}

std::string unresolved_lines(const bisect::RunResult& run, const Style& style) {
  if (run.verdict.unresolved.empty()) return {};
  std::string lines = title(style, "Not told apart");
  for (const bisect::Unresolved& set : run.verdict.unresolved) {
    lines += wrapped(fmt::format("At least one of these is bad: {}. {}", printable(candidates_of(set)), tail_of(set)),
                     width_of(style), 2);
    if (set.next_probe) lines += "    " + printable(next_probe_command(run.info, *set.next_probe)) + '\n';
  }
  return lines;
}

std::string finding_lines(const bisect::RunResult& run, const Style& style) {
  const std::vector<Finding>& findings = run.verdict.findings;
  if (findings.empty()) return {};
  std::string lines = title(style, "Findings");
  const std::size_t shown = std::min(findings.size(), kMostFindings);
  for (std::size_t i = 0; i < shown; ++i) {
    const Finding& finding = findings[i];
    const std::string head = fmt::format("  {:<8} ", to_string(finding.severity));
    lines += wrapped_after(head, printable(fmt::format("{}: {}", finding.subject, finding.summary)), width_of(style));
    constexpr std::size_t kMostEvidence = 3;
    const std::size_t evidence = std::min(finding.evidence.size(), kMostEvidence);
    for (std::size_t j = 0; j < evidence; ++j)
      lines += wrapped(printable(fmt::format("{}: {}", finding.evidence[j].where, finding.evidence[j].what)),
                       width_of(style), head.size() + 2);
    if (!finding.likely_cause.empty())
      lines += wrapped(printable("Likely cause: " + finding.likely_cause), width_of(style), head.size());
    if (!finding.next_step.empty())
      lines += wrapped(printable("Next: " + finding.next_step), width_of(style), head.size());
  }
  if (shown < findings.size()) lines += fmt::format("  and {} more, all of them in --json\n", findings.size() - shown);
  return lines;
}

/// "4", or "4 (1 hung, 2 failed)".
std::string probes_of(const bisect::RoundResult& round) {
  std::map<Status, int> others;
  for (const Measurement& measurement : round.measurements)
    if (measurement.status != Status::ok) ++others[measurement.status];
  std::vector<std::string> parts;
  for (const auto& [status, count] : others)
    parts.push_back(fmt::format("{} {}", count, to_string(status)));
  const std::string total = std::to_string(round.measurements.size());
  return parts.empty() ? total : fmt::format("{} ({})", total, fmt::join(parts, ", "));
}

std::string name_of(const probes::Group& group) {
  std::string name = printable(topology::fold_hostlist(group.nodes));
  if (group.rail) name += fmt::format(" rail {}", *group.rail);
  return name;
}

/// "round 5, gpu[050-051]: hung in rendezvous: no answer for 20 s; gpu050: killed by signal 11".
std::string failure_of(const bisect::RoundResult& round, const Measurement& measurement) {
  std::string text =
      fmt::format("round {}, {}: {}", round.round.number, name_of(measurement.group), to_string(measurement.status));
  if (measurement.stage != probes::Stage::none) text += fmt::format(" in {}", to_string(measurement.stage));
  if (!measurement.reason.empty()) text += ": " + measurement.reason;
  constexpr std::size_t kMostFaults = 3;
  const std::size_t shown = std::min(measurement.node_faults.size(), kMostFaults);
  for (std::size_t i = 0; i < shown; ++i)
    text += fmt::format("; {}: {}", measurement.node_faults[i].node, measurement.node_faults[i].what);
  return text;
}

/// The first of each reason: what fails everywhere is said once.
std::string failure_lines(const bisect::RunResult& run, const Style& style) {
  std::set<std::string> said;
  std::string lines;
  std::size_t more = 0;
  for (const bisect::RoundResult& round : run.rounds)
    for (const Measurement& measurement : round.measurements) {
      const bool new_kind =
          measurement.status != Status::ok && said.insert(to_string(measurement.status) + measurement.reason).second;
      if (!new_kind) continue;
      if (said.size() > kMostFailures)
        ++more;
      else
        lines +=
            wrapped_after("  ", elided(printable(failure_of(round, measurement)), kLongestFailure), width_of(style));
    }
  if (lines.empty()) return {};
  if (more > 0) lines += fmt::format("  and {} more\n", more);
  return title(style, "Probes without a figure (the first of each reason)") + lines;
}

/// Bandwidths that may be compared; one rank has none.
std::vector<const Measurement*> comparable(const bisect::RoundResult& round) {
  std::vector<const Measurement*> result;
  for (const Measurement& measurement : round.measurements)
    if (measurement.status == Status::ok && measurement.busbw_gbps > 0) result.push_back(&measurement);
  return result;
}

std::vector<std::string> round_row(const bisect::RoundResult& round) {
  const std::vector<const Measurement*> measured = comparable(round);
  std::string slowest = "-";
  std::string median = "-";
  std::string group;
  if (!measured.empty()) {
    const Measurement& last = **std::ranges::min_element(measured, {}, &Measurement::busbw_gbps);
    std::vector<double> busbw_gbps;
    for (const Measurement* measurement : measured)
      busbw_gbps.push_back(measurement->busbw_gbps);
    slowest = format_bandwidth(last.busbw_gbps);
    median = format_bandwidth(probes::median_of(std::move(busbw_gbps)));
    group = name_of(last.group);
  }
  return {std::to_string(round.round.number),
          printable(round.round.purpose),
          probes_of(round),
          slowest,
          median,
          format_seconds(round.wall_s),
          group};
}

std::string round_lines(const bisect::RunResult& run, const Style& style) {
  if (run.rounds.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const bisect::RoundResult& round : run.rounds)
    rows.push_back(round_row(round));
  const std::vector<Column> columns = {{"round", true, false},        {"purpose", false, true}, {"probes", false, true},
                                       {"slowest", true, false},      {"median", true, false},  {"time", true, false},
                                       {"slowest group", false, true}};
  return title(style, "Rounds") + format_table(columns, rows, width_of(style), 2);
}

const char* origin_of(bisect::Baseline::Source source) {
  switch (source) {
    case bisect::Baseline::Source::flag:
      return "as you said";
    case bisect::Baseline::Source::fabric:
      return "from the fabric file";
    case bisect::Baseline::Source::history:
      return "from earlier healthy runs";
    case bisect::Baseline::Source::peers:
      return "from like groups of this run";
    case bisect::Baseline::Source::model:
      return "from the link speeds";
  }
  return "";
}

/// "Run 42: all_reduce of 1 GiB, nccl over ssh, begun 2026-03-01T02:03:04Z."
std::string run_line(const bisect::RunInfo& info) {
  std::string text = info.id > 0 ? fmt::format("Run {}", info.id) : "Run not kept";
  text += ": " + describe(info.spec);
  if (!info.prober.empty()) text += ", " + info.prober;
  if (!info.launcher.empty()) text += " over " + info.launcher;
  if (!info.started_at.empty()) text += ", begun " + info.started_at;
  return text + '.';
}

std::string cost_of_search(const bisect::RunResult& run) {
  return fmt::format(
      "The search took {}, {}, {} and {} node-seconds.", counted(static_cast<std::int64_t>(run.rounds.size()), "round"),
      counted(run.probe_count(), "probe"), format_seconds(run.wall_s), format_amount(run.node_seconds()));
}

std::string fact_lines(const bisect::RunResult& run, const Style& style) {
  const Verdict& verdict = run.verdict;
  const std::size_t width = width_of(style);
  std::string lines = "\n";
  lines += wrapped(fmt::format("Nodes: {} asked = {} measured + {} skipped + {} failed.", verdict.asked,
                               verdict.measured, verdict.skipped, verdict.failed),
                   width);
  if (verdict.whole_gbps || verdict.baseline) {
    std::string text = fmt::format("All together: {}", format_bandwidth(verdict.whole_gbps));
    if (verdict.rest_gbps) text += fmt::format(", without the culprits {}", format_bandwidth(verdict.rest_gbps));
    if (verdict.baseline)
      text += fmt::format("; expected {} ({})", format_bandwidth(verdict.baseline->busbw_gbps),
                          origin_of(verdict.baseline->source));
    lines += wrapped(text + ".", width);
  }
  if (!run.rounds.empty()) lines += wrapped(cost_of_search(run), width);
  lines += wrapped(printable(run_line(run.info)), width);
  for (const std::string& note : run.notes)
    lines += wrapped_after("Note: ", printable(note), width);
  return lines;
}

}  // namespace

std::string describe(const probes::ProbeSpec& spec) {
  if (spec.bytes == 0) return to_string(spec.op);
  return fmt::format("{} of {}", to_string(spec.op), format_bytes(spec.bytes));
}

std::string terminal_text(const bisect::RunResult& run, const Style& style) {
  return headline(run, style) + injected_lines(run, style) + culprit_lines(run, style) + cost_lines(run, style) +
         advice_lines(run, style) + unresolved_lines(run, style) + finding_lines(run, style) +
         failure_lines(run, style) + round_lines(run, style) + fact_lines(run, style);
}

}  // namespace weft::report
