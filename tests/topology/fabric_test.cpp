#include "topology/fabric.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/error.h"
#include "topology/hostlist.h"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Hosts = std::vector<std::string>;

constexpr const char* kWholeFabric = R"(fabric: cluster-a
rails: 8
gpus_per_node: 4
link: {type: roce, speed: 400}
units:
  - {name: su1, nodes: "gpu[001-032]", leaves: "leaf-su1-[0-7]"}
  - {name: su2, nodes: "gpu[033-064]", leaves: "tor2"}
spines: {nodes: "spine[01-08]", links_per_leaf: 4}
nics: {names: "mlx5_[0-7]"}
expect:
  all_reduce: {busbw_gbps: 370.5, tolerance_percent: 7.5}
  sendrecv: {busbw_gbps: 48}
)";

ErrorDetail error_of(const std::string& yaml) {
  try {
    parse_fabric(yaml, "f.yaml");
  } catch (const InputError& error) {
    return error.detail();
  }
  ADD_FAILURE() << "accepted: " << yaml.substr(0, 200);
  return {};
}

TEST(Fabric, ReadsEveryKey) {
  const Fabric fabric = parse_fabric(kWholeFabric, "f.yaml");
  EXPECT_TRUE(fabric.declared());
  EXPECT_EQ(fabric.file, "f.yaml");
  EXPECT_EQ(fabric.name, "cluster-a");
  EXPECT_EQ(fabric.rails, 8);
  EXPECT_EQ(fabric.gpus_per_node, 4);
  EXPECT_EQ(fabric.link.type, LinkType::roce);
  EXPECT_EQ(fabric.link.speed_gbit, 400);
  ASSERT_EQ(fabric.units.size(), 2U);
  EXPECT_EQ(fabric.units[0].name, "su1");
  EXPECT_EQ(fabric.units[0].nodes, expand_hostlist("gpu[001-032]"));
  EXPECT_EQ(fabric.units[0].leaves, expand_hostlist("leaf-su1-[0-7]"));
  EXPECT_EQ(fabric.units[1].leaves, Hosts{"tor2"});
  EXPECT_EQ(fabric.spines.nodes, expand_hostlist("spine[01-08]"));
  EXPECT_EQ(fabric.spines.links_per_leaf, 4);
  EXPECT_EQ(fabric.nics, expand_hostlist("mlx5_[0-7]"));
  ASSERT_EQ(fabric.expect.size(), 2U);
  EXPECT_EQ(fabric.expect.at("all_reduce").busbw_gbps, 370.5);
  EXPECT_EQ(fabric.expect.at("all_reduce").tolerance_percent, 7.5);
  EXPECT_EQ(fabric.expect.at("sendrecv").busbw_gbps, 48);
  EXPECT_EQ(fabric.expect.at("sendrecv").tolerance_percent, 10);
  EXPECT_EQ(fabric.node_count(), 64U);
  EXPECT_EQ(fabric.unit_of("gpu032"), 0U);
  EXPECT_EQ(fabric.unit_of("gpu033"), 1U);
  EXPECT_EQ(fabric.unit_of("gpu65"), std::nullopt);
}

TEST(Fabric, NeedsOnlyUnits) {
  const Fabric fabric = parse_fabric("units: [{name: a, nodes: n1}]\n", "f.yaml");
  EXPECT_EQ(fabric.rails, 1);
  EXPECT_EQ(fabric.gpus_per_node, 1);
  EXPECT_EQ(fabric.link.speed_gbit, 0);
  EXPECT_TRUE(fabric.units[0].leaves.empty());
  EXPECT_EQ(fabric.node_count(), 1U);
}

