#include <string>

#include <benchmark/benchmark.h>

#include "probes/collective/nccl_tests_judgement.h"
#include "probes/collective/nccl_tests_output.h"

namespace {

using weft::probes::judge;
using weft::probes::NcclTestsParser;
using weft::probes::parse_nccl_tests;

std::string repeated(const std::string& block, std::size_t size) {
  std::string text;
  text.reserve(size + block.size());
  while (text.size() < size)
    text += block;
  return text;
}

const std::string kRows =
    "     1048576        262144     float     sum      -1      43.8   23.95   44.90      0      43.9   23.90   44.81   "
    "   0\n"
    "     2097152        524288     float     sum      -1      64.3   32.64   61.20      0      64.4   32.57   61.08   "
    "   0\n";
const std::string kLabelled =
    "[1,0]<stdout>:     1048576        262144     float     sum      -1      43.8   23.95   44.90      0      43.9   "
    "23.90   44.81      0\n";
const std::string kForeign =
    "node001:22:28 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] via P2P/CUMEM/read\n"
    "[node001:123] mca: base: components_register: found loaded component tcp\n";

/// Whole text at once.
void parse(benchmark::State& state, const std::string& block) {
  const std::string text = repeated(block, std::size_t{8} << 20);
  for (auto _ : state)
    benchmark::DoNotOptimize(parse_nccl_tests(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK_CAPTURE(parse, rows, kRows);
BENCHMARK_CAPTURE(parse, labelled_rows, kLabelled);
BENCHMARK_CAPTURE(parse, foreign_lines, kForeign);
BENCHMARK_CAPTURE(parse, mixed, kForeign + kForeign + kRows);

/// As it comes out of a pipe.
void parse_in_pieces(benchmark::State& state) {
  constexpr std::size_t kPipe = std::size_t{64} << 10;
  const std::string text = repeated(kForeign + kRows, std::size_t{8} << 20);
  for (auto _ : state) {
    NcclTestsParser parser;
    for (std::size_t at = 0; at < text.size(); at += kPipe)
      parser.feed(std::string_view(text).substr(at, kPipe));
    benchmark::DoNotOptimize(parser.finish());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(parse_in_pieces);

void judge_a_long_log(benchmark::State& state) {
  const auto output = parse_nccl_tests(repeated(kRows, std::size_t{8} << 20));
  for (auto _ : state)
    benchmark::DoNotOptimize(judge(output, {.ranks = 16, .hosts = {}, .op = {}}));
}
BENCHMARK(judge_a_long_log)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
