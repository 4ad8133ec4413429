#include "report/progress.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/printable.h"
#include "tests/report/sample_runs.h"

namespace weft::report {
namespace {

const bisect::RoundResult kPairs = round_of(2, "pairs",
                                            {measured("gpu[001-002]", 371), measured("gpu[007-008]", 153.2),
                                             without_figure("gpu[003-004]", probes::Status::hung)},
                                            2.5);

void play(Progress& progress, const bisect::RoundResult& round) {
  progress.begin_round(round.round, 1);
  double elapsed_s = 1;
  for (const probes::Measurement& measurement : round.measurements)
    progress.probe_done(measurement, elapsed_s += 0.5);
}

/// What a terminal shows at last, knowing only carriage return and "erase to the end of the line".
std::string shown(const std::string& output) {
  const std::size_t last = output.rfind("\r\x1b[K");
  return last == std::string::npos ? output : output.substr(last + 4);
}

TEST(Progress, ShowsOneLineThatIsRewritten) {
  std::ostringstream output;
  Progress progress(output, true, 80);
  play(progress, kPairs);
  EXPECT_EQ(shown(output.str()), "round 2 pairs  3/3  1 without a figure  slowest 153 GB/s gpu[007-008]  2.50 s");
  EXPECT_THAT(output.str(), testing::Not(testing::HasSubstr("\n")));
  progress.tick(4);
  EXPECT_THAT(shown(output.str()), testing::EndsWith("  4.00 s"));
  progress.end_round(kPairs, 5);
  EXPECT_EQ(shown(output.str()), "") << "the line is gone, so that the report can be printed";
}

TEST(Progress, NeverFillsTheLine) {
  for (const int width : {1, 20, 40, 60}) {
    std::ostringstream output;
    Progress progress(output, true, width);
    bisect::RoundResult round = kPairs;
    round.round.purpose = "a very long purpose \x1b[31m indeed, that goes on and on";
    play(progress, round);
    EXPECT_LT(columns_of(shown(output.str())), static_cast<std::size_t>(std::max(width, 20)));
    EXPECT_THAT(shown(output.str()), testing::Not(testing::HasSubstr("\x1b")));
  }
}

TEST(Progress, TakesItsLineAwayWhenItEnds) {
  std::ostringstream output;
  {
    Progress progress(output, true, 80);
    play(progress, kPairs);
  }
  EXPECT_EQ(shown(output.str()), "");
}

TEST(Progress, DrawsNothingOnceFinishedOrBeforeTheFirstRound) {
  std::ostringstream output;
  Progress progress(output, true, 80);
  progress.tick(1);
  EXPECT_EQ(output.str(), "");
  play(progress, kPairs);
  progress.finish();
  progress.tick(9);
  EXPECT_EQ(shown(output.str()), "");
}

TEST(Progress, IsALineARoundWhereThereIsNoTerminal) {
  std::ostringstream output;
  {
    Progress progress(output, false, 100);
    play(progress, kPairs);
    progress.tick(2);
    progress.end_round(kPairs, 3.5);
  }
  EXPECT_EQ(output.str(),
            "round 2 pairs: 3 probes, 1 without a figure, slowest 153 GB/s (gpu[007-008]), 2.50 s, 3.50 s in all\n");
}

TEST(Progress, ForgetsTheLastRoundsSlowest) {
  std::ostringstream output;
  Progress progress(output, true, 80);
  play(progress, kPairs);
  progress.end_round(kPairs, 3);
  progress.begin_round({3, "partners", {{{"a"}, 1}}}, 4);
  EXPECT_EQ(shown(output.str()), "round 3 partners  0/1  4.00 s");
  probes::Measurement pinned = measured("a", 20);
  pinned.group.rail = 1;
  progress.probe_done(pinned, 5);
  EXPECT_EQ(shown(output.str()), "round 3 partners  1/1  slowest 20.0 GB/s a rail 1  5.00 s");
}

}  // namespace
}  // namespace weft::report
