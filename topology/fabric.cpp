#include "topology/fabric.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "topology/error.h"
#include "topology/host_pattern.h"
#include "topology/hostlist.h"
#include "topology/strict_yaml.h"
#include "topology/text_file.h"

namespace weft::topology {
namespace {

constexpr auto kFabricKeys =
    std::to_array<std::string_view>({"fabric", "rails", "gpus_per_node", "link", "units", "spines", "nics", "expect"});
constexpr auto kLinkKeys = std::to_array<std::string_view>({"type", "speed"});
constexpr auto kUnitKeys = std::to_array<std::string_view>({"name", "nodes", "leaves"});
constexpr auto kSpineKeys = std::to_array<std::string_view>({"nodes", "links_per_leaf"});
constexpr auto kNicKeys = std::to_array<std::string_view>({"names"});
constexpr auto kExpectationKeys = std::to_array<std::string_view>({"busbw_gbps", "tolerance_percent"});
/// The collectives by the names that NCCL and nccl-tests give them.
constexpr auto kOps = std::to_array<std::string_view>(
    {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "sendrecv", "alltoall"});

constexpr StrictYaml::Format kFormat{"a fabric as in docs/fabric.md",
                                     "a fabric with at least the key units (docs/fabric.md)"};

constexpr int kMostPerNode = 1024;            // rails, GPUs, links of a leaf to a spine
constexpr double kFastestLinkGbit = 100'000;  // catches a speed written in Mbit/s or bit/s
constexpr double kHighestBusbwGbps = 1'000'000;
constexpr std::size_t kLongestName = 255;

/// Reads one file into one Fabric. Every function either returns what the file says or throws InputError.
class Reader {
 public:
  Reader(std::string_view yaml, const std::string& file) : yaml_(yaml, file, kFormat) { fabric_.file = file; }

  Fabric read() {
    const YamlMap map = yaml_.document(kFabricKeys);
    if (const auto field = map.find("fabric")) fabric_.name = read_title(*field);
    if (const auto field = map.find("rails")) fabric_.rails = read_count(*field);
    if (const auto field = map.find("gpus_per_node")) fabric_.gpus_per_node = read_count(*field);
    if (const auto field = map.find("link")) read_link(*field);
    read_units(yaml_.require(map, "units"));
    if (const auto field = map.find("spines")) read_spines(*field);
    if (const auto field = map.find("nics")) read_nics(*field);
    if (const auto field = map.find("expect")) read_expectations(*field);
    return std::move(fabric_);
  }

 private:
  void read_link(const YamlField& field) {
    const YamlMap map = yaml_.map(field, kLinkKeys);
    const YamlField type = yaml_.require(map, "type");
    const std::string name = StrictYaml::text(type);
    if (name != "infiniband" && name != "roce") yaml_.fail_value(type, "infiniband or roce");
    fabric_.link.type = name == "roce" ? LinkType::roce : LinkType::infiniband;
    fabric_.link.speed_gbit = read_number(yaml_.require(map, "speed"), kFastestLinkGbit, "the Gbit/s of one rail");
  }

  void read_units(const YamlField& field) {
    constexpr std::string_view kExpected =
        R"(a list of units, each such as {name: su1, nodes: "gpu[001-032]", leaves: "leaf[0-7]"})";
    const std::vector<YamlField> units = yaml_.items(field, kExpected);
    if (units.empty()) yaml_.fail_value(field, std::string(kExpected));
    for (const YamlField& unit : units)
      read_unit(unit);
  }

  void read_unit(const YamlField& field) {
    const YamlMap map = yaml_.map(field, kUnitKeys);
    const YamlField name = yaml_.require(map, "name");
    const Unit unit{read_name(name), {}, {}};
    if (!unit_names_.insert(unit.name).second) {
      yaml_.fail(name, fmt::format("there are two units {}", unit.name), "a name of its own for each unit");
    }
    fabric_.units.push_back(unit);
    read_nodes(yaml_.require(map, "nodes"));
    if (const auto leaves = map.find("leaves")) read_leaves(*leaves);
  }

