#include "cli/output_options.h"

#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace weft::cli {
namespace {

constexpr int kDefaultWidth = 100;

int terminal_width(int fd) {
  winsize size = {};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : kDefaultWidth;
}

/// https://no-color.org: present and not empty.
bool environment_forbids_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color != nullptr && std::string_view(no_color) != "";
}

}  // namespace

void OutputOptions::add_to(CLI::App& command) {
  command.add_flag("--json", json, "One JSON document on stdout and nothing else there");
  command.add_flag("--quiet", quiet, "No progress on stderr");
  command.add_flag("--no-color", no_color, "No colour (so does the environment variable NO_COLOR)");
  command.add_option("--db", database, "History database (default: $WEFT_DB, or weft.db under $XDG_STATE_HOME/weft)")
      ->type_name("FILE");
  command.add_flag("--no-history", no_history, "Keep nothing of this run");
}

report::Style OutputOptions::style_of(int fd) const {
  const bool color = !no_color && !environment_forbids_color() && isatty(fd) == 1;
  return {.color = color, .width = terminal_width(fd)};
}

std::string OutputOptions::database_path() const {
  return database.empty() ? history::default_database_path() : database;
}

history::RunRecorder OutputOptions::recorder() const {
  if (no_history) return history::RunRecorder::none();
  history::RunRecorder::Options options;
  options.database_path = database_path();
  return history::RunRecorder(options);
}

}  // namespace weft::cli
