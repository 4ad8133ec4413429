#include "cli/expect.h"

#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_status.h"
#include "cli/node_options.h"
#include "cli/quantity.h"
#include "topology/bandwidth_model.h"
#include "topology/hostlist.h"
#include "topology/platform.h"

namespace weft::cli {
namespace {

using topology::BandwidthBound;
using topology::BandwidthModel;
using topology::CollectiveAlgorithm;

struct ExpectOptions {
  NodeOptions nodes;
  int gpus_per_node = 0;  ///< 0: the fabric file's
  std::optional<double> nvlink_busbw_gbps;
  std::string platform;
  bool json = false;
};

/// Both ways of moving the data, of the same nodes.
struct Models {
  BandwidthModel ring;
  BandwidthModel hierarchical;
};

nlohmann::ordered_json json_of(const BandwidthModel& model) {
  nlohmann::ordered_json bounds = nlohmann::ordered_json::array();
  for (const BandwidthBound& bound : model.bounds) {
    bounds.push_back({{"stage", to_string(bound.stage)}, {"busbw_gbps", bound.busbw_gbps}, {"formula", bound.formula}});
  }
  nlohmann::ordered_json worst_order = nullptr;
  if (model.crossing) worst_order = model.crossing->worst_order_busbw_gbps;
  return {{"busbw_gbps", model.limit().busbw_gbps},
          {"limited_by", to_string(model.limit().stage)},
          {"worst_order_busbw_gbps", worst_order},
          {"bounds", bounds}};
}

void print_json(const Nodes& nodes, const Models& models) {
  nlohmann::ordered_json document;
  document["schema"] = "weft.expect/1";
  document["nodes"] = nodes.hosts.size();
  document["gpus_per_node"] = nodes.fabric.gpus_per_node;
  document["units"] = models.ring.units;
  document["oversubscription"] = nullptr;
  if (models.ring.crossing) document["oversubscription"] = models.ring.crossing->oversubscription;
  document["flat_ring"] = json_of(models.ring);
  document["hierarchical"] = json_of(models.hierarchical);
  std::cout << document.dump(2) << '\n';
}

/// Four digits, and no powers of ten where nothing limits.
std::string rounded(double gbps) {
  return gbps < 1000 ? fmt::format("{:.4g}", gbps) : fmt::format("{:.0f}", gbps);
}

void print_model(CollectiveAlgorithm algorithm, const BandwidthModel& model) {
  std::cout << fmt::format("  {:<13} at most {} GB/s bus bandwidth, limited by {}\n", to_string(algorithm),
                           rounded(model.limit().busbw_gbps), to_string(model.limit().stage));
  for (const BandwidthBound& bound : model.bounds) {
    std::cout << fmt::format("      {:<8}{:>6} GB/s  {}\n", to_string(bound.stage), rounded(bound.busbw_gbps),
                             bound.formula);
  }
}

void print_crossing(const BandwidthModel& ring) {
  if (ring.units < 2) return;
  std::cout << fmt::format("\nThe nodes are in {} units. With ranks in unit order a ring leaves each of them once.\n",
                           ring.units);
  if (!ring.crossing) {
    std::cout << "The fabric file does not say how many uplinks a leaf has (spines: links_per_leaf).\n";
    return;
  }
  std::cout << fmt::format(
      "Oversubscription {:.3g} (rails of these nodes to an uplink of their leaf): in the worst order of ranks, a flat "
      "ring is left with {} GB/s.\n",
      ring.crossing->oversubscription, rounded(ring.crossing->worst_order_busbw_gbps));
}

void print_text(const Nodes& nodes, const Models& models) {
  std::cout << fmt::format("all_reduce over {} node{} with {} GPUs each ({})\n\n", nodes.hosts.size(),
                           nodes.hosts.size() == 1 ? "" : "s", nodes.fabric.gpus_per_node,
                           topology::fold_hostlist(nodes.hosts));
  print_model(CollectiveAlgorithm::flat_ring, models.ring);
  print_model(CollectiveAlgorithm::hierarchical, models.hierarchical);
  print_crossing(models.ring);
  std::cout << "\nThese are bounds of the wires, which a healthy fabric stays a little below (docs/expect.md). Compare "
               "equal numbers of nodes only.\n";
}

std::optional<double> inside_a_node_gbps(const ExpectOptions& options) {
  if (options.nvlink_busbw_gbps) return require_bandwidth("--nvlink-gbps", *options.nvlink_busbw_gbps);
  if (options.platform.empty()) return std::nullopt;
  return topology::platform_named(options.platform, "--platform").inside_node_gbps();
}

int run_expect(const ExpectOptions& options) {
  const std::optional<double> nvlink_gbps = inside_a_node_gbps(options);
  Nodes nodes = choose_nodes(options.nodes, 1);
  if (options.gpus_per_node > 0) nodes.fabric.gpus_per_node = options.gpus_per_node;
  const auto model = [&](CollectiveAlgorithm algorithm) {
    return model_all_reduce(nodes.fabric, nodes.hosts, algorithm, nvlink_gbps);
  };
  const Models models{model(CollectiveAlgorithm::flat_ring), model(CollectiveAlgorithm::hierarchical)};
  options.json ? print_json(nodes, models) : print_text(nodes, models);
  return kNothingWrong;
}

}  // namespace

void add_expect_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ExpectOptions>();
  CLI::App* command =
      app.add_subcommand("expect", "The all-reduce bus bandwidth that these nodes should reach, and what limits it");
  options->nodes.add_to(*command);
  command->add_option("--gpus-per-node", options->gpus_per_node, "GPUs that take part in each node (the fabric file's)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  CLI::Option* nvlink =
      command->add_option("--nvlink-gbps", options->nvlink_busbw_gbps, "Bus bandwidth inside one node, GB/s")
          ->type_name("GBPS")
          ->check(CLI::Range(1e-3, 1e6));
  command
      ->add_option("--platform", options->platform,
                   "Bus bandwidth inside one node as published for a100, h100, h200 or b200 (docs/expect.md)")
      ->type_name("NAME")
      ->excludes(nvlink);
  command->add_flag("--json", options->json, "One JSON document on stdout and nothing else there");
  command->footer("Example:\n  weft expect --fabric fabric.yaml --hosts 'gpu[001-004]' --platform h100");
  command->callback([options, &exit_status] { exit_status = run_expect(*options); });
}

}  // namespace weft::cli
