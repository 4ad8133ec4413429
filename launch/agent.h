#pragma once

#include <chrono>
#include <string>

#include <unistd.h>

namespace weft::launch {

struct AgentOptions {
  int in_fd = STDIN_FILENO;
  int out_fd = STDOUT_FILENO;
  /// Where the rank programs are; when empty, beside the program that runs.
  std::string rank_program_folder;
  /// Ranks are ended when the controller has said nothing for this long: it pings every few seconds.
  std::chrono::milliseconds silence_limit{30'000};
};

/// Serves one controller on a node: starts ranks, passes messages on, reports how ranks end (docs/agent-protocol.md).
/// Returns once the input has ended, or the controller said so or was refused, with every rank ended: within 2 s. One
/// thread, one poll loop. Returns the process's exit status: 0, or 1 when the controller was refused or broke the
/// protocol beyond repair.
///
/// When the agent itself is killed the kernel ends its ranks (PR_SET_PDEATHSIG), so no signal is handled here.
int run_agent(const AgentOptions& options);

}  // namespace weft::launch
