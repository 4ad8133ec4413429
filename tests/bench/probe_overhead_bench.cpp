// What a probe over 8 local agents costs beyond its iterations: start of the ranks, rendezvous, connection, check, end.
// Must stay under 0.1 s in the median. The iterations' time is emulated (20 ms each), so that it is known.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <numeric>
#include <vector>

#include <benchmark/benchmark.h>

#include "launch/agent_prober.h"
#include "launch/local_launcher.h"

namespace {

using weft::probes::Group;
using weft::probes::Measurement;
using weft::probes::ProbeSpec;

constexpr int kNodes = 8;
constexpr double kIteration_s = 0.02;

void probe_overhead(benchmark::State& state) {
  const auto hosts = weft::launch::local_node_names(kNodes);
  ProbeSpec spec;
  spec.bytes = 64 << 10;
  spec.iterations = 5;
  spec.warm_up_iterations = 1;
  const double bytes_per_rank = static_cast<double>(spec.bytes) * weft::probes::bus_factor(spec.op, kNodes);
  weft::launch::GlooProberOptions options;
  for (const auto& host : hosts)
    options.faults[host].rate_bytes_per_s = bytes_per_rank / kIteration_s;
  weft::launch::GlooProber prober(std::make_unique<weft::launch::LocalLauncher>(WEFT_BINARY_DIR "/weft"), options);
  const std::vector<Group> groups{{hosts, {}}};
  const std::atomic<bool> never{false};
  const auto measure = [&] { return prober.measure(groups, spec, never, {})[0]; };
  measure();  // starts the agents

  std::vector<double> overheads_s;
  for (auto _ : state) {
    const Measurement m = measure();
    if (m.status != weft::probes::Status::ok) return state.SkipWithError(m.reason.c_str());
    const double timed_s = std::accumulate(m.iteration_s.begin(), m.iteration_s.end(), 0.0);
    const double overhead_s = m.wall_s - timed_s - spec.warm_up_iterations * m.time_s;
    overheads_s.push_back(overhead_s);
    state.SetIterationTime(overhead_s);
  }
  state.counters["median_s"] = weft::probes::median_of(overheads_s);
  state.counters["p95_s"] = weft::probes::quantile_of(overheads_s, 0.95);
}

BENCHMARK(probe_overhead)->Iterations(40)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
