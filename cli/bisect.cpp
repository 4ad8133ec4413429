#include "cli/bisect.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pwd.h>
#include <unistd.h>

#include "bisect/search.h"
#include "cli/exit_status.h"
#include "cli/interrupt.h"
#include "cli/node_options.h"
#include "cli/output_options.h"
#include "cli/probe_options.h"
#include "cli/quantity.h"
#include "cli/search_loop.h"
#include "history/history.h"
#include "history/run_recorder.h"
#include "report/json.h"
#include "report/progress.h"
#include "report/terminal.h"
#include "topology/bandwidth_model.h"
#include "topology/error.h"

namespace weft::cli {
namespace {

struct BisectOptions {
  NodeOptions nodes;
  ProbeOptions probe;
  OutputOptions output;
  std::string tolerance = "10%";
  std::optional<double> expect_busbw_gbps;
  int max_rounds = 100;
  std::string strategy = "auto";
  std::string budget;
  std::optional<std::int64_t> resume;
  std::vector<std::string> command_line;
};

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string user_name() {
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(geteuid());
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

bisect::RunInfo run_info(const BisectOptions& options, const Nodes& nodes, const ChosenProber& chosen,
                         const probes::ProbeSpec& spec) {
  bisect::RunInfo info;
  info.started_at = utc_now();
  info.command_line = options.command_line;
  info.version = WEFT_VERSION;
  info.user = user_name();
  info.controller_host = host_name();
  info.prober = chosen.prober->name();
  info.launcher = chosen.launcher;
  info.fabric_file = nodes.fabric.file;
  info.fabric_text = nodes.fabric_text;
  info.hosts = nodes.hosts;
  info.spec = spec;
  info.injected = chosen.injected;
  return info;
}

bisect::SearchOptions search_options(const BisectOptions& options, const ChosenProber& chosen,
                                     const probes::ProbeSpec& spec) {
  bisect::SearchOptions search;
  search.op = spec.op;
  search.tolerance = parse_percent("--tolerance", options.tolerance);
  search.expect_busbw_gbps = options.expect_busbw_gbps;
  search.scaling = chosen.scaling;
  search.can_pin_rails = chosen.prober->can_pin_rails();
  search.can_probe_single_nodes = chosen.prober->can_probe_single_nodes();
  search.max_rounds = options.max_rounds;
  if (options.strategy == "halving") search.strategy = bisect::Strategy::halving;
  return search;
}

/// Loopback is no fabric: what it gave last time, under another load, says nothing of today.
bool history_is_comparable(const ChosenProber& chosen) {
  return chosen.launcher != "local";
}

void print(const BisectOptions& options, const bisect::RunResult& result) {
  if (options.output.json) {
    std::cout << report::bisect_json(result).dump(2) << '\n' << std::flush;
    return;
  }
  std::cout << report::terminal_text(result, options.output.style_of(STDOUT_FILENO)) << std::flush;
}

/// What an earlier run was asked for, to go on with it: its hosts and fabric as they were then.
struct Earlier {
  bisect::RunResult result;
  Nodes nodes;
};

Nodes nodes_of(const bisect::RunInfo& info) {
  Nodes nodes;
  nodes.hosts = info.hosts;
  nodes.on_this_machine = info.launcher == "local";
  nodes.fabric_text = info.fabric_text;
  nodes.fabric = info.fabric_text.empty() ? topology::undeclared_fabric(info.hosts, info.spec.gpus_per_node)
                                          : topology::parse_fabric(info.fabric_text, info.fabric_file);
  return nodes;
}

/// A round that was cut short says less than it was asked: it is measured anew.
bool was_cut_short(const bisect::RoundResult& round) {
  return std::any_of(round.measurements.begin(), round.measurements.end(), [](const probes::Measurement& measurement) {
    return measurement.status == probes::Status::refused && measurement.reason == "cancelled";
  });
}

Earlier load_earlier(std::int64_t run, const OutputOptions& output) {
  history::StoredRun stored = history::History::open_to_read(output.database_path()).load(run);
  if (stored.state == history::RunState::finished) {
    throw InputError({fmt::format("run {} came to its end", run), "--resume", "a run that was interrupted",
                      fmt::format("see it with: weft history show {}", run)});
  }
  std::vector<bisect::RoundResult>& rounds = stored.result.rounds;
  if (!rounds.empty() && was_cut_short(rounds.back())) rounds.pop_back();
  Nodes nodes = nodes_of(stored.result.info);
  return {std::move(stored.result), std::move(nodes)};
}

int run_bisect(const BisectOptions& options, const std::optional<Earlier>& earlier) {
  const Nodes nodes = earlier ? earlier->nodes : choose_nodes(options.nodes, std::max(1, options.probe.gpus_per_node));
  const probes::ProbeSpec spec = spec_from(options.probe, nodes.fabric);
  (void)parse_percent("--tolerance", options.tolerance);  // before anything is started
  std::optional<double> budget_s;
  if (!options.budget.empty()) budget_s = parse_duration_s("--budget", options.budget);
  if (options.expect_busbw_gbps) require_bandwidth("--expect-busbw", *options.expect_busbw_gbps);
  const Interrupt interrupt;
  const ChosenProber chosen =
      choose_prober(options.probe, nodes, spec, earlier ? static_cast<int>(earlier->result.rounds.size()) : 0);
  history::RunRecorder recorder = options.output.recorder();
  bisect::RunInfo info = run_info(options, nodes, chosen, spec);
  bisect::SearchOptions search_settings = search_options(options, chosen, spec);
  if (history_is_comparable(chosen)) {
    if (const auto precedent = recorder.precedent(info)) search_settings.history_busbw_gbps = precedent->busbw_gbps;
  }
  if (nodes.fabric.link.speed_gbit > 0 && nodes.hosts.size() > 1) {
    using topology::CollectiveAlgorithm;
    search_settings.model_busbw_gbps =
        model_all_reduce(nodes.fabric, nodes.hosts, CollectiveAlgorithm::flat_ring, std::nullopt).limit().busbw_gbps;
  }
  bisect::Search search(nodes.fabric, nodes.hosts, search_settings);
  std::ostream silence(nullptr);
  report::Progress progress(options.output.quiet ? silence : std::cerr, isatty(STDERR_FILENO) == 1,
                            options.output.style_of(STDERR_FILENO).width);
  info.id = recorder.begin(info);
  SearchLoop loop(search, *chosen.prober, recorder, progress);
  if (earlier) loop.replay(earlier->result.rounds);
  bisect::RunResult result = loop.run(std::move(info), interrupt, budget_s);
  if (chosen.launcher == "local") {
    result.notes.push_back("All nodes were processes on this machine: this says nothing of any network.");
  }
  if (earlier) result.notes.push_back(fmt::format("Goes on from run {}.", earlier->result.info.id));
  result.notes.insert(result.notes.end(), recorder.notes().begin(), recorder.notes().end());
  recorder.finish(result);
  print(options, result);
  if (result.interrupted) return interrupt.signal() == SIGTERM ? kTerminated : kInterrupted;
  return exit_status_of(result.verdict.kind);
}

void add_flags(CLI::App& command, BisectOptions& options) {
  options.nodes.add_to(command);
  options.probe.add_to(command);
  command.add_option("--tolerance", options.tolerance, "How far below the expectation still is healthy")
      ->type_name("PERCENT")
      ->capture_default_str();
  command
      .add_option("--expect-busbw", options.expect_busbw_gbps, "Bus bandwidth that the whole set should reach, GB/s")
      ->type_name("GBPS")
      ->check(CLI::Range(1e-6, 1e6));
  command.add_option("--max-rounds", options.max_rounds, "Give up, with what is known, after so many rounds")
      ->type_name("N")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command.add_option("--strategy", options.strategy, "auto: suspects in parallel; halving: one group at a time")
      ->check(CLI::IsMember({"auto", "halving"}))
      ->capture_default_str();
  command.add_option("--budget", options.budget, "Begin no round that would end after so long")->type_name("DURATION");
  command.add_option("--resume", options.resume, "Go on with a run that was interrupted; its other flags are as then")
      ->type_name("RUN");
  options.output.add_to(command);
}

/// The flags of the earlier run, with today's output.
BisectOptions options_of(const bisect::RunInfo& info, const BisectOptions& now) {
  BisectOptions options;
  CLI::App app;
  add_flags(*app.add_subcommand("bisect", ""), options);
  std::vector<std::string> words(info.command_line.rbegin(), info.command_line.rend());  // as CLI11 wants them
  if (!words.empty()) words.pop_back();                                                  // the program's name
  app.parse(std::move(words));
  options.output = now.output;
  options.command_line = info.command_line;
  return options;
}

}  // namespace

void add_bisect_command(CLI::App& app, const std::vector<std::string>& command_line, int& exit_status) {
  auto options = std::make_shared<BisectOptions>();
  CLI::App* command = app.add_subcommand("bisect", "Find what slows a collective down among these nodes");
  add_flags(*command, *options);
  command->footer(
      "Examples:\n"
      "  weft bisect --nodes 8 --bytes 1M --inject 'node[1-8]:rate=200Mbit' --inject 'node5:delay=30%'\n"
      "  weft bisect --hosts 'gpu[001-064]' --fabric fabric.yaml --probe exec --gpus-per-node 8 --bytes 4G \\\n"
      "    --command 'mpirun -np {np} -H {hosts} all_reduce_perf -b {bytes} -e {bytes} -g 1'\n"
      "\n"
      "Exit status: 0 nothing wrong, 1 found something, 2 bad input, 3 cannot tell, 4 could not run.");
  options->command_line = command_line;
  command->callback([options, &exit_status] {
    if (!options->resume) {
      exit_status = run_bisect(*options, std::nullopt);
      return;
    }
    const Earlier earlier = load_earlier(*options->resume, options->output);
    exit_status = run_bisect(options_of(earlier.result.info, *options), earlier);
  });
}

}  // namespace weft::cli
