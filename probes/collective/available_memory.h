#pragma once

#include <cstdint>
#include <optional>

namespace weft::probes {

/// MemAvailable of /proc/meminfo in bytes: what programs can allocate without swapping. Nothing where the kernel does
/// not say (before Linux 3.14).
std::optional<std::uint64_t> available_memory_bytes();

}  // namespace weft::probes
