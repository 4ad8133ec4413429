#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "history/run_recorder.h"
#include "report/progress.h"
#include "report/terminal.h"

namespace weft::cli {

/// The flags that say what is shown and what is kept, the same for every command.
struct OutputOptions {
  bool json = false;
  bool quiet = false;
  bool no_color = false;
  bool no_history = false;
  std::string database;

  void add_to(CLI::App& command);
  report::Style style_of(int fd) const;
  std::string database_path() const;
  history::RunRecorder recorder() const;
};

}  // namespace weft::cli
