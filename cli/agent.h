#pragma once

#include <CLI/CLI.hpp>

namespace weft::cli {

/// `weft agent`: serves one controller on standard input and output until the input ends (launch/agent.h).
int run_agent_command();

/// Adds the command; the callback sets `exit_status`.
void add_agent_command(CLI::App& app, int& exit_status);

}  // namespace weft::cli
