#include "cli/node_options.h"

#include <fstream>
#include <sstream>

#include "topology/error.h"
#include "topology/hostlist.h"

namespace weft::cli {
namespace {

constexpr int kMostLocalNodes = 4096;

std::vector<std::string> named_hosts(const NodeOptions& options, const topology::Fabric& fabric) {
  const int given = !options.hosts.empty() + !options.hostfile.empty() + (options.local_nodes > 0);
  if (given > 1) {
    throw InputError({"nodes are named twice", "command line", "one of --hosts, --hostfile and --nodes", ""});
  }
  if (!options.hosts.empty()) return topology::expand_hostlist(options.hosts, "--hosts");
  if (!options.hostfile.empty()) return topology::read_hostfile(options.hostfile);
  if (options.local_nodes > 0) {
    std::vector<std::string> hosts;
    for (int i = 1; i <= options.local_nodes; ++i)
      hosts.push_back("node" + std::to_string(i));
    return hosts;
  }
  std::vector<std::string> hosts;
  for (const topology::Unit& unit : fabric.units)
    hosts.insert(hosts.end(), unit.nodes.begin(), unit.nodes.end());
  return hosts;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

void NodeOptions::add_to(CLI::App& command) {
  command.add_option("--hosts", hosts, "Nodes, as gpu[001-064,070]")->type_name("HOSTLIST");
  command.add_option("--hostfile", hostfile, "File with a host list in each line; - reads standard input")
      ->type_name("FILE");
  command.add_option("--exclude", exclude, "Nodes to leave out")->type_name("HOSTLIST");
  command.add_option("--nodes", local_nodes, "So many nodes on this machine, named node1, node2, …")
      ->type_name("N")
      ->check(CLI::Range(1, kMostLocalNodes));
  command.add_option("--fabric", fabric_file, "The declared fabric (docs/fabric.md)")->type_name("FILE");
}

Nodes choose_nodes(const NodeOptions& options, int gpus_per_node) {
  Nodes nodes;
  if (!options.fabric_file.empty()) {
    nodes.fabric = topology::load_fabric(options.fabric_file);
    nodes.fabric_text = text_of(options.fabric_file);
  }
  nodes.hosts = named_hosts(options, nodes.fabric);
  nodes.on_this_machine = options.local_nodes > 0;
  if (nodes.hosts.empty()) {
    throw InputError({"no nodes are named", "command line", "--hosts, --hostfile, --fabric or --nodes", ""});
  }
  if (!options.exclude.empty()) {
    nodes.hosts = topology::exclude_hosts(nodes.hosts, topology::expand_hostlist(options.exclude, "--exclude"));
    if (nodes.hosts.empty()) throw InputError({"every node is excluded", "--exclude", "at least one node left", ""});
  }
  if (nodes.fabric.declared()) {
    topology::require_hosts_in_fabric(nodes.fabric, nodes.hosts);
  } else {
    nodes.fabric = topology::undeclared_fabric(nodes.hosts, gpus_per_node);
  }
  return nodes;
}

}  // namespace weft::cli
