#include "cli/expect.h"

#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_status.h"
#include "cli/node_options.h"
#include "topology/bandwidth_model.h"
#include "topology/hostlist.h"

namespace weft::cli {
namespace {

using topology::BandwidthModel;
using topology::CollectiveAlgorithm;

struct ExpectOptions {
  NodeOptions nodes;
  std::optional<double> nvlink_busbw_gbps;
  bool json = false;
};

nlohmann::ordered_json json_of(const BandwidthModel& model) {
  nlohmann::ordered_json bounds = nlohmann::ordered_json::array();
  for (const auto& bound : model.bounds) {
    bounds.push_back({{"stage", to_string(bound.stage)}, {"busbw_gbps", bound.busbw_gbps}, {"formula", bound.formula}});
  }
  return {{"busbw_gbps", model.limit().busbw_gbps}, {"limited_by", to_string(model.limit().stage)}, {"bounds", bounds}};
}

void print_json(const Nodes& nodes, const BandwidthModel& ring, const BandwidthModel& hierarchical) {
  nlohmann::ordered_json document;
  document["schema"] = "weft.expect/1";
  document["nodes"] = nodes.hosts.size();
  document["gpus_per_node"] = nodes.fabric.gpus_per_node;
  document["units"] = std::max(1, ring.crossings);
  document["oversubscription"] = ring.oversubscription ? nlohmann::ordered_json(*ring.oversubscription) : nullptr;
  document["flat_ring"] = json_of(ring);
  document["hierarchical"] = json_of(hierarchical);
  std::cout << document.dump(2) << '\n';
}

void print_text(const Nodes& nodes, const BandwidthModel& ring, const BandwidthModel& hierarchical) {
  std::cout << fmt::format("all_reduce over {} nodes with {} GPUs each ({})\n\n", nodes.hosts.size(),
                           nodes.fabric.gpus_per_node, topology::fold_hostlist(nodes.hosts));
  for (const auto& [algorithm, model] :
       {std::pair{CollectiveAlgorithm::flat_ring, &ring}, {CollectiveAlgorithm::hierarchical, &hierarchical}}) {
    std::cout << fmt::format("  {:<13} at most {:.4g} GB/s bus bandwidth, limited by the {}\n", to_string(algorithm),
                             model->limit().busbw_gbps, to_string(model->limit().stage));
    for (const auto& bound : model->bounds) {
      std::cout << fmt::format("      {:<8}{:>8.4g} GB/s  {}\n", to_string(bound.stage), bound.busbw_gbps,
                               bound.formula);
    }
  }
  if (ring.crossings > 0)
    std::cout << fmt::format("\nA ring over these nodes crosses between {} units once each way.\n", ring.crossings);
  if (ring.oversubscription) {
    std::cout << fmt::format("Each uplink of a leaf serves {:.3g} of these nodes; one ring a rail needs one uplink.\n",
                             *ring.oversubscription);
  }
  std::cout << "\nThese are bounds of the wires: nccl-tests reach 90 to 97 % of them (docs/expect.md). Compare equal "
               "numbers of nodes only.\n";
}

int run_expect(const ExpectOptions& options) {
  const Nodes nodes = choose_nodes(options.nodes, 1);
  const BandwidthModel ring =
      model_all_reduce(nodes.fabric, nodes.hosts, CollectiveAlgorithm::flat_ring, options.nvlink_busbw_gbps);
  const BandwidthModel hierarchical =
      model_all_reduce(nodes.fabric, nodes.hosts, CollectiveAlgorithm::hierarchical, options.nvlink_busbw_gbps);
  options.json ? print_json(nodes, ring, hierarchical) : print_text(nodes, ring, hierarchical);
  return kNothingWrong;
}

}  // namespace

void add_expect_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ExpectOptions>();
  CLI::App* command =
      app.add_subcommand("expect", "The all-reduce bus bandwidth that these nodes should reach, and what limits it");
  options->nodes.add_to(*command);
  command
      ->add_option("--nvlink-gbps", options->nvlink_busbw_gbps,
                   "Bus bandwidth inside one node, GB/s (docs/expect.md lists some)")
      ->type_name("GBPS")
      ->check(CLI::Range(1e-3, 1e6));
  command->add_flag("--json", options->json, "One JSON document on stdout and nothing else there");
  command->footer("Example:\n  weft expect --fabric fabric.yaml --hosts 'gpu[001-004]' --nvlink-gbps 480");
  command->callback([options, &exit_status] { exit_status = run_expect(*options); });
}

}  // namespace weft::cli
