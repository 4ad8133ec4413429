#include "topology/fabric.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "topology/error.h"
#include "topology/host_pattern.h"
#include "topology/hostlist.h"
#include "topology/text_file.h"

namespace weft::topology {
namespace {

using Keys = std::span<const std::string_view>;

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

constexpr int kMostPerNode = 1024;            // rails, GPUs, links of a leaf to a spine
constexpr double kFastestLinkGbit = 100'000;  // catches a speed written in Mbit/s or bit/s
constexpr double kHighestBusbwGbps = 1'000'000;
constexpr std::size_t kLongestName = 255;

/// A value in the file with the key it belongs to. `path` is how messages call it, such as `units[1].nodes`.
struct Field {
  std::string path;
  YAML::Mark key;
  YAML::Node value;
};

std::string at(const std::string& file, const YAML::Mark& mark) {
  return mark.is_null() ? file : fmt::format("{}:{}:{}", file, mark.line + 1, mark.column + 1);
}

std::string described(const YAML::Node& value) {
  if (value.IsScalar()) return in_quotes(value.Scalar());
  if (value.IsSequence()) return value.size() == 0 ? "an empty list" : "a list";
  if (value.IsMap()) return value.size() == 0 ? "an empty map" : "a map";
  return "nothing";
}

std::vector<std::string> strings(Keys keys) {
  return {keys.begin(), keys.end()};
}

/// Reads one file into one Fabric. Every function either returns what the file says or throws InputError.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) { fabric_.file = file; }

  Fabric read(const YAML::Node& document) {
    const Map map = read_map({"the document", YAML::Mark(), document}, "", kFabricKeys);
    if (const auto field = map.find("fabric")) fabric_.name = read_title(*field);
    if (const auto field = map.find("rails")) fabric_.rails = read_count(*field);
    if (const auto field = map.find("gpus_per_node")) fabric_.gpus_per_node = read_count(*field);
    if (const auto field = map.find("link")) read_link(*field);
    read_units(require(map, "units"));
    if (const auto field = map.find("spines")) read_spines(*field);
    if (const auto field = map.find("nics")) read_nics(*field);
    if (const auto field = map.find("expect")) read_expectations(*field);
    return std::move(fabric_);
  }

 private:
  /// A YAML map whose keys are known, each written once.
  struct Map {
    Field self;
    std::map<std::string, Field, std::less<>> fields;

    std::optional<Field> find(std::string_view key) const {
      const auto found = fields.find(key);
      return found == fields.end() ? std::nullopt : std::optional(found->second);
    }
  };

  Map read_map(const Field& field, const std::string& prefix, Keys known) const {
    if (!field.value.IsMap()) {
      fail(field, fmt::format("{} is {}", field.path, described(field.value)),
           fmt::format("a map with the keys {}", fmt::join(known, ", ")));
    }
    Map map{field, {}};
    for (const auto& entry : field.value) {
      const Field key{prefix, entry.first.Mark(), entry.first};
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::ranges::find(known, name) == known.end()) fail_unknown_key(key, known);
      const bool is_new = map.fields.emplace(name, Field{prefix + name, key.key, entry.second}).second;
      if (!is_new) fail(key, fmt::format("the key {} is written twice", in_quotes(name)), "each key once");
    }
    return map;
  }

  [[noreturn]] void fail_unknown_key(const Field& key, Keys known) const {
    const std::string nearest = key.value.IsScalar() ? nearest_name(key.value.Scalar(), strings(known)) : "";
    const std::string parent = key.path.empty() ? "" : " in " + key.path.substr(0, key.path.size() - 1);
    fail(key, fmt::format("unknown key {}{}", described(key.value), parent),
         fmt::format("one of {}", fmt::join(known, ", ")),
         nearest.empty() ? "" : fmt::format("did you mean {}?", in_quotes(nearest)));
  }

  Field require(const Map& map, std::string_view key) const {
    if (auto field = map.find(key)) return std::move(*field);
    fail(map.self, fmt::format("{} has no key {}", map.self.path, in_quotes(key)), fmt::format("{}: …", key));
  }

  void read_link(const Field& field) {
    const Map map = read_map(field, "link.", kLinkKeys);
    const Field type = require(map, "type");
    const std::string name = type.value.IsScalar() ? type.value.Scalar() : "";
    if (name != "infiniband" && name != "roce") fail_value(type, "infiniband or roce");
    fabric_.link.type = name == "roce" ? LinkType::roce : LinkType::infiniband;
    fabric_.link.speed_gbit = read_number(require(map, "speed"), kFastestLinkGbit, "the Gbit/s of one rail");
  }

