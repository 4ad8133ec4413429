#include "cli/search_loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "topology/error.h"

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

void SearchLoop::keep(bisect::RoundResult round) {
  search_.record(round.measurements);
  recorder_.round(round);
  rounds_.push_back(std::move(round));
}

void SearchLoop::replay(const std::vector<bisect::RoundResult>& rounds) {
  for (const bisect::RoundResult& earlier : rounds) {
    if (search_.next_round().groups != earlier.round.groups) {
      throw InputError({fmt::format("round {} would ask for other groups now", earlier.round.number), "--resume",
                        "the same flags, fabric and version as then", "begin a new run"});
    }
    keep(earlier);
  }
}

bisect::RunResult SearchLoop::run(bisect::RunInfo info, const Interrupt& interrupt, std::optional<double> budget_s) {
  const Clock::time_point begin = Clock::now();
  bisect::RunResult result;
  result.info = std::move(info);
  double longest_round_s = 0;
  while (!interrupt.requested()) {
    bisect::Round round = search_.next_round();
    if (round.groups.empty()) break;
    if (budget_s && seconds_since(begin) + longest_round_s > *budget_s) {
      result.notes.push_back(
          fmt::format("Stopped before round {}: the budget of {:.0f} s is used up.", round.number, *budget_s));
      break;
    }
    keep(measure(std::move(round), result.info.spec, interrupt, seconds_since(begin)));
    progress_.end_round(rounds_.back(), seconds_since(begin));  // said only once it is kept
    longest_round_s = std::max(longest_round_s, rounds_.back().wall_s);
  }
  progress_.finish();
  result.rounds = std::move(rounds_);
  result.interrupted = interrupt.requested();
  result.verdict = search_.verdict();
  result.wall_s = seconds_since(begin);
  return result;
}

bisect::RoundResult SearchLoop::measure(bisect::Round round, const probes::ProbeSpec& spec, const Interrupt& interrupt,
                                        double elapsed_s) {
  const Clock::time_point begin = Clock::now();
  const auto elapsed_now_s = [&] { return elapsed_s + seconds_since(begin); };
  progress_.begin_round(round, elapsed_s);
  bisect::RoundResult result;
  result.measurements = prober_.measure(
      round.groups, spec, interrupt.requested(),
      [&](const probes::Measurement& measurement) { progress_.probe_done(measurement, elapsed_now_s()); });
  result.round = std::move(round);
  result.wall_s = seconds_since(begin);
  return result;
}

}  // namespace weft::cli
