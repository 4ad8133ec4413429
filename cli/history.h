#pragma once

#include <CLI/CLI.hpp>

namespace weft::cli {

/// `weft history list` and `weft history show RUN`. Sets `exit_status` when one of them ran; what cannot go on is
/// thrown (InputError for a run or a file that is not there, RunError for a history that cannot be read).
void add_history_command(CLI::App& app, int& exit_status);

}  // namespace weft::cli
