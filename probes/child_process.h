#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace weft::probes {

/// How a child ended: by exit code, or by signal (then `exit_code` is empty).
struct ExitStatus {
  std::optional<int> exit_code;
  int signal = 0;
  bool success() const { return exit_code == 0; }
  std::string describe() const;  ///< "exit code 3", "killed by signal 11 (Segmentation fault)"
};

/// A program started without a shell, in its own session, with the three standard streams piped. Whoever owns this object owns every
/// process of that session's group: the destructor ends them (SIGTERM, then SIGKILL) and reaps the child.
/// Core dumps are off in the child, and it is killed if the thread that started it dies (PR_SET_PDEATHSIG). Not thread safe.
class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> environment;  ///< `NAME=value`, added to ours
    bool merge_stderr = false;             ///< stderr into stdout's pipe
  };

  /// argv[0] is looked up in PATH. Throws RunError when it cannot be started (not found, not executable).
  explicit ChildProcess(const std::vector<std::string>& argv) : ChildProcess(argv, Options{}) {}
  ChildProcess(const std::vector<std::string>& argv, const Options& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  int stdin_fd() const { return stdin_fd_; }    ///< -1 once closed; all three are non-blocking and close-on-exec
  int stdout_fd() const { return stdout_fd_; }
  int stderr_fd() const { return stderr_fd_; }  ///< -1 when merged
  void close_stdin();

  /// Reaps without waiting. Once ended the answer stays the same.
  std::optional<ExitStatus> poll();
  /// Sends `signal` to the whole process group.
  void signal_group(int signal) const;
  /// SIGTERM to the group, SIGKILL after `grace`; returns when the child is reaped.
  ExitStatus end(std::chrono::milliseconds grace);

 private:
  pid_t pid_ = -1;
  int stdin_fd_ = -1;
  int stdout_fd_ = -1;
  int stderr_fd_ = -1;
  std::optional<ExitStatus> status_;
};

}  // namespace weft::probes
