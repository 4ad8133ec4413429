#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/node_options.h"
#include "probes/collective/prober.h"

namespace weft::cli {

/// The flags that say what is measured and how, the same for every command that probes.
struct ProbeOptions {
  std::string probe = "gloo";
  std::string launcher;  ///< empty: local for --nodes
  std::string op = "all_reduce";
  std::string bytes = "64M";
  int iterations = 5;
  int warm_up = 1;
  int gpus_per_node = 0;  ///< 0: the fabric file's, or 1
  std::string timeout = "120s";
  std::string command;
  std::string rail_command;
  int max_concurrency = 16;
  std::vector<std::string> inject;
  std::string faults_file;
  std::uint64_t seed = 1;

  void add_to(CLI::App& app);
};

probes::ProbeSpec spec_from(const ProbeOptions& options, const topology::Fabric& fabric);

/// What measures, and the faults injected on purpose, for every output to show.
struct ChosenProber {
  std::unique_ptr<probes::Prober> prober;
  std::vector<std::string> injected;
  std::string launcher;  ///< empty where the prober needs none
  probes::Scaling scaling = probes::Scaling::unknown;
};

/// Throws InputError for flags that do not go together, RunError when agents cannot be started. `nodes` outlives the
/// prober.
/// `rounds_done`: those of the run that is gone on with.
ChosenProber choose_prober(const ProbeOptions& options, const Nodes& nodes, const probes::ProbeSpec& spec,
                           int rounds_done = 0);

}  // namespace weft::cli
