#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace weft::probes {

/// How a child ended: by exit code, or by signal (then `exit_code` is empty). Neither: it could not be ended even with
/// SIGKILL, because it is stuck inside the kernel (a hung driver or file system).
struct ExitStatus {
  std::optional<int> exit_code;
  int signal = 0;
  bool success() const { return exit_code == 0; }
  std::string describe() const;  ///< "exit code 3", "killed by signal 11 (Segmentation fault)"
};

/// A program started without a shell, in its own session, with the three standard streams piped. Whoever owns this
/// object owns every process of that session's group: the destructor ends them (SIGTERM, then SIGKILL) and reaps the
/// child. Core dumps are off in the child, and it is killed if the thread that started it dies (PR_SET_PDEATHSIG). It
/// inherits our environment, and no descriptor, signal mask or signal disposition of ours.
///
/// When the child ends by itself, whatever it left running in its group is killed before the child is reaped: until
/// then its number cannot be given to anyone else. Not thread safe.
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
  int stdin_fd() const { return stdin_fd_; }  ///< -1 once closed; all three are non-blocking and close-on-exec
  int stdout_fd() const { return stdout_fd_; }
  int stderr_fd() const { return stderr_fd_; }  ///< -1 when merged
  void close_stdin();
  /// Writes as much of `bytes` as fits now and says how much that was (0 when the pipe is full); none when nobody reads
  /// the child's standard input any more. Never raises SIGPIPE, which a plain write to stdin_fd() would.
  std::optional<std::size_t> write_stdin(std::string_view bytes);

  /// Reaps without waiting. Once ended the answer stays the same.
  std::optional<ExitStatus> poll();
  /// Sends `signal` to the whole process group; nothing once the child is reaped.
  void signal_group(int signal) const;
  /// Begins to end the group without waiting: SIGTERM now; poll() sends SIGKILL once `grace` is over. Until then poll()
  /// gives processes that the child started the time to clean up, even if the child itself is gone (srun under a
  /// wrapper script).
  void request_end(std::chrono::milliseconds grace);
  /// SIGTERM to the group, SIGKILL after `grace`; returns when the child is reaped, or kStuckLimit after SIGKILL.
  ExitStatus end(std::chrono::milliseconds grace);

  static constexpr std::chrono::milliseconds kStuckLimit{5000};

 private:
  using Clock = std::chrono::steady_clock;

  ExitStatus reap();

  pid_t pid_ = -1;
  int stdin_fd_ = -1;
  int stdout_fd_ = -1;
  int stderr_fd_ = -1;
  std::optional<ExitStatus> status_;
  std::optional<Clock::time_point> kill_at_;  ///< set by request_end
};

/// The file that a program name stands for: the name itself when it has a slash, else the first executable of that
/// name in our PATH. None when there is none or it may not be executed.
std::optional<std::string> find_program(const std::string& name);

}  // namespace weft::probes
