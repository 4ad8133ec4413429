#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace weft::cli {

struct Outcome {
  int status = -1;  ///< exit status; 128 + signal when it was killed by one
  std::string out;
  std::string err;
};

/// What a run needs beyond its arguments.
struct Circumstances {
  std::vector<std::string> environment = {};  ///< `NAME=value`, before the test's own
  int signal = 0;                             ///< sent to the process group, as a terminal does on Ctrl-C…
  std::string once_stderr_shows = "";         ///< …as soon as this is on standard error
};

/// Runs the built `weft` as a user would, with a home and a history of its own that are gone afterwards, with
/// whatever a run left behind.
class WeftProcess {
 public:
  WeftProcess();
  ~WeftProcess();
  WeftProcess(const WeftProcess&) = delete;
  WeftProcess& operator=(const WeftProcess&) = delete;

  /// With `signal`, sends it after `signal_after`. Ends, and fails, after a minute.
  Outcome run(const std::vector<std::string>& arguments, int signal = 0,
              std::chrono::milliseconds signal_after = std::chrono::milliseconds(0)) const;

  Outcome run(const std::vector<std::string>& arguments, const Circumstances& circumstances) const;
  /// Any program, in the same surroundings.
  Outcome run_program(const std::vector<std::string>& command, const Circumstances& circumstances = {}) const;
  static std::string program();  ///< path of the built `weft`

  /// Processes on this machine that a run of this object started and that still live.
  std::vector<int> survivors() const;
  /// The same, once there are none or 2 s have passed: as long as the end of a run may take.
  std::vector<int> survivors_after_two_seconds() const;

  std::filesystem::path path(const std::string& name) const { return directory_ / name; }
  /// Writes a file, executable when it starts with "#!", and gives its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  /// Runs until both outputs are closed and the program has ended; `look` sees what it has written, 50 times a second.
  Outcome watch(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                const std::function<void(pid_t, const Outcome&)>& look) const;

  std::filesystem::path directory_;
};

}  // namespace weft::cli
