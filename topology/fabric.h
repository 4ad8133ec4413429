#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::topology {

/// A fabric file that goes on for longer is not one: a hundred thousand nodes, each written out, take a quarter.
inline constexpr std::size_t kMaxFabricBytes = std::size_t{4} << 20;

enum class LinkType { infiniband, roce };

/// Nodes that share one set of leaves (a scalable unit, a pod, a rack).
struct Unit {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> leaves;  ///< leaf of rail 0, 1, …; a single one is a top-of-rack switch for every rail
};

struct Link {
  LinkType type = LinkType::infiniband;
  double speed_gbit = 0;  ///< of one rail, Gbit/s; 0 when not declared
};

struct Spines {
  std::vector<std::string> nodes;
  int links_per_leaf = 0;  ///< links from each leaf to each spine; 0 when not declared
};

/// A figure that the owner of the cluster expects from a collective over these nodes.
struct Expectation {
  double busbw_gbps = 0;  ///< nccl-tests' bus bandwidth, GB/s (10^9 bytes)
  double tolerance_percent = 10;
};

/// The declared fabric: `fabric.yaml`. Without a file, `undeclared_fabric` puts every node in unit `all` with one rail.
struct Fabric {
  std::string name;
  std::string file;  ///< where it was read from; empty when undeclared
  int rails = 1;
  int gpus_per_node = 1;
  Link link;
  std::vector<Unit> units;
  Spines spines;
  std::vector<std::string> nics;              ///< NIC of rail 0, 1, …; empty when not declared
  std::map<std::string, Expectation> expect;  ///< by collective, such as `all_reduce`

  bool declared() const { return !file.empty(); }
  /// Index into `units`, or nothing for a node that is in no unit.
  std::optional<std::size_t> unit_of(const std::string& node) const;
  std::size_t node_count() const { return unit_by_node.size(); }

  std::unordered_map<std::string, std::size_t> unit_by_node;  ///< kept in step with `units` by the parser
};

/// Parses `fabric.yaml` (docs/fabric.md). Throws InputError with `file:line:column`, the key, what was expected and,
/// for an unknown key, the nearest known one. Checks that a key is written once, that a node is in one unit only, that
/// leaves and NICs match rails, that no leaf serves two units, that names and counts are in range, and that there are
/// no more than kMaxHosts nodes. Only `units` is required; `file` must not be empty.
Fabric parse_fabric(std::string_view yaml, const std::string& file);
/// Reads and parses the file, which may have kMaxFabricBytes.
Fabric load_fabric(const std::string& path);

/// The fabric of hosts about which nothing is declared: one unit `all`, one rail.
Fabric undeclared_fabric(const std::vector<std::string>& hosts, int gpus_per_node = 1);

/// Throws InputError naming every host (up to ten) that the declared fabric does not contain, each with the nearest
/// name that it does. A fabric that was not declared contains every host.
void require_hosts_in_fabric(const Fabric& fabric, const std::vector<std::string>& hosts);

}  // namespace weft::topology
