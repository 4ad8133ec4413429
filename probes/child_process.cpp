#include "probes/child_process.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "topology/error.h"

namespace weft::probes {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDestructorGrace{1000};
constexpr milliseconds kPollInterval{2};

/// Where the child reports that it could not become the program; the standard streams are below.
constexpr int kErrorFd = 3;

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};

[[noreturn]] void throw_cannot_start(const std::string& program, int error) {
  std::string next_step;
  if (error == ENOENT) next_step = "check the name, or put its folder into PATH";
  if (error == EACCES) next_step = "make the file executable (chmod +x)";
  if (error == ENOEXEC) next_step = "a script needs '#!' and its interpreter as the first line";
  throw RunError({.what = fmt::format("cannot start '{}': {}", program, std::strerror(error)),
                  .where = "this host",
                  .expected = "an executable program",
                  .next_step = next_step});
}

/// `fd` moved above the standard streams, which the child is about to overwrite (ours may be closed).
Fd above_standard_streams(Fd fd, const std::string& program) {
  if (fd.get() > kErrorFd) return fd;
  const int moved = fcntl(fd.get(), F_DUPFD_CLOEXEC, kErrorFd + 1);
  if (moved < 0) throw_cannot_start(program, errno);
  return Fd(moved);
}

Pipe make_pipe(const std::string& program) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_cannot_start(program, errno);
  Fd read(ends[0]);
  Fd write(ends[1]);
  return {above_standard_streams(std::move(read), program), above_standard_streams(std::move(write), program)};
}

void make_non_blocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/// The environment of the child: ours, with `added` in the place of what has the same name.
std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
  const auto same_name = [](std::string_view a, std::string_view b) {
    return a.substr(0, a.find('=')) == b.substr(0, b.find('='));
  };
  std::vector<std::string> merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const std::string& wanted : added)
      replaced = replaced || same_name(*entry, wanted);
    if (!replaced) merged.emplace_back(*entry);
  }
  merged.insert(merged.end(), added.begin(), added.end());
  return merged;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings)
    pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool is_executable_file(const std::string& path, int& error) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    error = errno;
    return false;
  }
  error = EACCES;
  return S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// Returns an empty string and sets `error` when there is no such program.
std::string locate(const std::string& name, int& error) {
  error = ENOENT;
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return is_executable_file(name, error) ? name : std::string();
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  int worst = ENOENT;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    std::string candidate = folder.empty() ? name : fmt::format("{}/{}", folder, name);
    if (is_executable_file(candidate, error)) return folder.empty() ? "./" + name : candidate;
    if (error == EACCES) worst = EACCES;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  error = worst;
  return {};
}

struct Launch {
  const char* program;
  char** argv;
  char** environment;
  int stdin_fd;
  int stdout_fd;
  int stderr_fd;
  int error_fd;
  pid_t parent;
};

/// Runs in the child between fork and exec, where other threads' locks may be held for ever: system calls only.
[[noreturn]] void become_program(const Launch& launch) {
  const auto fail = [&](int error) {
    [[maybe_unused]] const ssize_t written = write(kErrorFd, &error, sizeof error);
    _exit(127);
  };
  if (dup2(launch.error_fd, kErrorFd) < 0) _exit(127);
  fcntl(kErrorFd, F_SETFD, FD_CLOEXEC);
  if (setsid() < 0) fail(errno);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(errno);
  if (getppid() != launch.parent) _exit(127);  // the parent died before it could be watched
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (dup2(launch.stdin_fd, STDIN_FILENO) < 0 || dup2(launch.stdout_fd, STDOUT_FILENO) < 0 ||
      dup2(launch.stderr_fd, STDERR_FILENO) < 0) {
    fail(errno);
  }
  closefrom(kErrorFd + 1);
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal)
    sigaction(signal, &default_action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(launch.program, launch.argv, launch.environment);
  fail(errno);
  _exit(127);
}

