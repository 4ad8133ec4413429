#include "cli/analyze.h"

#include <iostream>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "bisect/analyze_table.h"
#include "cli/exit_status.h"
#include "cli/output_options.h"
#include "cli/quantity.h"
#include "probes/collective/measurement_files.h"
#include "report/json.h"
#include "report/terminal.h"
#include "topology/error.h"
#include "topology/fabric.h"

namespace weft::cli {
namespace {

struct AnalyzeOptionsOfUser {
  std::vector<std::string> files;
  std::string fabric_file;
  std::string tolerance = "10%";
  std::optional<double> expect_busbw_gbps;
  int gpus_per_node = 8;
  bool flat_ring = false;
  bool small_effects = false;
  OutputOptions output;
  std::vector<std::string> command_line;
};

bisect::RunResult as_run(const AnalyzeOptionsOfUser& options, const topology::Fabric& fabric,
                         const probes::MeasurementTable& table) {
  bisect::AnalyzeTableOptions settings;
  settings.small_effects = options.small_effects;
  settings.inference.tolerance = parse_percent("--tolerance", options.tolerance);
  if (options.flat_ring) settings.inference.scaling = probes::Scaling::flat_ring;
  if (options.expect_busbw_gbps) {
    settings.inference.expect_busbw_gbps = require_bandwidth("--expect-busbw", *options.expect_busbw_gbps);
  }
  bisect::RunResult run;
  run.info.command_line = options.command_line;
  run.info.version = WEFT_VERSION;
  run.info.prober = "analyze";
  run.info.hosts = table.nodes;
  run.info.fabric_file = fabric.file;
  run.info.spec.gpus_per_node = fabric.gpus_per_node;
  run.notes = table.notes;
  run.verdict = bisect::analyze_table(fabric, table, settings);
  run.rounds = bisect::rounds_of(table);
  return run;
}

int run_analyze(const AnalyzeOptionsOfUser& options) {
  std::optional<topology::Fabric> fabric;
  if (!options.fabric_file.empty()) fabric = topology::load_fabric(options.fabric_file);
  const probes::MeasurementTable table = probes::load_measurements(options.files);
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
  const bisect::RunResult run = as_run(options, *fabric, table);
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
      ->add_option("FILE", options->files,
                   "Tables (members,busbw or a,b,busbw), nccl-tests logs, or folders of them; - reads standard input")
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
  command->add_flag("--flat-ring", options->flat_ring,
                    "They were flat rings (NCCL_ALGO=Ring): larger groups should reach what smaller ones do");
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
