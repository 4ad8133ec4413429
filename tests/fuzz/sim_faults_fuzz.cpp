#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/collective/sim_faults.h"
#include "topology/error.h"

// Whatever the bytes, a faults file is read or refused, and what is read is within its fabric.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  static const auto fabric = weft::topology::parse_fabric(
      "rails: 2\nunits:\n  - {name: su1, nodes: \"n[1-4]\"}\n  - {name: su2, nodes: \"n[5-8]\"}\n", "fabric.yaml");
  try {
    const auto scenario = weft::probes::parse_sim_faults({reinterpret_cast<const char*>(data), size}, "fuzz", fabric);
    for (const auto& fault : scenario.faults) {
      if (fault.rail && (*fault.rail < 0 || *fault.rail > 1)) std::abort();
      if (!(fault.factor >= 0 && fault.factor <= 1)) std::abort();
    }
  } catch (const weft::InputError&) {
  }
  return 0;
}