/// Forks with every signal blocked, so that no handler of ours runs in the child. Returns -1 and sets errno on failure.
pid_t fork_quietly(const Launch& launch) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) become_program(launch);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

/// The error that kept the child from becoming the program; 0 when it did.
int read_start_error(int fd) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(fd, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof error) ? error : 0;
}

/// Whether the child has ended, without reaping it.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  int result = 0;
  do {
    result = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (result != 0 && errno == EINTR);
  return result != 0 || info.si_pid == pid;
}

struct ProcessEntry {
  pid_t pid = 0;
  char state = '?';
  pid_t group = 0;
  pid_t session = 0;
};

std::optional<ProcessEntry> read_process_entry(const char* pid_text) {
  std::array<char, 512> text{};
  const Fd file(open(fmt::format("/proc/{}/stat", pid_text).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || read(file.get(), text.data(), text.size() - 1) <= 0) return std::nullopt;
  // The command's name stands in brackets and may itself hold brackets and blanks.
  const char* after_name = std::strrchr(text.data(), ')');
  ProcessEntry entry;
  int parent = 0;
  if (after_name == nullptr ||
      std::sscanf(after_name + 1, " %c %d %d %d", &entry.state, &parent, &entry.group, &entry.session) != 4) {
    return std::nullopt;
  }
  entry.pid = static_cast<pid_t>(std::strtol(pid_text, nullptr, 10));
  return entry;
}

/// Living processes of the session that `leader` leads, itself left out. Those of mpirun's local ranks have groups of
/// their own.
std::vector<ProcessEntry> others_in_session(pid_t leader) {
  std::vector<ProcessEntry> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), &closedir);
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const auto process = read_process_entry(entry->d_name);
    if (process && process->session == leader && process->pid != leader && process->state != 'Z' &&
        process->state != 'X') {
      found.push_back(*process);
    }
  }
  return found;
}

void kill_session(pid_t leader) {
  kill(-leader, SIGKILL);
  for (const ProcessEntry& process : others_in_session(leader))
    kill(process.pid, SIGKILL);
}

}  // namespace

std::string ExitStatus::describe() const {
  if (exit_code) return fmt::format("exit code {}", *exit_code);
  if (signal == 0) return "could not be ended: stuck inside the kernel";
  const char* name = sigdescr_np(signal);
  return fmt::format("killed by signal {} ({})", signal, name != nullptr ? name : "unknown");
}

std::optional<std::string> find_program(const std::string& name) {
  int error = 0;
  std::string path = locate(name, error);
  if (path.empty()) return std::nullopt;
  return path;
}

