#include "cli/history.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/exit_status.h"
#include "cli/output_options.h"
#include "history/history.h"
#include "history/location.h"
#include "report/json.h"
#include "report/printable.h"
#include "report/table.h"
#include "report/terminal.h"
#include "report/units.h"

namespace weft::cli {
namespace {

struct HistoryOptions {
  OutputOptions output;
  int limit = 20;
  std::int64_t run = 0;
};

history::History open(const OutputOptions& output) {
  return history::History::open_to_read(output.database.empty() ? history::default_database_path() : output.database);
}

/// The verdict, or what became of a run without one.
std::string outcome_of(const history::RunSummary& run) {
  if (!run.verdict) return to_string(run.state);
  return run.state == history::RunState::interrupted ? fmt::format("{}, interrupted", to_string(*run.verdict))
                                                     : to_string(*run.verdict);
}

std::string table_of(const std::vector<history::RunSummary>& runs, const report::Style& style) {
  const std::vector<report::Column> columns = {
      {"run", true, false},      {"started", false, false}, {"nodes", true, false},
      {"hosts", false, true},    {"probe", false, false},   {"verdict", false, false},
      {"culprits", false, true}, {"rounds", true, false},   {"time", true, false}};
  std::vector<std::vector<std::string>> rows;
  for (const history::RunSummary& run : runs) {
    rows.push_back({std::to_string(run.id), report::printable(run.started_at), std::to_string(run.node_count),
                    report::printable(run.hosts), report::printable(run.prober), outcome_of(run),
                    report::printable(fmt::format("{}", fmt::join(run.culprits, ", "))), std::to_string(run.rounds),
                    run.wall_s ? report::format_seconds(*run.wall_s) : "-"});
  }
  return report::format_table(columns, rows, static_cast<std::size_t>(style.width));
}

nlohmann::ordered_json document_of(const std::vector<history::RunSummary>& runs, const std::string& database) {
  using json = nlohmann::ordered_json;
  json list = json::array();
  for (const history::RunSummary& run : runs) {
    list.push_back({{"run", run.id},
                    {"state", to_string(run.state)},
                    {"started_at", run.started_at},
                    {"nodes", run.node_count},
                    {"hosts", run.hosts},
                    {"prober", run.prober},
                    {"verdict", run.verdict ? json(to_string(*run.verdict)) : json(nullptr)},
                    {"culprits", run.culprits},
                    {"rounds", run.rounds},
                    {"wall_s", run.wall_s ? json(*run.wall_s) : json(nullptr)}});
  }
  return {{"schema", "weft.history/1"}, {"database", database}, {"runs", list}};
}

int list_runs(const HistoryOptions& options) {
  history::History history = open(options.output);
  const std::vector<history::RunSummary> runs = history.list(options.limit);
  if (options.output.json) {
    std::cout << document_of(runs, history.path()).dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
              << std::endl;
  } else if (runs.empty()) {
    std::cout << report::printable(history.path()) << " has no runs yet." << std::endl;
  } else {
    std::cout << table_of(runs, options.output.style_of(STDOUT_FILENO)) << std::flush;
  }
  return kNothingWrong;
}

int show_run(const HistoryOptions& options) {
  const history::StoredRun stored = open(options.output).load(options.run);
  if (options.output.json) {
    std::cout << report::bisect_json(stored.result).dump(2) << std::endl;
  } else {
    std::cout << report::terminal_text(stored.result, options.output.style_of(STDOUT_FILENO)) << std::flush;
  }
  return kNothingWrong;
}

void add_output_flags(CLI::App& command, OutputOptions& output) {
  command.add_flag("--json", output.json, "One JSON document on stdout and nothing else there");
  command.add_flag("--no-color", output.no_color, "No colour (so does the environment variable NO_COLOR)");
  command
      .add_option("--db", output.database,
                  "History database (default: $WEFT_DB, or weft.db under $XDG_STATE_HOME/weft)")
      ->type_name("FILE");
}

}  // namespace

void add_history_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<HistoryOptions>();
  CLI::App* command = app.add_subcommand("history", "What was measured before, and what was concluded from it");
  command->require_subcommand(1);

  CLI::App* list = command->add_subcommand("list", "The runs in the history, newest first");
  list->add_option("--limit", options->limit, "So many runs")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_output_flags(*list, options->output);
  list->footer("Examples:\n  weft history list\n  weft history list --json --limit 1");
  list->callback([options, &exit_status] { exit_status = list_runs(*options); });

  CLI::App* show = command->add_subcommand("show", "One run, as it was shown when it ended");
  show->add_option("RUN", options->run, "Number of the run, as `weft history list` gives it")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 53));
  add_output_flags(*show, options->output);
  show->footer(
      "Examples:\n  weft history show 42\n  weft history show 42 --json\n\nExit status: 0, or 2 without such a run.");
  show->callback([options, &exit_status] { exit_status = show_run(*options); });
}

}  // namespace weft::cli
