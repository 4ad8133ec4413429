#include "tests/launch/marked_processes.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "launch/host_facts.h"

namespace weft::launch {
namespace {

constexpr const char* kName = "WEFT_TEST_MARK";

std::string contents(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

bool is_alive(pid_t pid) {
  const char state = read_process_state(pid);
  return state != 'Z' && state != 'X' && state != '?';
}

}  // namespace

MarkedProcesses::MarkedProcesses() {
  static std::atomic<int> count{0};
  mark_ = fmt::format("{}-{}", getpid(), ++count);
  setenv(kName, mark_.c_str(), 1);
}

MarkedProcesses::~MarkedProcesses() {
  unsetenv(kName);
}

std::vector<pid_t> MarkedProcesses::find(const std::string& program) const {
  const std::string entry = fmt::format("{}={}", kName, mark_) + '\0';
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& folder : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = folder.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    if (pid == getpid() || contents(folder.path() / "environ").find(entry) == std::string::npos || !is_alive(pid))
      continue;
    if (contents(folder.path() / "cmdline").find(program) != std::string::npos) found.push_back(pid);
  }
  return found;
}

bool MarkedProcesses::all_gone_within(std::chrono::milliseconds limit) const {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!find().empty()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace weft::launch
