#include "cli/analyze.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "bisect/analyze.h"
#include "bisect/expectation.h"
#include "bisect/small_effects.h"
#include "cli/exit_status.h"
#include "cli/output_options.h"
#include "cli/quantity.h"
#include "probes/collective/measurement_files.h"
#include "report/json.h"
#include "report/terminal.h"
#include "topology/error.h"
#include "topology/fabric.h"
#include "topology/hostlist.h"

namespace weft::cli {
namespace {

struct AnalyzeOptionsOfUser {
  std::vector<std::string> files;
  std::string fabric_file;
  std::string tolerance = "10%";
  std::optional<double> expect_busbw_gbps;
  int gpus_per_node = 8;
  bool small_effects = false;
  OutputOptions output;
  std::vector<std::string> command_line;
};

Finding finding_for(const bisect::NodeEffect& effect, int trials) {
  Finding finding;
  finding.kind = "small-effect";
  finding.severity = Severity::minor;
  finding.subject = "node " + effect.node;
  finding.suspects = {effect.node};
  finding.summary = fmt::format(
      "Groups with it are {:.3g} GB/s ({:.2f} %) slower: {} trials with it, {} without, t = {:.1f}, confidence {:.2f} "
      "%",
      std::abs(effect.effect_gbps), 100 * std::abs(effect.relative), effect.with, effect.without, effect.t,
      100 * effect.confidence);
  finding.evidence = {{fmt::format("{} trials", trials), "Welch's t test, corrected for having looked at every node"}};
  finding.likely_cause =
      "Something on the node that every check calls healthy: a link trained down, a clock a little lower.";
  finding.next_step = "Compare its link widths and speeds, clocks and settings with its peers'.";
  return finding;
}

/// A node that costs a fraction of a per cent, where no single measurement is slow.
void add_small_effects(bisect::Verdict& verdict, const std::vector<probes::Measurement>& measurements) {
  const bisect::SmallEffects effects = bisect::small_effects(measurements);
  for (const bisect::NodeEffect& effect : effects.selected) {
    verdict.findings.push_back(finding_for(effect, effects.trials));
  }
  if (effects.selected.empty() || verdict.kind == bisect::Verdict::Kind::degraded) return;
  verdict.kind = bisect::Verdict::Kind::degraded;
  verdict.why = fmt::format("Nothing is slow by itself, but {} costs a little: {}.", verdict.findings.back().subject,
                            verdict.findings.back().summary);
}

/// A property that a fast measurement has as well as a slow one is not what makes the slow one slow.
void add_property_findings(bisect::Verdict& verdict, const probes::MeasurementTable& table, double tolerance) {
  std::vector<double> all;
  for (const probes::Measurement& measurement : table.measurements) {
    if (measurement.status == probes::Status::ok) all.push_back(measurement.busbw_gbps);
  }
  const double fast_gbps = bisect::fast_cluster_median(all, tolerance) * (1 - tolerance);
  for (const auto& [name, values] : table.properties) {
    const probes::Measurement* fast = nullptr;
    const probes::Measurement* slow = nullptr;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const probes::Measurement& measurement = table.measurements[i];
      if (!values[i] || measurement.status != probes::Status::ok) continue;
      (measurement.busbw_gbps >= fast_gbps ? fast : slow) = &measurement;
    }
    if (fast == nullptr || slow == nullptr) continue;
    Finding finding;
    finding.kind = "not-the-cause";
    finding.subject = name;
    finding.summary =
        fmt::format("{} is not the cause: {} has it and reaches {:.4g} GB/s, {} has it and reaches {:.4g}", name,
                    topology::fold_hostlist(fast->group.nodes), fast->busbw_gbps,
                    topology::fold_hostlist(slow->group.nodes), slow->busbw_gbps);
    verdict.findings.push_back(std::move(finding));
  }
}

/// A node that was measured before and gave nothing in the last round: what it gave earlier says nothing of it now.
void add_missing_in_last_round(bisect::Verdict& verdict, const probes::MeasurementTable& table) {
  const int last = *std::max_element(table.rounds.begin(), table.rounds.end());
  std::set<std::string> present;
  for (std::size_t i = 0; i < table.measurements.size(); ++i) {
    if (table.rounds[i] != last || table.measurements[i].status != probes::Status::ok) continue;
    present.insert(table.measurements[i].group.nodes.begin(), table.measurements[i].group.nodes.end());
  }
  if (last == 0 || present.empty()) return;
  for (const std::string& node : table.nodes) {
    if (present.contains(node)) continue;
    Finding finding;
    finding.kind = "no-result";
    finding.severity = Severity::minor;
    finding.subject = "node " + node;
    finding.summary = fmt::format("No result in round {}: what it gave earlier is not read as its figure now", last);
    finding.next_step = "Measure it again.";
    verdict.findings.push_back(std::move(finding));
    if (verdict.kind == bisect::Verdict::Kind::healthy) {
      verdict.kind = bisect::Verdict::Kind::inconclusive;
      verdict.why = fmt::format("{} gave no result in round {}.", node, last);
    }
  }
}

/// The table as a run, for the reports: a round for each group size would say nothing more.
bisect::RunResult as_run(const AnalyzeOptionsOfUser& options, const topology::Fabric& fabric,
                         probes::MeasurementTable table) {
  bisect::RunResult run;
  run.info.command_line = options.command_line;
  run.info.version = WEFT_VERSION;
  run.info.prober = "analyze";
  run.info.hosts = table.nodes;
  run.info.fabric_file = fabric.file;
  run.info.spec.gpus_per_node = fabric.gpus_per_node;
  run.notes = table.notes;
  bisect::AnalyzeOptions settings;
  settings.tolerance = parse_percent("--tolerance", options.tolerance);
  if (options.expect_busbw_gbps) {
    settings.expect_busbw_gbps = require_bandwidth("--expect-busbw", *options.expect_busbw_gbps);
  }
  run.verdict = bisect::analyze(fabric, table.nodes, table.measurements, settings);
  if (options.small_effects) add_small_effects(run.verdict, table.measurements);
  add_property_findings(run.verdict, table, settings.tolerance);
  add_missing_in_last_round(run.verdict, table);
  bisect::RoundResult round;
  round.round.number = 1;
  round.round.purpose = "as given";
  for (const probes::Measurement& measurement : table.measurements)
    round.round.groups.push_back(measurement.group);
  round.measurements = std::move(table.measurements);
  run.rounds.push_back(std::move(round));
  return run;
}

int run_analyze(const AnalyzeOptionsOfUser& options) {
  std::optional<topology::Fabric> fabric;
  if (!options.fabric_file.empty()) fabric = topology::load_fabric(options.fabric_file);
  probes::MeasurementTable table = probes::load_measurements(options.files);
  if (table.measurements.empty()) {
    std::string notes;
    for (const std::string& note : table.notes)
      notes += "\n  " + note;
    throw InputError(
        {"no measurement is left", options.files.front(), "at least one with hosts and a bandwidth", notes});
  }
  if (fabric) {
    topology::require_hosts_in_fabric(*fabric, table.nodes);
  } else {
    fabric = topology::undeclared_fabric(table.nodes, options.gpus_per_node);
  }
  const bisect::RunResult run = as_run(options, *fabric, std::move(table));
  if (options.output.json) {
    std::cout << report::bisect_json(run, report::kAnalyzeSchema).dump(2) << '\n' << std::flush;
  } else {
    std::cout << report::terminal_text(run, options.output.style_of(STDOUT_FILENO)) << std::flush;
  }
  return exit_status_of(run.verdict.kind);
}

}  // namespace

