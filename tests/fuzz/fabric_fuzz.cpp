// What a fabric file promises for every input: it is refused with the file's name and nothing but InputError, or what
// it declares is consistent.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "topology/error.h"
#include "topology/fabric.h"
#include "topology/hostlist.h"

namespace {

using weft::topology::Fabric;

void require(bool holds) {
  if (!holds) std::abort();
}

bool in_range(int count) {
  return count >= 1 && count <= 1024;
}

void check_units(const Fabric& fabric) {
  std::set<std::string> names;
  std::set<std::string> leaves;
  std::size_t nodes = 0;
  require(!fabric.units.empty());
  for (std::size_t i = 0; i < fabric.units.size(); ++i) {
    const weft::topology::Unit& unit = fabric.units[i];
    require(names.insert(unit.name).second && !unit.nodes.empty());
    for (const std::string& node : unit.nodes)
      require(fabric.unit_of(node) == i);
    for (const std::string& leaf : unit.leaves)
      require(leaves.insert(leaf).second && !fabric.unit_of(leaf));
    const std::size_t count = unit.leaves.size();
    require(count <= 1 || count == static_cast<std::size_t>(fabric.rails));
    nodes += unit.nodes.size();
  }
  require(nodes == fabric.node_count() && nodes <= weft::topology::kMaxHosts);
}

void check_figures(const Fabric& fabric) {
  require(fabric.declared() && in_range(fabric.rails) && in_range(fabric.gpus_per_node));
  require(std::isfinite(fabric.link.speed_gbit) && fabric.link.speed_gbit >= 0);
  require(fabric.nics.empty() || fabric.nics.size() == static_cast<std::size_t>(fabric.rails));
  for (const auto& [op, expectation] : fabric.expect) {
    require(std::isfinite(expectation.busbw_gbps) && expectation.busbw_gbps > 0);
    require(expectation.tolerance_percent > 0 && expectation.tolerance_percent < 100);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Fabric fabric = weft::topology::parse_fabric(std::string(data, data + size), "f.yaml");
    check_units(fabric);
    check_figures(fabric);
  } catch (const weft::InputError& error) {
    require(error.detail().where.starts_with("f.yaml") && !error.detail().what.empty());
  }
  return 0;
}