ChildProcess::ChildProcess(const std::vector<std::string>& argv, const Options& options) {
  if (argv.empty()) throw_cannot_start("", ENOENT);
  int error = 0;
  const std::string program = locate(argv[0], error);
  if (program.empty()) throw_cannot_start(argv[0], error);

  std::vector<std::string> arguments = argv;
  std::vector<std::string> environment = merged_environment(options.environment);
  std::vector<char*> argument_pointers = pointers_to(arguments);
  std::vector<char*> environment_pointers = pointers_to(environment);

  Pipe in = make_pipe(argv[0]);
  Pipe out = make_pipe(argv[0]);
  Pipe err = options.merge_stderr ? Pipe{} : make_pipe(argv[0]);
  Pipe report = make_pipe(argv[0]);
  const pid_t pid = fork_quietly({.program = program.c_str(),
                                  .argv = argument_pointers.data(),
                                  .environment = environment_pointers.data(),
                                  .stdin_fd = in.read.get(),
                                  .stdout_fd = out.write.get(),
                                  .stderr_fd = options.merge_stderr ? out.write.get() : err.write.get(),
                                  .error_fd = report.write.get(),
                                  .parent = getpid()});
  if (pid < 0) throw_cannot_start(argv[0], errno);
  report.write.reset();
  if (const int start_error = read_start_error(report.read.get()); start_error != 0) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    throw_cannot_start(argv[0], start_error);
  }
  pid_ = pid;
  stdin_fd_ = in.write.release();
  stdout_fd_ = out.read.release();
  stderr_fd_ = err.read.release();
  for (const int fd : {stdin_fd_, stdout_fd_, stderr_fd_}) {
    if (fd >= 0) make_non_blocking(fd);
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      stdin_fd_(std::exchange(other.stdin_fd_, -1)),
      stdout_fd_(std::exchange(other.stdout_fd_, -1)),
      stderr_fd_(std::exchange(other.stderr_fd_, -1)),
      status_(std::exchange(other.status_, std::nullopt)),
      kill_at_(std::exchange(other.kill_at_, std::nullopt)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  ChildProcess taken(std::move(other));
  std::swap(pid_, taken.pid_);
  std::swap(stdin_fd_, taken.stdin_fd_);
  std::swap(stdout_fd_, taken.stdout_fd_);
  std::swap(stderr_fd_, taken.stderr_fd_);
  std::swap(status_, taken.status_);
  std::swap(kill_at_, taken.kill_at_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ > 1) end(kDestructorGrace);
  for (const int fd : {stdin_fd_, stdout_fd_, stderr_fd_}) {
    if (fd >= 0) close(fd);
  }
}

void ChildProcess::close_stdin() {
  if (stdin_fd_ >= 0) close(std::exchange(stdin_fd_, -1));
}

std::optional<std::size_t> ChildProcess::write_stdin(std::string_view bytes) {
  if (stdin_fd_ < 0) return std::nullopt;
  sigset_t pipe_signal;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  ssize_t written = 0;
  do {
    written = write(stdin_fd_, bytes.data(), bytes.size());
  } while (written < 0 && errno == EINTR);
  const int error = written < 0 ? errno : 0;
  if (error == EPIPE && !was_pending) {
    const timespec at_once{};
    while (sigtimedwait(&pipe_signal, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (written >= 0) return static_cast<std::size_t>(written);
  if (error == EAGAIN) return 0;
  return std::nullopt;
}

ExitStatus ChildProcess::reap() {
  // Before the reaping: as long as the leader is a zombie its number, and with it the group's, belongs to nobody else.
  kill(-pid_, SIGKILL);
  int raw = 0;
  pid_t result = 0;
  do {
    result = waitpid(pid_, &raw, 0);
  } while (result < 0 && errno == EINTR);
  ExitStatus status;
  if (result == pid_ && WIFEXITED(raw)) status.exit_code = WEXITSTATUS(raw);
  if (result == pid_ && WIFSIGNALED(raw)) status.signal = WTERMSIG(raw);
  status_ = status;
  return status;
}

std::optional<ExitStatus> ChildProcess::poll() {
  if (status_ || pid_ <= 1) return status_;
  const bool grace_is_over = kill_at_ && Clock::now() >= *kill_at_;
  if (grace_is_over) kill_session(pid_);
  if (!has_ended(pid_)) return std::nullopt;
  if (kill_at_ && !grace_is_over && !others_in_session(pid_).empty()) return std::nullopt;
  return reap();
}

void ChildProcess::signal_group(int signal) const {
  if (pid_ > 1 && !status_) kill(-pid_, signal);
}

void ChildProcess::request_end(milliseconds grace) {
  if (pid_ <= 1 || status_) return;
  const Clock::time_point kill_at = Clock::now() + grace;
  if (kill_at_ && *kill_at_ <= kill_at) return;
  if (!kill_at_) {
    signal_group(SIGTERM);
    signal_group(SIGCONT);  // a stopped process would not see SIGTERM
  }
  kill_at_ = kill_at;
}

ExitStatus ChildProcess::end(milliseconds grace) {
  request_end(grace);
  if (pid_ <= 1) return status_.value_or(ExitStatus{});
  while (true) {
    if (const auto status = poll()) return *status;
    if (Clock::now() >= *kill_at_ + kStuckLimit) {
      status_ = ExitStatus{};
      return *status_;
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace weft::probes