  /// Into the unit read last, like read_leaves.
  void read_nodes(const YamlField& field) {
    Unit& unit = fabric_.units.back();
    unit.nodes = without_repeats(yaml_.hostlist(field));
    if (fabric_.node_count() + unit.nodes.size() > kMaxHosts) {
      yaml_.fail(field, fmt::format("the fabric reaches more than {} nodes here", kMaxHosts), "fewer");
    }
    for (const std::string& node : unit.nodes) {
      if (unit_by_leaf_.contains(node)) fail_two_roles(field, node, "a leaf and a node");
      const auto [owner, is_new] = fabric_.unit_by_node.emplace(node, fabric_.units.size() - 1);
      if (is_new) continue;
      yaml_.fail(
          field,
          fmt::format("node {} is in unit {} and in unit {}", node, fabric_.units[owner->second].name, unit.name),
          "each node in one unit");
    }
  }

  void read_leaves(const YamlField& field) {
    Unit& unit = fabric_.units.back();
    unit.leaves = yaml_.hostlist(field);
    const auto rails = static_cast<std::size_t>(fabric_.rails);
    if (unit.leaves.size() != 1 && unit.leaves.size() != rails) {
      yaml_.fail(field, fmt::format("{} names {} leaves for rails: {}", field.path, unit.leaves.size(), rails),
                 "a leaf for each rail, in the order of the rails, or a single leaf for all of them");
    }
    for (const std::string& leaf : unit.leaves) {
      if (fabric_.unit_of(leaf)) fail_two_roles(field, leaf, "a node and a leaf");
      const auto [owner, is_new] = unit_by_leaf_.emplace(leaf, fabric_.units.size() - 1);
      if (is_new) continue;
      const std::string& other = fabric_.units[owner->second].name;
      yaml_.fail(field,
                 other == unit.name ? fmt::format("leaf {} is listed twice", leaf)
                                    : fmt::format("leaf {} serves unit {} and unit {}", leaf, other, unit.name),
                 "each leaf once, in one unit");
    }
  }

  void read_spines(const YamlField& field) {
    const YamlMap map = yaml_.map(field, kSpineKeys);
    const YamlField nodes = yaml_.require(map, "nodes");
    fabric_.spines.nodes = without_repeats(yaml_.hostlist(nodes));
    for (const std::string& spine : fabric_.spines.nodes) {
      if (fabric_.unit_of(spine)) fail_two_roles(nodes, spine, "a node and a spine");
      if (unit_by_leaf_.contains(spine)) fail_two_roles(nodes, spine, "a leaf and a spine");
    }
    if (const auto links = map.find("links_per_leaf")) fabric_.spines.links_per_leaf = read_count(*links);
  }

  void read_nics(const YamlField& field) {
    const YamlField names = yaml_.require(yaml_.map(field, kNicKeys), "names");
    fabric_.nics = yaml_.hostlist(names);
    const std::vector<std::string> distinct = without_repeats(fabric_.nics);
    if (distinct.size() != fabric_.nics.size())
      yaml_.fail(names, "a NIC is listed twice", "a NIC of its own for each rail");
    if (fabric_.nics.size() != static_cast<std::size_t>(fabric_.rails)) {
      yaml_.fail(names, fmt::format("{} names {} NICs for rails: {}", names.path, fabric_.nics.size(), fabric_.rails),
                 "a NIC for each rail, in the order of the rails");
    }
  }

  void read_expectations(const YamlField& field) {
    const YamlMap by_op = yaml_.map(field, kOps);
    for (const auto& [op, figures] : by_op.fields) {
      const YamlMap map = yaml_.map(figures, kExpectationKeys);
      Expectation expectation;
      expectation.busbw_gbps =
          read_number(yaml_.require(map, "busbw_gbps"), kHighestBusbwGbps, "the bus bandwidth in GB/s (10^9 bytes)");
      if (const auto tolerance = map.find("tolerance_percent")) {
        expectation.tolerance_percent = read_number(*tolerance, 100, "percent");
      }
      fabric_.expect.emplace(op, expectation);
    }
  }

