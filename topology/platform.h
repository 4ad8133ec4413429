#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace weft::topology {

/// What the makers of a GPU say of its NVLink, and what one node of eight was seen to reach. Starting points for who
/// has not measured yet, never a limit: docs/expect.md has the sources, and measurements of one's own come first.
struct Platform {
  std::string_view name;
  double nvlink_gbps = 0;                 ///< of one GPU in one direction, GB/s
  std::optional<double> node_busbw_gbps;  ///< all-reduce of one node at large sizes, bus bandwidth, GB/s
  /// The most that an all-reduce over several nodes can reach for its part inside the nodes.
  double inside_node_gbps() const { return node_busbw_gbps.value_or(nvlink_gbps); }
};

std::span<const Platform> platforms();
/// Throws InputError with `flag`, the known names and the nearest of them.
const Platform& platform_named(std::string_view name, std::string_view flag);

}  // namespace weft::topology
