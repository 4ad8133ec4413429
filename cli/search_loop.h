#pragma once

#include <optional>
#include <vector>

#include "bisect/run.h"
#include "bisect/search.h"
#include "cli/interrupt.h"
#include "history/run_recorder.h"
#include "probes/collective/prober.h"
#include "report/progress.h"

namespace weft::cli {

/// Measures round after round until the search has a verdict, the user wants an end, or the budget is used up. Every
/// round is in the history before the next one begins.
class SearchLoop {
 public:
  SearchLoop(bisect::Search& search, probes::Prober& prober, history::RunRecorder& recorder, report::Progress& progress)
      : search_(search), prober_(prober), recorder_(recorder), progress_(progress) {}

  /// Rounds of an earlier run, which the search goes through as if they had been measured now. Throws InputError when
  /// it would have asked for something else.
  void replay(const std::vector<bisect::RoundResult>& rounds);

  /// `budget_s`: no round is begun that would end later, taking it to last as long as the longest so far.
  bisect::RunResult run(bisect::RunInfo info, const Interrupt& interrupt, std::optional<double> budget_s);

 private:
  bisect::RoundResult measure(bisect::Round round, const probes::ProbeSpec& spec, const Interrupt& interrupt,
                              double elapsed_s);
  void keep(bisect::RoundResult round);

  bisect::Search& search_;
  probes::Prober& prober_;
  history::RunRecorder& recorder_;
  report::Progress& progress_;
  std::vector<bisect::RoundResult> rounds_;
};

}  // namespace weft::cli
