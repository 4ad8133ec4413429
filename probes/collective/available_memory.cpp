#include "probes/collective/available_memory.h"

#include <fstream>
#include <string>

namespace weft::probes {

std::optional<std::uint64_t> available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string rest;
  while (file >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(file, rest);
  }
  return std::nullopt;
}

}  // namespace weft::probes
