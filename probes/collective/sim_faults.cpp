#include "probes/collective/sim_faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "topology/error.h"
#include "topology/hostlist.h"
#include "topology/text_file.h"

namespace weft::probes {
namespace {

using Kind = SimFault::Kind;

constexpr std::size_t kMostBytes = 1 << 20;
constexpr auto kKinds = std::to_array<std::pair<std::string_view, Kind>>({{"node", Kind::node},
                                                                          {"rail", Kind::rail},
                                                                          {"leaf", Kind::leaf},
                                                                          {"uplink", Kind::uplink},
                                                                          {"path", Kind::path},
                                                                          {"pair", Kind::pair},
                                                                          {"scale", Kind::scale},
                                                                          {"crash", Kind::crash},
                                                                          {"hang", Kind::hang},
                                                                          {"corrupt", Kind::corrupt},
                                                                          {"unreachable", Kind::unreachable}});

class Reader {
 public:
  Reader(const std::string& file, const topology::Fabric& fabric) : file_(file), fabric_(fabric) {}

  SimScenario read(const YAML::Node& document) {
    SimScenario scenario;
    require_keys(document, {"noise", "faults"}, "a map with the keys noise and faults");
    if (const YAML::Node noise = document["noise"]) scenario.noise = read_noise(noise);
    const YAML::Node faults = document["faults"];
    if (!faults) return scenario;
    if (!faults.IsSequence()) fail(faults, "faults is not a list", "- {kind: node, node: …}");
    for (const YAML::Node& entry : faults)
      read_fault(entry, scenario.faults);
    return scenario;
  }

 private:
  [[noreturn]] void fail(const YAML::Node& node, std::string what, std::string expected, std::string hint = "") const {
    const YAML::Mark mark = node.Mark();
    throw InputError({std::move(what), fmt::format("{}:{}:{}", file_, mark.line + 1, mark.column + 1),
                      std::move(expected), std::move(hint)});
  }

  void require_keys(const YAML::Node& map, const std::vector<std::string>& known, const std::string& expected) const {
    if (!map.IsMap()) fail(map, "this is not a map", expected);
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        const std::string nearest = nearest_name(key, known);
        fail(entry.first, fmt::format("unknown key {}", in_quotes(key)),
             fmt::format("one of {}", fmt::join(known, ", ")),
             nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
      }
      if (!seen.insert(key).second)
        fail(entry.first, fmt::format("the key '{}' is written twice", key), "each key once");
    }
  }

  double number(const YAML::Node& node, double lowest, double highest, const std::string& expected) const {
    double value = 0;
    if (!node.IsScalar() || !YAML::convert<double>::decode(node, value) || !std::isfinite(value) || value < lowest ||
        value > highest) {
      fail(node, fmt::format("{} will not do", node.IsScalar() ? in_quotes(node.Scalar()) : "this"), expected);
    }
    return value;
  }

  int integer(const YAML::Node& node, int lowest, int highest, const std::string& expected) const {
    const double value = number(node, lowest, highest, expected);
    if (value != std::floor(value)) fail(node, fmt::format("{} is not a whole number", value), expected);
    return static_cast<int>(value);
  }

  SimNoise read_noise(const YAML::Node& map) const {
    SimNoise noise;
    require_keys(map, {"spread", "outliers", "outlier_range"}, "a map such as {spread: 0.02, outliers: 0.01}");
    if (const YAML::Node spread = map["spread"]) noise.spread = number(spread, 0, 1, "a share from 0 to 1");
    if (const YAML::Node outliers = map["outliers"]) noise.outlier_rate = number(outliers, 0, 1, "a share from 0 to 1");
    if (const YAML::Node range = map["outlier_range"]) {
      if (!range.IsSequence() || range.size() != 2)
        fail(range, "outlier_range is not two numbers", "such as [0.6, 0.9]");
      noise.outlier_lowest = number(range[0], 0.01, 1, "a share from 0.01 to 1");
      noise.outlier_highest = number(range[1], noise.outlier_lowest, 1, "a share from the first one to 1");
    }
    return noise;
  }

  std::vector<std::string> hosts(const YAML::Node& node) const {
    if (node.IsSequence()) {
      std::vector<std::string> all;
      for (const YAML::Node& item : node) {
        for (std::string& host : hosts(item))
          all.push_back(std::move(host));
      }
      return all;
    }
    if (!node.IsScalar()) fail(node, "this is not a host list", "such as gpu007 or gpu[001-004]");
    const YAML::Mark mark = node.Mark();
    auto all = topology::expand_hostlist(node.Scalar(), fmt::format("{}:{}", file_, mark.line + 1));
    for (const std::string& host : all) {
      if (!fabric_.unit_of(host))
        fail(node, fmt::format("the node '{}' is not in the fabric", host), "a node of the fabric");
    }
    return all;
  }

  std::string unit(const YAML::Node& node) const {
    std::vector<std::string> known;
    for (const topology::Unit& each : fabric_.units)
      known.push_back(each.name);
    const std::string name = node.IsScalar() ? node.Scalar() : "";
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      fail(node, fmt::format("there is no unit {}", in_quotes(name)), fmt::format("one of {}", fmt::join(known, ", ")));
    }
    return name;
  }