TEST(Fabric, ReadsWhatYamlAllows) {
  const struct {
    const char* what;
    const char* yaml;
  } cases[] = {
      {"byte order mark", "\xEF\xBB\xBFunits: [{name: a, nodes: 'n[1-2]'}]\n"},
      {"CRLF", "units:\r\n  - name: a\r\n    nodes: n[1-2]\r\n"},
      {"block scalar", "units:\n  - name: a\n    nodes: |\n      n1\n      n2\n"},
      {"keys in any order", "units:\n  - {nodes: 'n[1-2]', leaves: 'l[0-1]', name: a}\nrails: 2\n"},
      {"document markers", "---\nunits: [{name: a, nodes: 'n[1-2]'}]\n...\n"},
      {"alias", "fabric: &name a\nunits: [{name: *name, nodes: 'n[1-2]'}]\n"},
      {"comments", "# c\nunits: # c\n  - {name: a, nodes: 'n[1-2]'} # c\n"},
      {"a node twice in its own unit", "units: [{name: a, nodes: 'n[1-2],n1'}]\n"},
      {"numbers in exponent form", "units: [{name: a, nodes: 'n[1-2]'}]\nlink: {type: roce, speed: 4e2}\n"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(parse_fabric(c.yaml, "f.yaml").units.at(0).nodes, (Hosts{"n1", "n2"})) << c.what;
  }
}

void expect_error(const std::string& yaml, const std::string& where, const std::string& what,
                  const std::string& expected) {
  const ErrorDetail error = error_of(yaml);
  EXPECT_EQ(error.where, where) << yaml;
  EXPECT_THAT(error.what, StartsWith(what)) << yaml;
  EXPECT_THAT(error.expected, HasSubstr(expected)) << yaml;
}

TEST(Fabric, RefusesWrongTypesAndValuesAtTheirPlace) {
  const std::string units = "units: [{name: a, nodes: n1}]\n";
  const struct {
    std::string line, where, what, expected;
  } cases[] = {
      {"rails: eight", "f.yaml:2:8", R"(rails is "eight")", "a whole number from 1 to 1024"},
      {"rails: 0", "f.yaml:2:8", R"(rails is "0")", "a whole number from 1 to 1024"},
      {"rails: -1", "f.yaml:2:8", R"(rails is "-1")", "a whole number"},
      {"rails: 1025", "f.yaml:2:8", R"(rails is "1025")", "a whole number"},
      {"rails: 99999999999999999999", "f.yaml:2:8", "rails is", "a whole number"},
      {"rails: 8.0", "f.yaml:2:8", R"(rails is "8.0")", "a whole number"},
      {"rails: 010", "f.yaml:2:8", R"(rails is "010")", "a whole number"},
      {"rails: 8 NICs", "f.yaml:2:8", R"(rails is "8 NICs")", "a whole number"},
      {"rails: [8]", "f.yaml:2:8", "rails is a list", "a whole number"},
      {"rails:", "f.yaml:2:1", "rails is nothing", "a whole number"},
      {"rails: ~", "f.yaml:2:1", "rails is nothing", "a whole number"},
      {"gpus_per_node: true", "f.yaml:2:16", R"(gpus_per_node is "true")", "a whole number"},
      {"gpus_per_node: {a: 1}", "f.yaml:2:16", "gpus_per_node is a map", "a whole number"},
      {"fabric: [a]", "f.yaml:2:9", "fabric is a list", "a name"},
      {"fabric: \"a\\nb\"", "f.yaml:2:9", R"(fabric is "a\nb")", "printable ASCII"},
      {"fabric: ''", "f.yaml:2:9", R"(fabric is "")", "a name"},
      {"link: [1]", "f.yaml:2:7", "link is a list", "a map with the keys type, speed"},
      {"link: {type: roce}", "f.yaml:2:7", R"(link has no key "speed")", "speed"},
      {"link: {speed: 400}", "f.yaml:2:7", R"(link has no key "type")", "type"},
      {"link: {type: ethernet, speed: 400}", "f.yaml:2:14", R"(link.type is "ethernet")", "infiniband or roce"},
      {"link: {type: roce, speed: 0}", "f.yaml:2:27", R"(link.speed is "0")", "above 0"},
      {"link: {type: roce, speed: -400}", "f.yaml:2:27", R"(link.speed is "-400")", "above 0"},
      {"link: {type: roce, speed: .inf}", "f.yaml:2:27", R"(link.speed is ".inf")", "Gbit/s"},
      {"link: {type: roce, speed: inf}", "f.yaml:2:27", R"(link.speed is "inf")", "Gbit/s"},
      {"link: {type: roce, speed: nan}", "f.yaml:2:27", R"(link.speed is "nan")", "Gbit/s"},
      {"link: {type: roce, speed: 400e9}", "f.yaml:2:27", R"(link.speed is "400e9")", "below 100000"},
      {"link: {type: roce, speed: 1e999}", "f.yaml:2:27", R"(link.speed is "1e999")", "Gbit/s"},
      {"link: {type: roce, speed: 400G}", "f.yaml:2:27", R"(link.speed is "400G")", "Gbit/s"},
      {"spines: spine1", "f.yaml:2:9", R"(spines is "spine1")", "a map with the keys nodes, links_per_leaf"},
      {"spines: {links_per_leaf: 4}", "f.yaml:2:9", R"(spines has no key "nodes")", "nodes"},
      {"spines: {nodes: s1, links_per_leaf: 0}", "f.yaml:2:37", R"(spines.links_per_leaf is "0")", "whole number"},
      {"spines: {nodes: [s1]}", "f.yaml:2:17", "spines.nodes is a list", "a host list in quotes"},
      {"spines: {nodes: n1}", "f.yaml:2:17", "n1 is a node and a spine", "name of its own"},
      {"nics: mlx5_0", "f.yaml:2:7", R"(nics is "mlx5_0")", "a map with the keys names"},
      {"nics: {names: 'mlx5_[0-1]'}", "f.yaml:2:15", "nics.names names 2 NICs for rails: 1", "a NIC for each rail"},
      {"nics: {names: 'mlx5_[0-'}", "f.yaml:2:15", "nics.names:column 6: `[` is not closed", "`]`"},
      {"nics: {names: ''}", "f.yaml:2:15", "nics.names:column 1: the host list is empty", "at least one"},
      {"expect: 370", "f.yaml:2:9", R"(expect is "370")", "a map with the keys all_reduce"},
      {"expect: {all_reduce: 370}", "f.yaml:2:22", R"(expect.all_reduce is "370")", "busbw_gbps"},
      {"expect: {all_reduce: {}}", "f.yaml:2:22", R"(expect.all_reduce has no key "busbw_gbps")", "busbw_gbps"},
      {"expect: {all_reduce: {busbw_gbps: 0}}", "f.yaml:2:35", R"(expect.all_reduce.busbw_gbps is "0")", "GB/s"},
      {"expect: {all_reduce: {busbw_gbps: nan}}", "f.yaml:2:35", "expect.all_reduce.busbw_gbps", "GB/s"},
      {"expect: {all_reduce: {busbw_gbps: 370, tolerance_percent: 0}}", "f.yaml:2:59",
       R"(expect.all_reduce.tolerance_percent is "0")", "above 0 and below 100"},
      {"expect: {all_reduce: {busbw_gbps: 370, tolerance_percent: 100}}", "f.yaml:2:59",
       R"(expect.all_reduce.tolerance_percent is "100")", "above 0 and below 100"},
      {"expect: {all_reduce: {busbw_gbps: 370, tolerance_percent: 10%}}", "f.yaml:2:59",
       R"(expect.all_reduce.tolerance_percent is "10%")", "percent"},
  };
  for (const auto& c : cases)
    expect_error(units + c.line + "\n", c.where, c.what, c.expected);
}

TEST(Fabric, RefusesUnitsThatContradict) {
  const struct {
    std::string yaml, where, what, expected;
  } cases[] = {
      {"rails: 1\n", "f.yaml:1:1", R"(the document has no key "units")", "units"},
      {"units:\n", "f.yaml:1:1", "units is nothing", "a list of units"},
      {"units: []\n", "f.yaml:1:8", "units is an empty list", "a list of units"},
      {"units: {name: a, nodes: n1}\n", "f.yaml:1:8", "units is a map", "a list of units"},
      {"units: [n1]\n", "f.yaml:1:9", R"(units[0] is "n1")", "a map with the keys name, nodes, leaves"},
      {"units:\n  -\n", "f.yaml:1:1", "units[0] is nothing", "a map with the keys"},
      {"units:\n  - {nodes: n1}\n", "f.yaml:2:5", R"(units[0] has no key "name")", "name"},
      {"units:\n  - {name: a}\n", "f.yaml:2:5", R"(units[0] has no key "nodes")", "nodes"},
      {"units:\n  - {name: a b, nodes: n1}\n", "f.yaml:2:12", R"(units[0].name is "a b")", "a name of letters"},
      {"units:\n  - {name: , nodes: n1}\n", "f.yaml:2:6", "units[0].name is nothing", "a name of letters"},
      {"units:\n  - {name: a, nodes: }\n", "f.yaml:2:15", "units[0].nodes is nothing", "a host list"},
      {"units:\n  - {name: a, nodes: 'n[3-1]'}\n", "f.yaml:2:22",
       R"(units[0].nodes:column 3: the range "3-1" runs backwards)", "lower number first"},
      {"units:\n  - {name: a, nodes: 'n[1-9999999999]'}\n", "f.yaml:2:22",
       "units[0].nodes:column 1: the list reaches more than 1000000 hosts", "at most"},
      {"units:\n  - {name: a, nodes: 'n[1-600000]'}\n  - {name: b, nodes: 'm[1-600000]'}\n", "f.yaml:3:22",
       "the fabric reaches more than 1000000 nodes", ""},
      {"units:\n  - {name: a, nodes: n1}\n  - {name: a, nodes: n2}\n", "f.yaml:3:12", "there are two units a",
       "a name of its own"},
      {"units:\n  - {name: a, nodes: 'n[1-4]'}\n  - {name: b, nodes: 'n[4-8]'}\n", "f.yaml:3:22",
       "node n4 is in unit a and in unit b", "each node in one unit"},
      {"rails: 2\nunits:\n  - {name: a, nodes: n1, leaves: 'l[0-2]'}\n", "f.yaml:3:34",
       "units[0].leaves names 3 leaves for rails: 2", "a leaf for each rail"},
      {"units:\n  - {name: a, nodes: n1, leaves: 'l[0-7]'}\n", "f.yaml:2:34",
       "units[0].leaves names 8 leaves for rails: 1", "a leaf for each rail"},
      {"rails: 2\nunits:\n  - {name: a, nodes: n1, leaves: 'l0,l0'}\n", "f.yaml:3:34", "leaf l0 is listed twice",
       "each leaf once"},
      {"units:\n  - {name: a, nodes: n1, leaves: l0}\n  - {name: b, nodes: n2, leaves: l0}\n", "f.yaml:3:34",
       "leaf l0 serves unit a and unit b", "each leaf once"},
      {"units:\n  - {name: a, nodes: n1, leaves: n1}\n", "f.yaml:2:34", "n1 is a node and a leaf", "name of its own"},
      {"units:\n  - {name: a, nodes: n1, leaves: n2}\n  - {name: b, nodes: n2}\n", "f.yaml:3:22",
       "n2 is a leaf and a node", "name of its own"},
      {"units:\n  - {name: a, nodes: n1, leaves: l0}\nspines: {nodes: l0}\n", "f.yaml:3:17", "l0 is a leaf and a spine",
       "name of its own"},
      {"rails: 2\nunits: [{name: a, nodes: n1}]\nnics: {names: 'mlx5_0,mlx5_0'}\n", "f.yaml:3:15",
       "a NIC is listed twice", "a NIC of its own"},
  };
  for (const auto& c : cases)
    expect_error(c.yaml, c.where, c.what, c.expected);
}

TEST(Fabric, NamesAnUnknownKeyAndTheNearestKnownOne) {
  const std::string units = "units: [{name: a, nodes: n1}]\n";
  const struct {
    std::string yaml, where, what, next_step;
  } cases[] = {
      {units + "gpu_per_node: 8\n", "f.yaml:2:1", R"(unknown key "gpu_per_node")", R"(did you mean "gpus_per_node"?)"},
      {units + "gpu_of_rail: [0]\n", "f.yaml:2:1", R"(unknown key "gpu_of_rail")", ""},
      {units + "Rails: 8\n", "f.yaml:2:1", R"(unknown key "Rails")", R"(did you mean "rails"?)"},
      {units + "link: {typ: roce, speed: 1}\n", "f.yaml:2:8", R"(unknown key "typ" in link)",
       R"(did you mean "type"?)"},
      {"units: [{name: a, node: n1}]\n", "f.yaml:1:19", R"(unknown key "node" in units[0])",
       R"(did you mean "nodes"?)"},
      {units + "spines: {nodes: s1, links_per_leave: 4}\n", "f.yaml:2:21", R"(unknown key "links_per_leave" in spines)",
       R"(did you mean "links_per_leaf"?)"},
      {units + "expect: {allreduce: {busbw_gbps: 1}}\n", "f.yaml:2:10", R"(unknown key "allreduce" in expect)",
       R"(did you mean "all_reduce"?)"},
      {units + "expect: {all_reduce: {busbw: 1}}\n", "f.yaml:2:23", R"(unknown key "busbw" in expect.all_reduce)", ""},
      {units + "expect: {all_reduce: {busbw_gbs: 1}}\n", "f.yaml:2:23",
       R"(unknown key "busbw_gbs" in expect.all_reduce)", R"(did you mean "busbw_gbps"?)"},
      {units + "? [a]\n: b\n", "f.yaml:2:3", "unknown key a list", ""},
      {units + "~: b\n", "f.yaml:2:1", "unknown key nothing", ""},
      {units + "<<: {rails: 8}\n", "f.yaml:2:1", R"(unknown key "<<")", ""},
      {units + "\"\\e[31m\": b\n", "f.yaml:2:1", R"(unknown key "\x1b[31m")", ""},
  };
  for (const auto& c : cases) {
    const ErrorDetail error = error_of(c.yaml);
    EXPECT_EQ(error.where, c.where) << c.yaml;
    EXPECT_EQ(error.what, c.what);
    EXPECT_THAT(error.expected, StartsWith("one of "));
    EXPECT_EQ(error.next_step, c.next_step);
  }
}

TEST(Fabric, RefusesAKeyWrittenTwice) {
  expect_error("rails: 8\nunits: [{name: a, nodes: n1}]\nrails: 4\n", "f.yaml:3:1",
               R"(the key "rails" is written twice)", "each key once");
  expect_error("units: [{name: a, nodes: n1, nodes: n2}]\n", "f.yaml:1:30", R"(the key "nodes" is written twice)",
               "each key once");
}

TEST(Fabric, RefusesWhatIsNoYamlOrNoMap) {
  const struct {
    std::string yaml, where, what;
  } cases[] = {
      {"", "f.yaml", "declares nothing"},
      {"# only a comment\n", "f.yaml", "declares nothing"},
      {"---\n", "f.yaml", "declares nothing"},
      {"just words\n", "f.yaml:1:1", R"(the document is "just words")"},
      {"- a\n- b\n", "f.yaml:1:1", "the document is a list"},
      {"units: [{name: a\n", "f.yaml:2:1", "not valid YAML"},
      {"units:\n\t- a\n", "f.yaml:2:2", "not valid YAML"},
      {"rails: 8: 4\n", "f.yaml:1:9", "not valid YAML"},
      {"fabric: *nowhere\n", "f.yaml:1:9", "not valid YAML"},
      {"units:\n  - {name: a, nodes: gpu[001-032]}\n", "f.yaml:2:25", "not valid YAML"},
      {"units: [{name: a, nodes: n1}]\n---\nrails: 2\n", "f.yaml:2:1", "a second YAML document"},
      {"{units: [{name: a, nodes: n1}]}\nrails: 2\n", "f.yaml:2:1", "a second YAML document"},
      {",!x: y\n", "f.yaml:1:1", "a second YAML document"},  // yaml-cpp finds empty documents without end here
      {"units: " + std::string(10'000, '['), "f.yaml:1:", "nested too deeply"},
      {std::string("\x7f"
                   "ELF\x02\x01\x01\0\0\0\xff",
                   11),
       "f.yaml", ""},
  };
  for (const auto& c : cases) {
    const ErrorDetail error = error_of(c.yaml);
    EXPECT_THAT(error.where, StartsWith(c.where)) << c.yaml;
    EXPECT_THAT(error.what, HasSubstr(c.what)) << c.yaml;
  }
}

TEST(Fabric, TellsToQuoteAHostListInsideBraces) {
  EXPECT_THAT(error_of("units:\n  - {name: a, nodes: gpu[001-032]}\n").next_step, HasSubstr("quoted inside { }"));
}

TEST(Fabric, IsNotBlownUpByAliasesOrDepth) {
  std::string laughs = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string previous = std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + previous + ", *a" + previous + "]\n";
  }
  const std::string in_units = "rails: &r 1\nunits: &u [{name: a, nodes: &n 'n[1-900000]'}, {name: b, nodes: *n}]\n";
  const std::string deep = "units: " + std::string(100'000, '[');
  const std::string deep_maps = "units: " + std::string(100'000, '{');
  for (const std::string& yaml : {laughs, in_units, deep, deep_maps}) {
    error_of(yaml);
  }
}

TEST(Fabric, RefusesWhatIsNoReadableFile) {
  const struct {
    std::string path, what;
  } cases[] = {
      {::testing::TempDir() + "weft-no-such-fabric.yaml", "No such file"},
      {::testing::TempDir(), "is a directory"},
      {"/dev/zero", "goes on past 4 MiB"},
      {"/dev/null", "declares nothing"},
  };
  for (const auto& c : cases) {
    try {
      load_fabric(c.path);
      ADD_FAILURE() << "accepted: " << c.path;
    } catch (const InputError& error) {
      EXPECT_EQ(error.detail().where, c.path);
      EXPECT_THAT(error.detail().what, HasSubstr(c.what));
    }
  }
}

TEST(Fabric, EveryExampleLoads) {
  int loaded = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/examples")) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("fabric") || entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(name);
    const Fabric fabric = load_fabric(entry.path().string());
    EXPECT_GT(fabric.node_count(), 0U);
    ++loaded;
  }
  EXPECT_GE(loaded, 2);
}

TEST(Fabric, TheExampleOfTheDocumentationLoads) {
  std::ifstream page(WEFT_SOURCE_DIR "/docs/fabric.md");
  ASSERT_TRUE(page);
  std::string yaml;
  bool is_inside = false;
  for (std::string line; std::getline(page, line);) {
    if (is_inside && line == "```") break;
    if (is_inside) yaml += line + "\n";
    if (line == "```yaml") is_inside = true;
  }
  const Fabric fabric = parse_fabric(yaml, "docs/fabric.md");
  EXPECT_EQ(fabric.node_count(), 64U);
}

TEST(Fabric, WithoutAFileEveryNodeIsInUnitAll) {
  const Fabric fabric = undeclared_fabric({"b", "a", "b"}, 8);
  EXPECT_FALSE(fabric.declared());
  EXPECT_EQ(fabric.rails, 1);
  EXPECT_EQ(fabric.gpus_per_node, 8);
  ASSERT_EQ(fabric.units.size(), 1U);
  EXPECT_EQ(fabric.units[0].name, "all");
  EXPECT_EQ(fabric.units[0].nodes, (Hosts{"b", "a"}));
  EXPECT_EQ(fabric.unit_of("a"), 0U);
  EXPECT_EQ(fabric.node_count(), 2U);
}

TEST(Fabric, KnowsItsHosts) {
  const Fabric fabric = parse_fabric(kWholeFabric, "f.yaml");
  EXPECT_NO_THROW(require_hosts_in_fabric(fabric, {"gpu001", "gpu064"}));
  EXPECT_NO_THROW(require_hosts_in_fabric(fabric, {}));
  EXPECT_NO_THROW(require_hosts_in_fabric(undeclared_fabric({"a"}), {"b"}));
}

TEST(Fabric, NamesHostsItDoesNotKnowWithTheNearestItKnows) {
  const Fabric fabric = parse_fabric(kWholeFabric, "f.yaml");
  const struct {
    Hosts hosts;
    std::string message;
  } cases[] = {
      {{"gpu001", "gpu07"},
       "f.yaml: not in this fabric: gpu07 (nearest: gpu007); expected hosts of its units; correct the names, or add "
       "them to a unit"},
      {{"GPU001", "storage1", "storage1"}, "f.yaml: not in this fabric: GPU001 (nearest: gpu001), storage1;"},
      {{"gpu064.example.net"}, "f.yaml: not in this fabric: gpu064.example.net;"},
      {expand_hostlist("x[01-10]"), "f.yaml: not in this fabric: x01, x02, x03, x04, x05, x06, x07, x08, x09, x10;"},
      {expand_hostlist("x[01-12]"),
       "f.yaml: not in this fabric: x01, x02, x03, x04, x05, x06, x07, x08, x09, x10 and 2 more;"},
  };
  for (const auto& c : cases) {
    try {
      require_hosts_in_fabric(fabric, c.hosts);
      ADD_FAILURE() << "accepted: " << fold_hostlist(c.hosts);
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), StartsWith(c.message));
    }
  }
}

}  // namespace
}  // namespace weft::topology