  void read_units(const Field& field) {
    if (!field.value.IsSequence() || field.value.size() == 0) {
      fail_value(field, R"(a list of units, each such as {name: su1, nodes: "gpu[001-032]", leaves: "leaf[0-7]"})");
    }
    for (const YAML::Node& item : field.value) {
      const std::string path = fmt::format("units[{}]", fabric_.units.size());
      read_unit({path, item.IsNull() ? field.key : item.Mark(), item});
    }
  }

  void read_unit(const Field& field) {
    const Map map = read_map(field, field.path + ".", kUnitKeys);
    const Field name = require(map, "name");
    const Unit unit{read_name(name), {}, {}};
    if (!unit_names_.insert(unit.name).second) {
      fail(name, fmt::format("there are two units {}", unit.name), "a name of its own for each unit");
    }
    fabric_.units.push_back(unit);
    read_nodes(require(map, "nodes"));
    if (const auto leaves = map.find("leaves")) read_leaves(*leaves);
  }

  /// Into the unit read last, like read_leaves.
  void read_nodes(const Field& field) {
    Unit& unit = fabric_.units.back();
    unit.nodes = without_repeats(read_hostlist(field));
    if (fabric_.node_count() + unit.nodes.size() > kMaxHosts) {
      fail(field, fmt::format("the fabric reaches more than {} nodes here", kMaxHosts), "fewer");
    }
    for (const std::string& node : unit.nodes) {
      if (unit_by_leaf_.contains(node)) fail_two_roles(field, node, "a leaf and a node");
      const auto [owner, is_new] = fabric_.unit_by_node.emplace(node, fabric_.units.size() - 1);
      if (is_new) continue;
      fail(field,
           fmt::format("node {} is in unit {} and in unit {}", node, fabric_.units[owner->second].name, unit.name),
           "each node in one unit");
    }
  }

  void read_leaves(const Field& field) {
    Unit& unit = fabric_.units.back();
    unit.leaves = read_hostlist(field);
    const auto rails = static_cast<std::size_t>(fabric_.rails);
    if (unit.leaves.size() != 1 && unit.leaves.size() != rails) {
      fail(field, fmt::format("{} names {} leaves for rails: {}", field.path, unit.leaves.size(), rails),
           "a leaf for each rail, in the order of the rails, or a single leaf for all of them");
    }
    for (const std::string& leaf : unit.leaves) {
      if (fabric_.unit_of(leaf)) fail_two_roles(field, leaf, "a node and a leaf");
      const auto [owner, is_new] = unit_by_leaf_.emplace(leaf, fabric_.units.size() - 1);
      if (is_new) continue;
      const std::string& other = fabric_.units[owner->second].name;
      fail(field,
           other == unit.name ? fmt::format("leaf {} is listed twice", leaf)
                              : fmt::format("leaf {} serves unit {} and unit {}", leaf, other, unit.name),
           "each leaf once, in one unit");
    }
  }

  void read_spines(const Field& field) {
    const Map map = read_map(field, "spines.", kSpineKeys);
    const Field nodes = require(map, "nodes");
    fabric_.spines.nodes = without_repeats(read_hostlist(nodes));
    for (const std::string& spine : fabric_.spines.nodes) {
      if (fabric_.unit_of(spine)) fail_two_roles(nodes, spine, "a node and a spine");
      if (unit_by_leaf_.contains(spine)) fail_two_roles(nodes, spine, "a leaf and a spine");
    }
    if (const auto links = map.find("links_per_leaf")) fabric_.spines.links_per_leaf = read_count(*links);
  }

  void read_nics(const Field& field) {
    const Field names = require(read_map(field, "nics.", kNicKeys), "names");
    fabric_.nics = read_hostlist(names);
    const std::vector<std::string> distinct = without_repeats(fabric_.nics);
    if (distinct.size() != fabric_.nics.size()) fail(names, "a NIC is listed twice", "a NIC of its own for each rail");
    if (fabric_.nics.size() != static_cast<std::size_t>(fabric_.rails)) {
      fail(names, fmt::format("{} names {} NICs for rails: {}", names.path, fabric_.nics.size(), fabric_.rails),
           "a NIC for each rail, in the order of the rails");
    }
  }

  void read_expectations(const Field& field) {
    const Map by_op = read_map(field, "expect.", kOps);
    for (const auto& [op, figures] : by_op.fields) {
      const Map map = read_map(figures, figures.path + ".", kExpectationKeys);
      Expectation expectation;
      expectation.busbw_gbps =
          read_number(require(map, "busbw_gbps"), kHighestBusbwGbps, "the bus bandwidth in GB/s (10^9 bytes)");
      if (const auto tolerance = map.find("tolerance_percent")) {
        expectation.tolerance_percent = read_number(*tolerance, 100, "percent");
      }
      fabric_.expect.emplace(op, expectation);
    }
  }

