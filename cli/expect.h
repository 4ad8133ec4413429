#pragma once

#include <CLI/CLI.hpp>

namespace weft::cli {

/// `weft expect`. The callback sets `exit_status` and lets InputError pass.
void add_expect_command(CLI::App& app, int& exit_status);

}  // namespace weft::cli
