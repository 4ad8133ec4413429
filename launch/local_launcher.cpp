#include "launch/local_launcher.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "topology/error.h"

namespace weft::launch {
namespace {

constexpr int kMostLocalNodes = 1024;

/// By its name where that still is the program that runs, so that a list of processes shows what they are.
std::string own_program() {
  const std::string self = "/proc/self/exe";
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink(self, error);
  return !error && std::filesystem::equivalent(program, self, error) ? program.string() : self;
}

}  // namespace

LocalLauncher::LocalLauncher(std::string program) : program_(program.empty() ? own_program() : std::move(program)) {}

probes::ChildProcess LocalLauncher::start(const std::string&) {
  return probes::ChildProcess({program_, "agent"});
}

std::string LocalLauncher::address_of(const std::string&) const {
  return "127.0.0.1";
}

std::vector<std::string> local_node_names(int count) {
  if (count < 1 || count > kMostLocalNodes) {
    throw InputError({.what = fmt::format("{} local nodes", count),
                      .where = "--nodes",
                      .expected = fmt::format("a number from 1 to {}", kMostLocalNodes),
                      .next_step = ""});
  }
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i)
    names.push_back(fmt::format("node{}", i));
  return names;
}

}  // namespace weft::launch