  static std::vector<std::string> keys_of(Kind kind) {
    switch (kind) {
      case Kind::rail:
        return {"kind", "node", "nodes", "rail", "factor", "from_round"};
      case Kind::leaf:
      case Kind::uplink:
        return {"kind", "unit", "rail", "factor", "from_round"};
      case Kind::path:
        return {"kind", "units", "rail", "factor", "from_round"};
      case Kind::pair:
        return {"kind", "nodes", "factor", "from_round"};
      case Kind::scale:
        return {"kind", "node", "min_nodes", "factor", "from_round"};
      case Kind::node:
        return {"kind", "node", "nodes", "factor", "from_round"};
      default:
        return {"kind", "node", "nodes", "from_round"};
    }
  }

  YAML::Node require(const YAML::Node& map, const std::string& key, const std::string& kind) const {
    const YAML::Node value = map[key];
    if (!value) fail(map, fmt::format("a fault of kind {} has no '{}'", kind, key), fmt::format("{}: …", key));
    return value;
  }

  void read_fault(const YAML::Node& map, std::vector<SimFault>& faults) const {
    if (!map.IsMap()) fail(map, "a fault is not a map", "such as {kind: node, node: gpu007, factor: 0.6}");
    const YAML::Node kind_node = map["kind"];
    const std::string name = kind_node && kind_node.IsScalar() ? kind_node.Scalar() : "";
    const auto found = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& kind) { return kind.first == name; });
    if (found == kKinds.end()) {
      std::vector<std::string> known;
      for (const auto& kind : kKinds)
        known.emplace_back(kind.first);
      const std::string nearest = nearest_name(name, known);
      fail(kind_node ? kind_node : map, fmt::format("there is no kind {}", in_quotes(name)),
           fmt::format("one of {}", fmt::join(known, ", ")),
           nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
    }
    SimFault fault;
    fault.kind = found->second;
    require_keys(map, keys_of(fault.kind), "a fault");
    if (const YAML::Node factor = map["factor"]) {
      const bool may_hang = fault.kind == Kind::scale;
      fault.factor = number(factor, may_hang ? 0 : 0.001, 1,
                            may_hang ? "a share from 0 (hangs) to 1" : "a share above 0, up to 1");
    }
    if (const YAML::Node round = map["from_round"]) fault.from_round = integer(round, 1, 1000000, "a round from 1");
    if (const YAML::Node rail = map["rail"]) {
      fault.rail = integer(rail, 0, fabric_.rails - 1, fmt::format("a rail from 0 to {}", fabric_.rails - 1));
    }
    add_places(map, name, fault, faults);
  }

  /// A list of nodes is a fault of each.
  void add_places(const YAML::Node& map, const std::string& kind, SimFault fault, std::vector<SimFault>& faults) const {
    switch (fault.kind) {
      case Kind::leaf:
      case Kind::uplink:
        fault.units = {unit(require(map, "unit", kind))};
        break;
      case Kind::path: {
        const YAML::Node units = require(map, "units", kind);
        if (!units.IsSequence() || units.size() != 2) fail(units, "units is not two units", "such as [su1, su2]");
        fault.units = {unit(units[0]), unit(units[1])};
        if (fault.units[0] == fault.units[1]) fail(units, "a path joins two units", "two different ones");
        break;
      }
      case Kind::pair:
        fault.nodes = hosts(require(map, "nodes", kind));
        if (fault.nodes.size() != 2 || fault.nodes[0] == fault.nodes[1]) {
          fail(map["nodes"], "a pair is two nodes", "such as [gpu001, gpu009]");
        }
        break;
      case Kind::scale:
        fault.min_nodes = integer(require(map, "min_nodes", kind), 2, 1000000, "a number of nodes from 2");
        if (const YAML::Node node = map["node"]) fault.nodes = hosts(node);
        break;
      default: {
        const YAML::Node nodes = map["node"] ? map["node"] : require(map, "nodes", kind);
        if (fault.kind == Kind::rail) (void)require(map, "rail", kind);
        for (const std::string& node : hosts(nodes)) {
          fault.nodes = {node};
          faults.push_back(fault);
        }
        return;
      }
    }
    faults.push_back(std::move(fault));
  }

  const std::string& file_;
  const topology::Fabric& fabric_;
};

}  // namespace

SimScenario parse_sim_faults(std::string_view yaml, const std::string& file, const topology::Fabric& fabric) {
  YAML::Node document;
  try {
    document = YAML::Load(std::string(yaml));
  } catch (const YAML::Exception& error) {
    throw InputError(
        {error.msg, fmt::format("{}:{}:{}", file, error.mark.line + 1, error.mark.column + 1), "YAML", ""});
  }
  if (!document.IsMap()) throw InputError({"this is no faults file", file, "a map with the keys noise and faults", ""});
  return Reader(file, fabric).read(document);
}

SimScenario load_sim_faults(const std::string& path, const topology::Fabric& fabric) {
  return parse_sim_faults(topology::read_text_file(path, kMostBytes), path, fabric);
}

}  // namespace weft::probes
