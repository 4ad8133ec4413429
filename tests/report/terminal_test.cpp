#include "report/terminal.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/printable.h"
#include "tests/report/sample_runs.h"

namespace weft::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Compares with tests/data/report/NAME.txt; WEFT_UPDATE_GOLDEN=1 writes it anew, for review.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = WEFT_SOURCE_DIR "/tests/data/report/" + name + ".txt";
  if (std::getenv("WEFT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, expected) << path;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("    weft bisect") && !line.starts_with("      scontrol"))
      widest = std::max(widest, columns_of(line));
  return widest;
}

TEST(Terminal, LooksLikeThis) {
  for (const auto& [name, run] : sample_runs())
    expect_golden(name, terminal_text(run, {false, 100}));
}

TEST(Terminal, TheVerdictComesFirst) {
  EXPECT_THAT(terminal_text(degraded_run(), {}), StartsWith("DEGRADED: gpu007 is slow"));
  EXPECT_THAT(terminal_text(healthy_run(), {}), StartsWith("HEALTHY: "));
  EXPECT_THAT(terminal_text(inconclusive_run(), {}), StartsWith("CANNOT TELL: "));
  EXPECT_THAT(terminal_text(failed_run(), {}), StartsWith("FAILED: interrupted before the end: "));
}

TEST(Terminal, ColourAddsEscapesAndNothingElse) {
  for (const auto& [name, run] : sample_runs()) {
    const std::string colored = terminal_text(run, {true, 100});
    EXPECT_THAT(colored, HasSubstr("\x1b[")) << name;
    const std::string stripped = std::regex_replace(colored, std::regex("\x1b\\[[0-9;]*m"), "");
    EXPECT_EQ(stripped, terminal_text(run, {false, 100})) << name;
  }
}

TEST(Terminal, KeepsToTheWidth) {
  for (const auto& [name, run] : sample_runs())
    for (const int width : {70, 80, 120})
      EXPECT_LE(widest_line(terminal_text(run, {false, width})), static_cast<std::size_t>(width)) << name;
}

TEST(Terminal, NothingThatCameFromANodeDrivesTheTerminal) {
  bisect::RunResult run = crowded_run();
  const std::string evil = "\x1b[2J\x07\xff";
  run.verdict.why += evil;
  run.verdict.culprits[0].node += evil;
  run.notes = {evil};
  run.info.injected = {evil};
  run.rounds[0].round.purpose = evil;
  run.rounds[0].measurements[0].group.nodes[0] += evil;
  run.verdict.unresolved[0].next_probe->nodes[0] += evil;
  const std::string text = terminal_text(run, {});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\x07")));
  EXPECT_THAT(text, Not(HasSubstr("\xff")));
}

TEST(Terminal, StaysBoundedHoweverManyCulpritsThereAre) {
  bisect::RunResult run = degraded_run();
  run.verdict.culprits.assign(5000, slow_node("gpu007"));
  run.verdict.findings.assign(5000, Finding{});
  run.verdict.unresolved = {{run.verdict.culprits, std::nullopt}};
  for (int i = 0; i < 1000; ++i)
    run.rounds[0].measurements.push_back(without_figure("gpu1", probes::Status::failed));
  run.rounds[0].measurements.back().reason.assign(1'000'000, 'x');
  const std::string text = terminal_text(run, {});
  EXPECT_LT(text.size(), 20'000U);
  EXPECT_THAT(text, HasSubstr("and 4960 more, all of them in --json"));
  EXPECT_THAT(text, HasSubstr("and 4992 more"));
}

}  // namespace
}  // namespace weft::report
