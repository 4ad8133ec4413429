#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/collective/measurement_table.h"
#include "topology/error.h"

// Whatever the bytes, a table is read or refused, and what is read can be compared: finite, with distinct nodes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  try {
    const auto table = weft::probes::parse_measurement_table({reinterpret_cast<const char*>(data), size}, "fuzz");
    for (const auto& measurement : table.measurements) {
      if (measurement.group.nodes.empty() || !std::isfinite(measurement.busbw_gbps)) std::abort();
    }
  } catch (const weft::InputError&) {
  }
  return 0;
}