  int read_count(const YamlField& field) const { return yaml_.whole_number(field, 1, kMostPerNode); }

  /// Above 0 and, where `limit` is 100 percent or another bound, below it.
  double read_number(const YamlField& field, double limit, std::string_view meaning) const {
    const std::optional<double> number = StrictYaml::number(field);
    if (!number || *number <= 0 || *number >= limit) {
      yaml_.fail_value(field, fmt::format("{}, a number above 0 and below {:.0f}", meaning, limit));
    }
    return *number;
  }

  std::string read_name(const YamlField& field) const {
    std::string name = StrictYaml::text(field);
    if (name.empty() || name.size() > kLongestName || !std::ranges::all_of(name, is_host_name_character)) {
      yaml_.fail_value(field, "a name of letters, digits, `.`, `_` and `-`");
    }
    return name;
  }

  std::string read_title(const YamlField& field) const {
    std::string title = StrictYaml::text(field);
    const auto is_printable = [](char character) { return character >= ' ' && character <= '~'; };
    if (title.empty() || title.size() > kLongestName || !std::ranges::all_of(title, is_printable)) {
      yaml_.fail_value(field, "a name of printable ASCII characters");
    }
    return title;
  }

  [[noreturn]] void fail_two_roles(const YamlField& field, const std::string& name, std::string_view roles) const {
    yaml_.fail(field, fmt::format("{} is {}", name, roles), "a name of its own for each node and each switch");
  }

  StrictYaml yaml_;
  Fabric fabric_;
  std::set<std::string> unit_names_;
  std::map<std::string, std::size_t> unit_by_leaf_;
};

std::vector<std::string> all_nodes(const Fabric& fabric) {
  std::vector<std::string> nodes;
  nodes.reserve(fabric.node_count());
  for (const Unit& unit : fabric.units)
    nodes.insert(nodes.end(), unit.nodes.begin(), unit.nodes.end());
  return nodes;
}

}  // namespace

std::optional<std::size_t> Fabric::unit_of(const std::string& node) const {
  const auto found = unit_by_node.find(node);
  return found == unit_by_node.end() ? std::nullopt : std::optional(found->second);
}

Fabric parse_fabric(std::string_view yaml, const std::string& file) {
  return Reader(yaml, file).read();
}

Fabric load_fabric(const std::string& path) {
  return parse_fabric(read_text_file(path, kMaxFabricBytes), path);
}

Fabric undeclared_fabric(const std::vector<std::string>& hosts, int gpus_per_node) {
  Fabric fabric;
  fabric.gpus_per_node = gpus_per_node;
  fabric.units.push_back({"all", without_repeats(hosts), {}});
  for (const std::string& host : fabric.units.front().nodes)
    fabric.unit_by_node.emplace(host, 0);
  return fabric;
}

void require_hosts_in_fabric(const Fabric& fabric, const std::vector<std::string>& hosts) {
  if (!fabric.declared()) return;
  constexpr std::size_t kMostNamed = 10;
  std::vector<std::string> strangers;
  for (const std::string& host : without_repeats(hosts)) {
    if (!fabric.unit_of(host)) strangers.push_back(host);
  }
  if (strangers.empty()) return;
  const std::vector<std::string> known = all_nodes(fabric);
  std::string named;
  for (const std::string& host : std::span(strangers).first(std::min(strangers.size(), kMostNamed))) {
    const std::string nearest = nearest_name(host, known);
    named += (named.empty() ? "" : ", ") + host;
    if (!nearest.empty()) named += fmt::format(" (nearest: {})", nearest);
  }
  if (strangers.size() > kMostNamed) named += fmt::format(" and {} more", strangers.size() - kMostNamed);
  throw InputError(
      {"not in this fabric: " + named, fabric.file, "hosts of its units", "correct the names, or add them to a unit"});
}

}  // namespace weft::topology
