#include "cli/probe_options.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "cli/quantity.h"
#include "launch/agent_prober.h"
#include "launch/injection.h"
#include "launch/local_launcher.h"
#include "probes/collective/exec.h"
#include "probes/collective/sim.h"
#include "probes/collective/sim_faults.h"
#include "topology/error.h"

namespace weft::cli {
namespace {

void refuse_flag(bool given, const std::string& flag, const std::string& probe, const std::string& belongs_to) {
  if (given) throw InputError({flag + " has no meaning with --probe " + probe, flag, belongs_to, ""});
}

/// Where the output of failed commands is kept: beside the default history database.
std::filesystem::path log_directory() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state != '\0') return std::filesystem::path(state) / "weft" / "logs";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return std::filesystem::path(home) / ".local/state/weft/logs";
  return {};
}

std::unique_ptr<probes::Prober> exec_prober(const ProbeOptions& options, const probes::ProbeSpec& spec) {
  if (options.command.empty()) {
    throw InputError({"--probe exec needs a command", "--command",
                      "a template such as 'mpirun -np {np} -H {hosts} all_reduce_perf -b {bytes} -e {bytes}'", ""});
  }
  using probes::CommandTemplate;
  std::optional<CommandTemplate> rail_command;
  if (!options.rail_command.empty()) {
    rail_command.emplace(options.rail_command, CommandTemplate::Use::rail, "--rail-command");
  }
  probes::ExecOptions exec{.command = CommandTemplate(options.command, CommandTemplate::Use::nodes),
                           .rail_command = std::move(rail_command),
                           .max_concurrency = options.max_concurrency,
                           .gpus_per_node = spec.gpus_per_node,
                           .log_directory = log_directory()};
  return std::make_unique<probes::ExecProber>(std::move(exec));
}

ChosenProber sim_prober(const ProbeOptions& options, const Nodes& nodes, int rounds_done) {
  probes::SimScenario scenario;
  if (!options.faults_file.empty()) scenario = probes::load_sim_faults(options.faults_file, nodes.fabric);
  scenario.noise.seed = options.seed;
  auto prober = std::make_unique<probes::SimProber>(nodes.fabric, std::move(scenario.faults), scenario.noise);
  prober->start_after_round(rounds_done);
  return {std::move(prober), {}, "", probes::Scaling::flat_ring};
}

ChosenProber gloo_prober(const ProbeOptions& options, const Nodes& nodes, const probes::ProbeSpec& spec) {
  if (options.launcher.empty() && !nodes.on_this_machine) {
    throw InputError({"these nodes are other machines, and --probe gloo only reaches processes on this one",
                      "--launcher",
                      "--probe exec with your own command, or --launcher local to play the nodes on this machine", ""});
  }
  std::vector<launch::Injection> injections;
  ChosenProber chosen;
  for (const std::string& text : options.inject) {
    injections.push_back(launch::parse_injection(text));
    chosen.injected.push_back(injections.back().text);
  }
  launch::GlooProberOptions gloo;
  gloo.gpus_per_node = spec.gpus_per_node;
  const auto faults = launch::faults_by_node(injections, nodes.hosts);
  gloo.faults = faults;
  chosen.prober = std::make_unique<launch::GlooProber>(std::make_unique<launch::LocalLauncher>(), std::move(gloo));
  chosen.launcher = "local";
  // Processes on one machine share its cores, and more of them are slower without any fault; emulated links bound them.
  const bool links_bound = std::all_of(nodes.hosts.begin(), nodes.hosts.end(), [&](const std::string& host) {
    const auto found = faults.find(host);
    return found != faults.end() && found->second.rate_bytes_per_s > 0;
  });
  chosen.scaling = links_bound ? chosen.prober->scaling() : probes::Scaling::none;
  return chosen;
}

}  // namespace

void ProbeOptions::add_to(CLI::App& app) {
  app.add_option("--probe", probe, "What measures: gloo, exec (the site's own command) or sim (a simulated fabric)")
      ->check(CLI::IsMember({"gloo", "exec", "sim"}))
      ->capture_default_str();
  app.add_option("--launcher", launcher,
                 "How nodes are reached: local plays them all on this machine (default with --nodes)")
      ->check(CLI::IsMember({"local"}));
  app.add_option("--op", op, "Collective")
      ->check(CLI::IsMember({"all_reduce", "all_gather", "reduce_scatter", "broadcast", "sendrecv"}))
      ->capture_default_str();
  app.add_option("--bytes", bytes, "Size of the collective, as nccl-tests count it")
      ->type_name("SIZE")
      ->capture_default_str();
  app.add_option("--iterations", iterations, "Timed iterations of a probe")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--warm-up", warm_up, "Iterations before them")->check(CLI::Range(0, 100000))->capture_default_str();
  app.add_option("--gpus-per-node", gpus_per_node, "Ranks of a node (default: the fabric file's, or 1)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--timeout", timeout, "Time limit of one probe")->type_name("DURATION")->capture_default_str();
  app.add_option("--command", command, "exec: the command of a probe, with {hosts}, {np}, {bytes}, … (docs/probes.md)")
      ->type_name("TEMPLATE");
  app.add_option("--rail-command", rail_command, "exec: the same for one rail, with {rail}")->type_name("TEMPLATE");
  app.add_option("--max-concurrency", max_concurrency, "exec: commands at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--inject", inject, "gloo: a fault on purpose, as 'node5:delay=30%' (docs/probes.md)")
      ->type_name("FAULT");
  app.add_option("--faults", faults_file, "sim: file of what is wrong with the simulated fabric")->type_name("FILE");
  app.add_option("--seed", seed, "sim: seed of the noise")->capture_default_str();
}

probes::ProbeSpec spec_from(const ProbeOptions& options, const topology::Fabric& fabric) {
  probes::ProbeSpec spec;
  spec.op = *probes::op_from_string(options.op);
  spec.bytes = parse_bytes("--bytes", options.bytes);
  spec.iterations = options.iterations;
  spec.warm_up_iterations = options.warm_up;
  spec.gpus_per_node = options.gpus_per_node > 0 ? options.gpus_per_node : fabric.gpus_per_node;
  const double timeout_s = parse_duration_s("--timeout", options.timeout);
  probes::StageTimeouts& limits = spec.timeouts;
  for (double* stage_s : {&limits.start_s, &limits.rendezvous_s, &limits.init_s, &limits.warm_up_s}) {
    *stage_s = std::min(*stage_s, timeout_s);
  }
  limits.run_s = timeout_s;
  return spec;
}

ChosenProber choose_prober(const ProbeOptions& options, const Nodes& nodes, const probes::ProbeSpec& spec,
                           int rounds_done) {
  const std::string& probe = options.probe;
  if (probe != "exec") {
    refuse_flag(!options.command.empty(), "--command", probe, "--probe exec");
    refuse_flag(!options.rail_command.empty(), "--rail-command", probe, "--probe exec");
  }
  if (probe != "sim") refuse_flag(!options.faults_file.empty(), "--faults", probe, "--probe sim");
  if (probe != "gloo") refuse_flag(!options.inject.empty(), "--inject", probe, "--probe gloo");
  if (probe == "exec") return {exec_prober(options, spec), {}, "", probes::Scaling::unknown};
  if (probe == "sim") return sim_prober(options, nodes, rounds_done);
  return gloo_prober(options, nodes, spec);
}

}  // namespace weft::cli
