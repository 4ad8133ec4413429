#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "topology/fabric.h"

namespace weft::cli {

/// The flags that say which nodes and which fabric, the same for every command.
struct NodeOptions {
  std::string hosts;
  std::string hostfile;
  std::string exclude;
  int local_nodes = 0;  ///< --nodes: so many processes on this machine
  std::string fabric_file;

  void add_to(CLI::App& command);
};

struct Nodes {
  topology::Fabric fabric;
  std::string fabric_text;  ///< of the file, empty without one
  std::vector<std::string> hosts;
  bool on_this_machine = false;  ///< --nodes: names that mean nothing elsewhere
};

/// The nodes that the flags name, all of them in the fabric. Without hosts, those of the fabric file. Throws
/// InputError.
Nodes choose_nodes(const NodeOptions& options, int gpus_per_node);

}  // namespace weft::cli