  std::vector<std::string> read_hostlist(const Field& field) const {
    const std::string example = R"(a host list in quotes, such as "gpu[001-032]")";
    if (!field.value.IsScalar()) fail_value(field, example);
    try {
      return expand_hostlist_keeping_repeats(field.value.Scalar(), field.path);
    } catch (const InputError& error) {
      const ErrorDetail& detail = error.detail();
      fail(field, fmt::format("{}: {}", detail.where, detail.what), detail.expected, detail.next_step);
    }
  }

  int read_count(const Field& field) const {
    int count = 0;
    const bool is_number = parse(field.value, count);
    if (!is_number || count < 1 || count > kMostPerNode) {
      fail_value(field, fmt::format("a whole number from 1 to {}", kMostPerNode));
    }
    return count;
  }

  /// Above 0 and, where `limit` is 100 percent or another bound, below it.
  double read_number(const Field& field, double limit, std::string_view meaning) const {
    double number = 0;
    const bool is_number = parse(field.value, number) && std::isfinite(number);
    if (!is_number || number <= 0 || number >= limit) {
      fail_value(field, fmt::format("{}, a number above 0 and below {:.0f}", meaning, limit));
    }
    return number;
  }

  template <typename Number>
  static bool parse(const YAML::Node& value, Number& number) {
    if (!value.IsScalar()) return false;
    const std::string& text = value.Scalar();
    // 010 is 8 to some YAML readers and 10 to others.
    if (text.size() > 1 && text[0] == '0' && text[1] != '.') return false;
    const char* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, number);
    return result.ec == std::errc() && result.ptr == end;
  }

  std::string read_name(const Field& field) const {
    std::string name = field.value.IsScalar() ? field.value.Scalar() : "";
    if (name.empty() || name.size() > kLongestName || !std::ranges::all_of(name, is_host_name_character)) {
      fail_value(field, "a name of letters, digits, `.`, `_` and `-`");
    }
    return name;
  }

  std::string read_title(const Field& field) const {
    std::string title = field.value.IsScalar() ? field.value.Scalar() : "";
    const auto is_printable = [](char character) { return character >= ' ' && character <= '~'; };
    if (title.empty() || title.size() > kLongestName || !std::ranges::all_of(title, is_printable)) {
      fail_value(field, "a name of printable ASCII characters");
    }
    return title;
  }

  [[noreturn]] void fail_two_roles(const Field& field, const std::string& name, std::string_view roles) const {
    fail(field, fmt::format("{} is {}", name, roles), "a name of its own for each node and each switch");
  }

  [[noreturn]] void fail_value(const Field& field, std::string expected) const {
    fail(field, fmt::format("{} is {}", field.path, described(field.value)), std::move(expected));
  }

  [[noreturn]] void fail(const Field& field, std::string what, std::string expected, std::string next_step = "") const {
    // yaml-cpp places an empty value at the next token, which can be lines away.
    const YAML::Mark mark = field.value.IsNull() ? field.key : field.value.Mark();
    throw InputError({std::move(what), at(file_, mark), std::move(expected), std::move(next_step)});
  }

  const std::string& file_;
  Fabric fabric_;
  std::set<std::string> unit_names_;
  std::map<std::string, std::size_t> unit_by_leaf_;
};

/// Takes note of where a document starts and of nothing in it.
class DocumentStart final : public YAML::EventHandler {
 public:
  const YAML::Mark& mark() const { return mark_; }

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark mark_;
};

/// YAML::Load would ignore everything after the first document, and YAML::LoadAll of yaml-cpp 0.7 never ends for some
/// damaged files (`,!x: y`), of which it reads one empty document after another. So documents are counted up to two.
YAML::Node the_only_document(const std::string& yaml, const std::string& file) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  DocumentStart start;
  if (parser.HandleNextDocument(start) && parser.HandleNextDocument(start)) {
    throw InputError({"a second YAML document starts here", at(file, start.mark()), "one document", ""});
  }
  YAML::Node document = YAML::Load(yaml);
  if (document.IsNull()) {
    throw InputError({"declares nothing", file, "a fabric with at least the key units (docs/fabric.md)", ""});
  }
  return document;
}

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
  try {
    return Reader(file).read(the_only_document(std::string(yaml), file));
  } catch (const YAML::DeepRecursion& error) {
    throw InputError({"nested too deeply", at(file, error.mark), "a fabric as in docs/fabric.md", ""});
  } catch (const YAML::Exception& error) {
    throw InputError({"not valid YAML: " + in_quotes(error.msg), at(file, error.mark), "",
                      R"(mind that host lists have to be quoted inside { }, such as "gpu[001-032]")"});
  }
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
