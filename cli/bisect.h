#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace weft::cli {

/// `weft bisect`. `command_line` is kept with the run. The callback sets `exit_status` and lets InputError and RunError
/// pass.
void add_bisect_command(CLI::App& app, const std::vector<std::string>& command_line, int& exit_status);

}  // namespace weft::cli
