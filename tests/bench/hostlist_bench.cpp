#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "topology/hostlist.h"

namespace {

using weft::topology::expand_hostlist;
using weft::topology::fold_hostlist;

constexpr std::size_t kHosts = 100'000;

/// A list as a scheduler writes it: a few brackets.
std::string folded_list() {
  return fmt::format("gpu[{:06}-{:06}]", 1, kHosts);
}

/// A list as a script writes it: every name.
std::string written_out_list() {
  std::string list;
  for (std::size_t i = 1; i <= kHosts; ++i)
    list += fmt::format("{}gpu{:06}", i == 1 ? "" : ",", i);
  return list;
}

/// Names that are not in SSO reach, with two numbers each, in the least helpful order: neighbours are far apart.
std::string scattered_list() {
  std::string list;
  for (std::size_t i = 0; i < kHosts; ++i) {
    const std::size_t scattered = i * 7919 % kHosts;
    list +=
        fmt::format("{}rack{}-node{:02}-ib0.cluster.example.net", i == 0 ? "" : ",", scattered / 50, scattered % 50);
  }
  return list;
}

void expand_and_fold(benchmark::State& state, const std::string& list) {
  for (auto _ : state) {
    const std::vector<std::string> hosts = expand_hostlist(list);
    if (hosts.size() != kHosts) state.SkipWithError("hosts were lost");
    std::string folded = fold_hostlist(hosts);
    benchmark::DoNotOptimize(folded);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kHosts));
}

BENCHMARK_CAPTURE(expand_and_fold, folded_list, folded_list())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(expand_and_fold, written_out_list, written_out_list())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(expand_and_fold, scattered_list, scattered_list())->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
