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
#include "history/run_recorder.h"
#include "report/json.h"
#include "report/progress.h"
#include "report/terminal.h"
#include "topology/error.h"

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct BisectOptions {
  NodeOptions nodes;
  ProbeOptions probe;
  OutputOptions output;
  std::string tolerance = "10%";
  std::optional<double> expect_busbw_gbps;
  int max_rounds = 100;
  std::string strategy = "auto";
  std::string budget;
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

/// Measures round after round until the search has a verdict or the user wants an end.
class BisectRun {
 public:
  BisectRun(const Nodes& nodes, const ChosenProber& chosen, bisect::Search& search, history::RunRecorder& recorder,
            report::Progress& progress)
      : nodes_(nodes), chosen_(chosen), search_(search), recorder_(recorder), progress_(progress) {}

  /// `budget_s`: no round is begun that would end later, taking it to last as long as the longest so far.
  bisect::RunResult run(bisect::RunInfo info, const Interrupt& interrupt, std::optional<double> budget_s) {
    const Clock::time_point begin = Clock::now();
    bisect::RunResult result;
    result.info = std::move(info);
    double longest_round_s = 0;
    while (!interrupt.requested()) {
      bisect::Round round = search_.next_round();
      if (round.groups.empty()) break;
      if (budget_s && seconds_since(begin) + longest_round_s > *budget_s) {
        result.notes.push_back(
            fmt::format("Stopped before round {}: the budget of {:.0f} s is used up.", round.number, *budget_s));
        break;
      }
      result.rounds.push_back(measure(std::move(round), result.info.spec, interrupt, begin));
      search_.record(result.rounds.back().measurements);
      recorder_.round(result.rounds.back());
      longest_round_s = std::max(longest_round_s, result.rounds.back().wall_s);
    }
    progress_.finish();
    result.interrupted = interrupt.requested();
    result.verdict = search_.verdict();
    result.wall_s = seconds_since(begin);
    return result;
  }

 private:
  bisect::RoundResult measure(bisect::Round round, const probes::ProbeSpec& spec, const Interrupt& interrupt,
                              Clock::time_point run_begin) {
    const Clock::time_point begin = Clock::now();
    progress_.begin_round(round, seconds_since(run_begin));
    bisect::RoundResult result;
    result.measurements = chosen_.prober->measure(
        round.groups, spec, interrupt.requested(),
        [&](const probes::Measurement& measurement) { progress_.probe_done(measurement, seconds_since(run_begin)); });
    result.round = std::move(round);
    result.wall_s = seconds_since(begin);
    progress_.end_round(result, seconds_since(run_begin));
    return result;
  }

  const Nodes& nodes_;
  const ChosenProber& chosen_;
  bisect::Search& search_;
  history::RunRecorder& recorder_;
  report::Progress& progress_;
};

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

int run_bisect(const BisectOptions& options) {
  const Nodes nodes = choose_nodes(options.nodes, std::max(1, options.probe.gpus_per_node));
  const probes::ProbeSpec spec = spec_from(options.probe, nodes.fabric);
  (void)parse_percent("--tolerance", options.tolerance);  // before anything is started
  std::optional<double> budget_s;
  if (!options.budget.empty()) budget_s = parse_duration_s("--budget", options.budget);
  history::RunRecorder recorder = options.output.recorder();
  const Interrupt interrupt;
  const ChosenProber chosen = choose_prober(options.probe, nodes, spec);
  bisect::RunInfo info = run_info(options, nodes, chosen, spec);
  bisect::SearchOptions search_settings = search_options(options, chosen, spec);
  if (history_is_comparable(chosen)) {
    if (const auto precedent = recorder.precedent(info)) search_settings.history_busbw_gbps = precedent->busbw_gbps;
  }
  info.id = recorder.begin(info);
  bisect::Search search(nodes.fabric, nodes.hosts, search_settings);
  std::ostream silence(nullptr);
  report::Progress progress(options.output.quiet ? silence : std::cerr, isatty(STDERR_FILENO) == 1,
                            options.output.style_of(STDERR_FILENO).width);
  bisect::RunResult result =
      BisectRun(nodes, chosen, search, recorder, progress).run(std::move(info), interrupt, budget_s);
  result.notes.insert(result.notes.end(), recorder.notes().begin(), recorder.notes().end());
  recorder.finish(result);
  print(options, result);
  if (result.interrupted) return interrupt.signal() == SIGTERM ? kTerminated : kInterrupted;
  return exit_status_of(result.verdict.kind);
}

}  // namespace

void add_bisect_command(CLI::App& app, const std::vector<std::string>& command_line, int& exit_status) {
  auto options = std::make_shared<BisectOptions>();
  CLI::App* command = app.add_subcommand("bisect", "Find what slows a collective down among these nodes");
  options->nodes.add_to(*command);
  options->probe.add_to(*command);
  command->add_option("--tolerance", options->tolerance, "How far below the expectation still is healthy")
      ->type_name("PERCENT")
      ->capture_default_str();
  command
      ->add_option("--expect-busbw", options->expect_busbw_gbps, "Bus bandwidth that the whole set should reach, GB/s")
      ->type_name("GBPS")
      ->check(CLI::Range(1e-6, 1e6));
  command->add_option("--max-rounds", options->max_rounds, "Give up, with what is known, after so many rounds")
      ->type_name("N")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--strategy", options->strategy, "auto: suspects in parallel; halving: one group at a time")
      ->check(CLI::IsMember({"auto", "halving"}))
      ->capture_default_str();
  command->add_option("--budget", options->budget, "Begin no round that would end after so long")
      ->type_name("DURATION");
  options->output.add_to(*command);
  command->footer(
      "Examples:\n"
      "  weft bisect --nodes 8 --inject 'node[1-8]:rate=200Mbit' --inject 'node5:delay=30%' --bytes 1M\n"
      "  weft bisect --hosts 'gpu[001-064]' --fabric fabric.yaml --probe exec --gpus-per-node 8 \\\n"
      "    --command 'mpirun -np {np} -H {hosts} --map-by ppr:{gpus_per_node}:node all_reduce_perf -b {bytes} -e "
      "{bytes} -g 1'\n"
      "\n"
      "Exit status: 0 nothing wrong, 1 found something, 2 bad input, 3 cannot tell, 4 could not run.");
  options->command_line = command_line;
  command->callback([options, &exit_status] { exit_status = run_bisect(*options); });
}

}  // namespace weft::cli
