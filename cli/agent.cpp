#include "cli/agent.h"

#include <iostream>

#include <unistd.h>

#include "launch/agent.h"

namespace weft::cli {

int run_agent_command() {
  if (isatty(STDIN_FILENO) != 0) {
    std::cerr << "weft agent: started by weft on the nodes; it reads JSON lines from here until the input ends "
                 "(docs/agent-protocol.md)\n";
  }
  return launch::run_agent({});
}

void add_agent_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand("agent", "Serves a controller on a node; weft starts it there by itself");
  command->footer(
      "Nobody needs to call this by hand, except to see whether weft runs on a node:\n"
      "  weft agent < /dev/null     prints one line of JSON and ends");
  command->callback([&exit_status] { exit_status = run_agent_command(); });
}

}  // namespace weft::cli
