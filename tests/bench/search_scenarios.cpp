// How often the search is exact, and in how many rounds, over random faults of every kind on a noisy simulated fabric.
// search_scenarios [--runs 200] [--nodes 64,256,1024,4096] [--kind KIND] [--seed 0] [--show] [--references]

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tests/bench/reference_strategies.h"
#include "tests/bisect/scenario.h"

namespace {

using namespace weft;
using Kind = probes::SimFault::Kind;

constexpr const char* kKindNames[] = {"node",  "rail",  "leaf", "uplink",  "path",       "pair",
                                      "scale", "crash", "hang", "corrupt", "unreachable"};

struct Options {
  int runs = 200;
  std::vector<std::size_t> nodes = {64, 256, 1024, 4096};
  std::string kind;
  std::uint64_t seed = 0;
  bool show = false;
  bool references = false;
};

/// How often a plain strategy blames exactly the faulty node; it has no words for anything else.
struct ReferenceTally {
  int exact = 0;
  int innocent = 0;  ///< runs in which it blamed a node that is well
  std::vector<int> rounds;
  std::vector<double> node_seconds;
};

struct Tally {
  int exact = 0;
  std::vector<int> rounds;
  std::vector<double> node_seconds;
  double slowest_choice_s = 0;
};

template <typename T>
T median(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run_one(const Options& options, const topology::Fabric& fabric, const std::vector<std::string>& hosts, Kind kind,
             std::uint64_t seed, Tally& tally) {
  std::mt19937_64 random(seed);
  const probes::SimFault fault = bisect::random_fault(kind, fabric, random);
  probes::SimProber prober(fabric, {fault}, {.seed = seed});
  const bisect::SearchRun run = bisect::run_search(fabric, hosts, prober, bisect::options_for(fabric, prober));
  const bool exact = bisect::described(run.verdict) == bisect::described({fault}, fabric);
  tally.exact += exact;
  tally.rounds.push_back(run.rounds);
  tally.node_seconds.push_back(run.node_seconds);
  tally.slowest_choice_s = std::max(tally.slowest_choice_s, run.slowest_choice_s);
  if (exact || !options.show) return;
  fmt::print("  seed {}: {} x {:.3f}, found [{}] in {} rounds\n", seed, bisect::described({fault}, fabric).front(),
             fault.factor, fmt::join(bisect::described(run.verdict), ", "), run.rounds);
}

using Strategy = bench::Attempt (*)(const bench::Bench&);

bool names_a_node(Kind kind) {
  return kind == Kind::node || kind == Kind::crash || kind == Kind::hang || kind == Kind::corrupt ||
         kind == Kind::unreachable;
}

void run_reference(const Options& options, const topology::Fabric& fabric, const std::vector<std::string>& hosts,
                   Kind kind, Strategy strategy, const char* name) {
  ReferenceTally tally;
  for (int i = 0; i < options.runs; ++i) {
    const std::uint64_t seed = (options.seed + static_cast<std::uint64_t>(i)) * 100 + static_cast<std::uint64_t>(kind);
    std::mt19937_64 random(seed);
    const probes::SimFault fault = bisect::random_fault(kind, fabric, random);
    probes::SimProber prober(fabric, {fault}, {.seed = seed});
    const bench::Attempt attempt = strategy({hosts, prober, 0.9 * fabric.link.speed_gbit / 8 * fabric.rails});
    tally.exact += names_a_node(kind) && attempt.blamed == fault.nodes;
    tally.innocent += std::any_of(attempt.blamed.begin(), attempt.blamed.end(), [&](const std::string& node) {
      return std::find(fault.nodes.begin(), fault.nodes.end(), node) == fault.nodes.end();
    });
    tally.rounds.push_back(attempt.rounds);
    tally.node_seconds.push_back(attempt.node_seconds);
  }
  fmt::print("{:>6}  {:<12}{:>8}/{:<5}{:>9}{:>7}{:>15.0f}   {}, an innocent node blamed in {}\n", hosts.size(),
             kKindNames[static_cast<int>(kind)], tally.exact, options.runs, median(tally.rounds),
             *std::max_element(tally.rounds.begin(), tally.rounds.end()), median(tally.node_seconds), name,
             tally.innocent);
}

void run_references(const Options& options, const topology::Fabric& fabric, const std::vector<std::string>& hosts,
                    Kind kind) {
  constexpr std::size_t kLargestPairScan = 256;  // beyond it a scan takes minutes of the simulator's time
  run_reference(options, fabric, hosts, kind, bench::sequential_halving, "sequential halving");
  run_reference(options, fabric, hosts, kind, bench::recursive_parallel_halving, "recursive parallel halving");
  if (hosts.size() <= kLargestPairScan) {
    run_reference(options, fabric, hosts, kind, bench::full_pair_scan, "full pair scan");
  }
}

void run_all(const Options& options) {
  fmt::print("{:>6}  {:<12}{:>14}{:>9}{:>7}{:>15}{:>12}\n", "nodes", "fault", "exact", "rounds", "most", "node-seconds",
             "choice ms");
  for (const std::size_t nodes : options.nodes) {
    const topology::Fabric fabric = bisect::make_fabric(nodes);
    const std::vector<std::string> hosts = bisect::hosts_of(fabric);
    for (int kind = 0; kind < static_cast<int>(std::size(kKindNames)); ++kind) {
      if (!options.kind.empty() && options.kind != kKindNames[kind]) continue;
      Tally tally;
      for (int i = 0; i < options.runs; ++i) {
        const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
        run_one(options, fabric, hosts, static_cast<Kind>(kind), seed * 100 + static_cast<std::uint64_t>(kind), tally);
      }
      fmt::print("{:>6}  {:<12}{:>8}/{:<5}{:>9}{:>7}{:>15.0f}{:>12.1f}\n", nodes, kKindNames[kind], tally.exact,
                 options.runs, median(tally.rounds), *std::max_element(tally.rounds.begin(), tally.rounds.end()),
                 median(tally.node_seconds), tally.slowest_choice_s * 1e3);
      if (options.references) run_references(options, fabric, hosts, static_cast<Kind>(kind));
    }
  }
}

/// So many of the nodes bad at once, each by a factor of its own.
void run_many_bad(const Options& options, double share) {
  for (const std::size_t nodes : options.nodes) {
    const topology::Fabric fabric = bisect::make_fabric(nodes);
    const std::vector<std::string> hosts = bisect::hosts_of(fabric);
    Tally tally;
    for (int i = 0; i < options.runs; ++i) {
      const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
      std::mt19937_64 random(seed);
      std::vector<std::string> bad = hosts;
      std::shuffle(bad.begin(), bad.end(), random);
      bad.resize(static_cast<std::size_t>(share * static_cast<double>(nodes)));
      std::vector<probes::SimFault> faults;
      for (const std::string& node : bad) {
        probes::SimFault fault;
        fault.nodes = {node};
        fault.factor = std::uniform_real_distribution<double>(0.5, 0.85)(random);
        faults.push_back(fault);
      }
      probes::SimProber prober(fabric, faults, {.seed = seed});
      const bisect::SearchRun run = bisect::run_search(fabric, hosts, prober, bisect::options_for(fabric, prober));
      const auto wanted = bisect::described(faults, fabric);
      const auto found = bisect::described(run.verdict);
      tally.exact += found == wanted;
      tally.rounds.push_back(run.rounds);
      tally.node_seconds.push_back(run.node_seconds);
      tally.slowest_choice_s = std::max(tally.slowest_choice_s, run.slowest_choice_s);
      if (options.show && found != wanted) {
        std::vector<std::string> differ;
        std::set_symmetric_difference(found.begin(), found.end(), wanted.begin(), wanted.end(),
                                      std::back_inserter(differ));
        fmt::print("  seed {}: differs in [{}] after {} rounds\n", seed, fmt::join(differ, ", "), run.rounds);
      }
    }
    fmt::print("{:>6}  {:<12}{:>8}/{:<5}{:>9}{:>7}{:>15.0f}{:>12.1f}\n", nodes,
               fmt::format("{:.0f} % bad", 100 * share), tally.exact, options.runs, median(tally.rounds),
               *std::max_element(tally.rounds.begin(), tally.rounds.end()), median(tally.node_seconds),
               tally.slowest_choice_s * 1e3);
  }
}

void run_healthy(const Options& options, int runs) {
  const topology::Fabric fabric = bisect::make_fabric(options.nodes.front());
  const std::vector<std::string> hosts = bisect::hosts_of(fabric);
  int blamed = 0;
  for (int i = 0; i < runs; ++i) {
    probes::SimProber prober(fabric, {}, {.seed = options.seed + static_cast<std::uint64_t>(i)});
    blamed += !bisect::run_search(fabric, hosts, prober, bisect::options_for(fabric, prober)).verdict.culprits.empty();
  }
  fmt::print("{:>6}  healthy: a culprit named in {} of {} runs\n", options.nodes.front(), blamed, runs);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int healthy_runs = 10000;
  CLI::App app("Accuracy and rounds of the search on a simulated fabric");
  app.add_option("--runs", options.runs);
  app.add_option("--nodes", options.nodes)->delimiter(',');
  app.add_option("--kind", options.kind);
  app.add_option("--seed", options.seed);
  app.add_option("--healthy-runs", healthy_runs);
  app.add_flag("--show", options.show, "List the runs that were not exact");
  app.add_flag("--references", options.references, "Run halving and pair scans on the same scenarios");
  CLI11_PARSE(app, argc, argv);
  run_all(options);
  if (!options.kind.empty() && options.kind != "many") return 0;
  run_many_bad(options, 0.05);
  run_many_bad(options, 1.0 / 3);
  run_healthy(options, healthy_runs);
}
