#include "report/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/sample_runs.h"

namespace weft::report {
namespace {

TEST(Advice, EveryKindHasSome) {
  for (int kind = 0; kind <= static_cast<int>(bisect::CulpritKind::unreachable); ++kind) {
    bisect::RunResult run = degraded_run();
    run.verdict.culprits[0].kind = static_cast<bisect::CulpritKind>(kind);
    const std::vector<Advice> advice = advice_for(run);
    ASSERT_EQ(advice.size(), 1U);
    EXPECT_FALSE(advice[0].subject.empty());
    EXPECT_FALSE(advice[0].steps.empty());
  }
}

TEST(Advice, IsGivenOnceAKindAndStaysShort) {
  bisect::RunResult run = degraded_run();
  run.verdict.culprits.clear();
  for (int i = 100; i < 200; ++i) {
    run.verdict.culprits.push_back(slow_node("gpu" + std::to_string(i)));
    bisect::Culprit pair = slow(bisect::CulpritKind::pair, 1, 2);
    pair.nodes = {"a" + std::to_string(i), "b"};
    run.verdict.culprits.push_back(pair);
  }
  const std::vector<Advice> advice = advice_for(run);
  ASSERT_EQ(advice.size(), 2U);
  EXPECT_EQ(advice[0].subject, "gpu[100-199]");
  EXPECT_EQ(advice[0].command, "scontrol update nodename='gpu[100-199]' state=drain reason='weft run 42'");
  EXPECT_EQ(advice[1].command, "");
  EXPECT_THAT(advice[1].subject, testing::EndsWith("and 94 more"));
}

TEST(Advice, TheNextProbeIsTheSameCommandOverOtherNodes) {
  bisect::RunInfo info;
  info.command_line = {"./weft",  "bisect",       "--hosts",    "gpu[001-064]",     "--exclude=gpu[060-064]",
                       "--probe", "exec",         "--command",  "run 'it' {hosts}", "--nodes",
                       "3",       "--hostfile=x", "--bytes=64M"};
  EXPECT_EQ(next_probe_command(info, {{"gpu001", "gpu009"}, std::nullopt}),
            R"(./weft bisect --hosts 'gpu[001,009]' --probe exec --command 'run '\''it'\'' {hosts}' --bytes=64M)");
}

TEST(Advice, TheNextProbeAfterAnotherCommandIsAPlainBisect) {
  bisect::RunInfo info;
  EXPECT_EQ(next_probe_command(info, {{"a", "b"}, std::nullopt}), "weft bisect --hosts a,b");
  info.command_line = {"weft", "analyze", "table.csv"};
  info.fabric_file = "my fabric.yaml";
  EXPECT_EQ(next_probe_command(info, {{"a", "b"}, std::nullopt}), "weft bisect --hosts a,b --fabric 'my fabric.yaml'");
}

TEST(Advice, QuotesForAShell) {
  EXPECT_EQ(shell_quoted("plain-1.2/x"), "plain-1.2/x");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("$(x)"), "'$(x)'");
  EXPECT_EQ(shell_quoted("it's"), R"('it'\''s')");
}

}  // namespace
}  // namespace weft::report
