#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace weft::cli {

/// `weft analyze`. The callback sets `exit_status` and lets InputError and RunError pass.
void add_analyze_command(CLI::App& app, const std::vector<std::string>& command_line, int& exit_status);

}  // namespace weft::cli
