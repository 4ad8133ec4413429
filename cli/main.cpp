#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/agent.h"
#include "cli/analyze.h"
#include "cli/bisect.h"
#include "cli/exit_status.h"
#include "cli/expect.h"
#include "cli/history.h"
#include "topology/error.h"

namespace {

/// CLI11 only says that a command is missing where one is misspelt.
void require_known_command(const CLI::App& app, const std::vector<std::string>& words, std::size_t at) {
  if (at >= words.size() || words[at].empty() || words[at].front() == '-') return;
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == words[at]) return require_known_command(*command, words, at + 1);
    known.push_back(command->get_name());
  }
  if (known.empty()) return;
  const std::string nearest = weft::nearest_name(words[at], known);
  throw weft::InputError({"there is no command '" + words[at] + "'", "", "",
                          nearest.empty() ? "see --help" : "did you mean '" + nearest + "'? See --help"});
}

int run(int argc, char** argv) {
  using namespace weft::cli;
  int exit_status = kNothingWrong;
  const std::vector<std::string> command_line(argv, argv + argc);
  CLI::App app("weft finds what makes a GPU cluster's collectives slow, proves it, and says what to do.", "weft");
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.require_subcommand(1);
  app.footer("Start with: weft bisect --help");
  add_bisect_command(app, command_line, exit_status);
  add_analyze_command(app, command_line, exit_status);
  add_expect_command(app, exit_status);
  add_history_command(app, exit_status);
  add_agent_command(app, exit_status);
  require_known_command(app, command_line, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    std::cerr << "weft: " << error.what() << "\nSee weft --help, or --help after the command.\n";
    return kBadInput;
  }
  return exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  // A pipe that closes early is an error of a write, not the end of a program that has processes to end elsewhere.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const weft::InputError& error) {
    std::cerr << "weft: " << error.what() << '\n';
    return weft::cli::kBadInput;
  } catch (const weft::Error& error) {
    std::cerr << "weft: " << error.what() << '\n';
    return weft::cli::kCouldNotRun;
  } catch (const std::exception& error) {
    std::cerr << "weft: unexpected: " << error.what() << '\n';
    return weft::cli::kCouldNotRun;
  }
}