void add_analyze_command(CLI::App& app, const std::vector<std::string>& command_line, int& exit_status) {
  auto options = std::make_shared<AnalyzeOptionsOfUser>();
  CLI::App* command =
      app.add_subcommand("analyze", "Say what measurements that you already have mean, and what to measure next");
  command
      ->add_option("FILE", options->files, "Tables (members,busbw or a,b,busbw), nccl-tests logs, or folders of them")
      ->required();
  command->add_option("--fabric", options->fabric_file, "The declared fabric (docs/fabric.md)")->type_name("FILE");
  command->add_option("--tolerance", options->tolerance, "How far below the expectation still is healthy")
      ->type_name("PERCENT")
      ->capture_default_str();
  command
      ->add_option("--expect-busbw", options->expect_busbw_gbps,
                   "Bus bandwidth that all nodes together should reach, GB/s")
      ->type_name("GBPS")
      ->check(CLI::Range(1e-6, 1e6));
  command
      ->add_option("--gpus-per-node", options->gpus_per_node,
                   "Without a fabric file: how far larger groups may fall behind smaller ones")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--small-effects", options->small_effects,
                    "Look for nodes that cost a fraction of a per cent, over many subsets");
  command->add_flag("--json", options->output.json, "One JSON document on stdout and nothing else there");
  command->add_flag("--no-color", options->output.no_color, "No colour (so does the environment variable NO_COLOR)");
  command->footer(
      "Examples:\n"
      "  weft analyze pairs.csv --fabric fabric.yaml\n"
      "  weft analyze logs/ --json\n"
      "\n"
      "Exit status: 0 nothing wrong, 1 found something, 2 bad input, 3 cannot tell.");
  options->command_line = command_line;
  command->callback([options, &exit_status] { exit_status = run_analyze(*options); });
}

}  // namespace weft::cli
