#include "probes/collective/sim_faults.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "topology/error.h"
#include "topology/hostlist.h"
#include "topology/strict_yaml.h"
#include "topology/text_file.h"

namespace weft::probes {
namespace {

using Kind = SimFault::Kind;
using topology::StrictYaml;
using topology::YamlField;
using topology::YamlKeys;
using topology::YamlMap;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
/// Nodes named by all faults together: a list written once and pointed at from a thousand faults is a slip.
constexpr std::size_t kMostNodesNamed = topology::kMaxHosts;
constexpr int kLastRound = 1'000'000;
constexpr StrictYaml::Format kFormat{R"(faults as in docs/probes.md, "A simulated fabric")",
                                     "a map with the keys noise and faults"};

constexpr auto kDocumentKeys = std::to_array<std::string_view>({"noise", "faults"});
constexpr auto kNoiseKeys = std::to_array<std::string_view>({"spread", "outliers", "outlier_range"});

constexpr auto kNodeKeys = std::to_array<std::string_view>({"kind", "node", "nodes", "factor", "from_round"});
constexpr auto kRailKeys = std::to_array<std::string_view>({"kind", "node", "nodes", "rail", "factor", "from_round"});
constexpr auto kUnitKeys = std::to_array<std::string_view>({"kind", "unit", "rail", "factor", "from_round"});
constexpr auto kPathKeys = std::to_array<std::string_view>({"kind", "units", "rail", "factor", "from_round"});
constexpr auto kPairKeys = std::to_array<std::string_view>({"kind", "nodes", "factor", "from_round"});
constexpr auto kScaleKeys =
    std::to_array<std::string_view>({"kind", "node", "nodes", "min_nodes", "factor", "from_round"});
constexpr auto kFailureKeys = std::to_array<std::string_view>({"kind", "node", "nodes", "from_round"});
/// Any fault's, to find out its kind.
constexpr auto kAllKeys = std::to_array<std::string_view>(
    {"kind", "node", "nodes", "unit", "units", "rail", "min_nodes", "factor", "from_round"});

/// In the order of SimFault::Kind.
constexpr auto kKindNames = std::to_array<std::string_view>(
    {"node", "rail", "leaf", "uplink", "path", "pair", "scale", "crash", "hang", "corrupt", "unreachable"});

YamlKeys keys_of(Kind kind) {
  switch (kind) {
    case Kind::node:
      return kNodeKeys;
    case Kind::rail:
      return kRailKeys;
    case Kind::leaf:
    case Kind::uplink:
      return kUnitKeys;
    case Kind::path:
      return kPathKeys;
    case Kind::pair:
      return kPairKeys;
    case Kind::scale:
      return kScaleKeys;
    case Kind::crash:
    case Kind::hang:
    case Kind::corrupt:
    case Kind::unreachable:
      return kFailureKeys;
  }
  return kFailureKeys;
}

/// Reads one file into one scenario. Every function either returns what the file says or throws InputError.
class Reader {
 public:
  Reader(std::string_view yaml, const std::string& file, const topology::Fabric& fabric)
      : yaml_(yaml, file, kFormat), fabric_(fabric) {
    for (const topology::Unit& unit : fabric.units)
      unit_names_.emplace_back(unit.name);
  }

  SimScenario read() {
    const YamlMap map = yaml_.document(kDocumentKeys);
    if (const auto noise = map.find("noise")) read_noise(*noise);
    if (const auto faults = map.find("faults")) {
      for (const YamlField& fault : yaml_.items(*faults, "a list such as - {kind: node, node: gpu007, factor: 0.6}"))
        read_fault(fault);
    }
    return std::move(scenario_);
  }

 private:
  void read_noise(const YamlField& field) {
    const YamlMap map = yaml_.map(field, kNoiseKeys);
    SimNoise& noise = scenario_.noise;
    if (const auto spread = map.find("spread")) noise.spread = read_share(*spread, 0);
    if (const auto outliers = map.find("outliers")) noise.outlier_rate = read_share(*outliers, 0);
    if (const auto range = map.find("outlier_range")) {
      constexpr std::string_view kExpected = "two shares, such as [0.6, 0.9]";
      const std::vector<YamlField> ends = yaml_.items(*range, kExpected);
      if (ends.size() != 2) yaml_.fail_value(*range, std::string(kExpected));
      noise.outlier_lowest = read_share(ends[0], 0.01);
      noise.outlier_highest = read_share(ends[1], noise.outlier_lowest);
    }
  }

  double read_share(const YamlField& field, double lowest) const {
    const std::optional<double> share = StrictYaml::number(field);
    if (!share || *share < lowest || *share > 1) yaml_.fail_value(field, fmt::format("a share from {} to 1", lowest));
    return *share;
  }

  void read_fault(const YamlField& field) {
    const YamlField kind = yaml_.require(yaml_.map(field, kAllKeys), "kind");
    SimFault fault;
    fault.kind = static_cast<Kind>(yaml_.choice(kind, kKindNames));
    const YamlMap map = yaml_.map(field, keys_of(fault.kind));
    if (const auto factor = map.find("factor")) fault.factor = read_factor(*factor, fault.kind);
    if (const auto round = map.find("from_round")) fault.from_round = yaml_.whole_number(*round, 1, kLastRound);
    if (const auto rail = map.find("rail")) fault.rail = yaml_.whole_number(*rail, 0, fabric_.rails - 1);
    add_places(map, std::move(fault));
  }

