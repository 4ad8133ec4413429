#include "tests/cli/weft_process.h"

#include <array>
#include <fstream>
#include <iterator>
#include <optional>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "probes/child_process.h"

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr std::chrono::seconds kLongest{60};

/// Reads what there is; false at the end.
bool drain(int fd, std::string& text) {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
      continue;
    }
    return got < 0 && errno == EAGAIN;
  }
}

std::vector<std::string> with_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {WeftProcess::program()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

WeftProcess::WeftProcess() {
  std::string pattern = (fs::temp_directory_path() / "weft-cli-XXXXXX").string();
  directory_ = mkdtemp(pattern.data());
}

WeftProcess::~WeftProcess() {
  for (const int pid : survivors())
    kill(pid, SIGKILL);
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

std::string WeftProcess::write(const std::string& name, const std::string& text) const {
  const fs::path file = path(name);
  std::ofstream(file) << text;
  if (text.starts_with("#!")) fs::permissions(file, fs::perms::owner_all);
  return file.string();
}

Outcome WeftProcess::run(const std::vector<std::string>& arguments, int signal,
                         std::chrono::milliseconds signal_after) const {
  const Clock::time_point begin = Clock::now();
  return watch(with_program(arguments), {}, [&, sent = signal == 0](const pid_t pid, const Outcome&) mutable {
    if (sent || Clock::now() - begin < signal_after) return;
    kill(pid, signal);
    sent = true;
  });
}

Outcome WeftProcess::run(const std::vector<std::string>& arguments, const Circumstances& circumstances) const {
  return run_program(with_program(arguments), circumstances);
}

Outcome WeftProcess::run_program(const std::vector<std::string>& command, const Circumstances& circumstances) const {
  bool sent = circumstances.signal == 0;
  const Outcome outcome = watch(command, circumstances.environment, [&](const pid_t pid, const Outcome& so_far) {
    if (sent || so_far.err.find(circumstances.once_stderr_shows) == std::string::npos) return;
    kill(-pid, circumstances.signal);
    sent = true;
  });
  EXPECT_TRUE(sent) << "never seen on standard error: " << circumstances.once_stderr_shows << '\n' << outcome.err;
  return outcome;
}

std::string WeftProcess::program() {
  return WEFT_BINARY_DIR "/weft";
}

Outcome WeftProcess::watch(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                           const std::function<void(pid_t, const Outcome&)>& look) const {
  probes::ChildProcess::Options options;
  options.environment = {"HOME=" + directory_.string(), "XDG_STATE_HOME=" + path("state").string(),
                         "WEFT_DB=" + path("weft.db").string(), "WEFT_TEST=" + directory_.string()};
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(options.environment, [&](const std::string& earlier) { return earlier.starts_with(name); });
    options.environment.push_back(variable);
  }
  probes::ChildProcess child(command, options);
  child.close_stdin();
  Outcome outcome;
  const Clock::time_point begin = Clock::now();
  bool open_out = true;
  bool open_err = true;
  while (open_out || open_err) {
    if (Clock::now() - begin > kLongest) {
      ADD_FAILURE() << "weft did not end\n" << outcome.err;
      break;
    }
    look(child.pid(), outcome);
    std::array<pollfd, 2> fds = {
        {{open_out ? child.stdout_fd() : -1, POLLIN, 0}, {open_err ? child.stderr_fd() : -1, POLLIN, 0}}};
    poll(fds.data(), fds.size(), 20);
    if (open_out) open_out = drain(child.stdout_fd(), outcome.out);
    if (open_err) open_err = drain(child.stderr_fd(), outcome.err);
  }
  std::optional<probes::ExitStatus> status;
  while (!(status = child.poll()) && Clock::now() - begin < kLongest)
    usleep(2000);
  if (status) outcome.status = status->exit_code.value_or(128 + status->signal);
  return outcome;
}

std::vector<int> WeftProcess::survivors() const {
  std::vector<int> pids;
  const std::string mark = "WEFT_TEST=" + directory_.string();
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream environment(entry.path() / "environ", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(environment), std::istreambuf_iterator<char>()};
    if (text.find(mark) != std::string::npos) pids.push_back(std::stoi(name));
  }
  return pids;
}

std::vector<int> WeftProcess::survivors_after_two_seconds() const {
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(2);
  std::vector<int> left = survivors();
  while (!left.empty() && Clock::now() < limit) {
    usleep(20'000);
    left = survivors();
  }
  return left;
}

}  // namespace weft::cli
