#include "launch/host_facts.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "probes/collective/available_memory.h"

namespace weft::launch {

HostFacts read_host_facts() {
  HostFacts facts;
  utsname names{};
  if (uname(&names) == 0) {
    facts.host_name = names.nodename;
    facts.architecture = names.machine;
  }
  std::ifstream("/proc/sys/kernel/random/boot_id") >> facts.boot_id;
  facts.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  facts.available_memory_bytes = probes::available_memory_bytes().value_or(0);
  return facts;
}

char read_process_state(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  // The program's name stands in brackets and may itself hold brackets and blanks.
  const std::size_t after_name = text.rfind(") ");
  return after_name == std::string::npos || after_name + 2 >= text.size() ? '?' : text[after_name + 2];
}

std::string own_program_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : program.parent_path().string();
}

}  // namespace weft::launch