  double read_factor(const YamlField& field, Kind kind) const {
    const std::optional<double> factor = StrictYaml::number(field);
    const bool hangs = kind == Kind::scale && factor == 0;
    if (!factor || (!hangs && *factor <= 0) || *factor >= 1) {
      yaml_.fail_value(field, kind == Kind::scale ? "what is left of the bandwidth, 0 (hangs) or above, below 1"
                                                  : "what is left of the bandwidth, above 0 and below 1");
    }
    return *factor;
  }

  /// Where the fault is. A list of nodes is a fault of each, but for a pair and for those that a scale fault takes.
  void add_places(const YamlMap& map, SimFault fault) {
    switch (fault.kind) {
      case Kind::leaf:
      case Kind::uplink:
        fault.units = {read_unit(yaml_.require(map, "unit"))};
        break;
      case Kind::path:
        fault.units = read_path(yaml_.require(map, "units"));
        break;
      case Kind::pair:
        fault.nodes = read_pair(yaml_.require(map, "nodes"));
        break;
      case Kind::scale:
        read_scale(map, fault);
        break;
      default:
        if (fault.kind == Kind::rail) yaml_.require(map, "rail");
        for (const std::string& node : read_hosts(nodes_field(map))) {
          fault.nodes = {node};
          scenario_.faults.push_back(fault);
        }
        return;
    }
    scenario_.faults.push_back(std::move(fault));
  }

  std::string read_unit(const YamlField& field) const {
    return std::string(unit_names_[yaml_.choice(field, unit_names_)]);
  }

  std::vector<std::string> read_path(const YamlField& field) const {
    constexpr std::string_view kExpected = "two different units, such as [su1, su2]";
    const std::vector<YamlField> ends = yaml_.items(field, kExpected);
    if (ends.size() != 2) yaml_.fail_value(field, std::string(kExpected));
    std::vector<std::string> units = {read_unit(ends[0]), read_unit(ends[1])};
    if (units[0] == units[1]) {
      yaml_.fail(field, fmt::format("{} are {} twice", field.path, units[0]), std::string(kExpected));
    }
    return units;
  }

  std::vector<std::string> read_pair(const YamlField& field) {
    std::vector<std::string> nodes = read_hosts(field);
    if (nodes.size() != 2) {
      yaml_.fail(field, fmt::format("{} names {} nodes", field.path, nodes.size()),
                 "two different nodes, such as [gpu001, gpu009]");
    }
    return nodes;
  }

  void read_scale(const YamlMap& map, SimFault& fault) {
    const auto most = static_cast<int>(std::min<std::size_t>(fabric_.node_count(), topology::kMaxHosts));
    fault.min_nodes = yaml_.whole_number(yaml_.require(map, "min_nodes"), 2, std::max(2, most));
    if (map.find("node") || map.find("nodes")) fault.nodes = read_hosts(nodes_field(map));
  }

  /// `node` and `nodes` are the same, so that both read well.
  YamlField nodes_field(const YamlMap& map) const {
    const auto node = map.find("node");
    const auto nodes = map.find("nodes");
    if (node && nodes) yaml_.fail(*nodes, fmt::format("{} has node and nodes", map.self.path), "one of them");
    if (nodes) return *nodes;
    return yaml_.require(map, "node");
  }

  /// Distinct nodes of the fabric, from a host list or a list of host lists.
  std::vector<std::string> read_hosts(const YamlField& field) {
    std::vector<std::string> hosts;
    std::unordered_set<std::string> seen;
    const std::vector<YamlField> lists =
        field.value.IsSequence() ? yaml_.items(field, "a list of nodes") : std::vector{field};
    if (lists.empty()) yaml_.fail_value(field, "at least one node");
    for (const YamlField& list : lists) {
      for (std::string& host : yaml_.hostlist(list)) {
        require_node(list, host);
        if (seen.insert(host).second) hosts.push_back(std::move(host));
      }
    }
    return hosts;
  }

  void require_node(const YamlField& field, const std::string& host) {
    if (++nodes_named_ > kMostNodesNamed) {
      yaml_.fail(field, fmt::format("the faults name more than {} nodes", kMostNodesNamed), "fewer");
    }
    if (fabric_.unit_of(host)) return;
    std::vector<std::string> known;
    for (const topology::Unit& unit : fabric_.units)
      known.insert(known.end(), unit.nodes.begin(), unit.nodes.end());
    const std::string nearest = nearest_name(host, known);
    yaml_.fail(field, fmt::format("{}: the node {} is not in the fabric", field.path, host), "a node of the fabric",
               nearest.empty() ? "" : fmt::format("did you mean {}?", in_quotes(nearest)));
  }

  StrictYaml yaml_;
  const topology::Fabric& fabric_;
  std::vector<std::string_view> unit_names_;
  SimScenario scenario_;
  std::size_t nodes_named_ = 0;
};

}  // namespace

SimScenario parse_sim_faults(std::string_view yaml, const std::string& file, const topology::Fabric& fabric) {
  return Reader(yaml, file, fabric).read();
}

SimScenario load_sim_faults(const std::string& path, const topology::Fabric& fabric) {
  return parse_sim_faults(topology::read_text_file(path, kMostBytes), path, fabric);
}

}  // namespace weft::probes
