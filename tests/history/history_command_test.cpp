#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/history.h"
#include "history/history.h"
#include "tests/history/sample_run.h"
#include "tests/history/scratch.h"

namespace weft::cli {
namespace {

using history::History;
using history::Scratch;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

struct Outcome {
  int exit_status = -1;
  std::string output;
};

Outcome run(std::vector<std::string> arguments) {
  Outcome outcome;
  CLI::App app;
  add_history_command(app, outcome.exit_status);
  std::ranges::reverse(arguments);  // as CLI11 takes them
  testing::internal::CaptureStdout();
  try {
    app.parse(arguments);
  } catch (...) {
    testing::internal::GetCapturedStdout();
    throw;
  }
  outcome.output = testing::internal::GetCapturedStdout();
  return outcome;
}

std::string history_of_three_runs(const Scratch& scratch) {
  const std::string path = scratch / "weft.db";
  History history = History::open(path);
  for (const bisect::RunResult& sample : {history::sample_run(), history::healthy_run({"n1", "n2"}, 370)}) {
    const std::int64_t id = history.begin_run(sample.info);
    for (const bisect::RoundResult& round : sample.rounds)
      history.record_round(id, round);
    history.finish_run(id, sample);
  }
  history.begin_run(history::sample_info());
  return path;
}

TEST(HistoryCommand, ListsRunsInATable) {
  const Scratch scratch;
  const Outcome outcome = run({"history", "list", "--db", history_of_three_runs(scratch)});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.output,
            "run  started               nodes  hosts         probe  verdict   culprits             rounds    time\n"
            "  3  2026-03-01T02:03:04Z      3  gpu[001-003]  gloo   running                             0       -\n"
            "  2  2026-03-01T02:03:04Z      2  n[1-2]        gloo   healthy                             0  0.00 s\n"
            "  1  2026-03-01T02:03:04Z      3  gpu[001-003]  gloo   degraded  gpu002 rail 3, pat…       2  38.2 s\n");
}

TEST(HistoryCommand, ListsRunsAsJson) {
  const Scratch scratch;
  const std::string path = history_of_three_runs(scratch);
  const json document = json::parse(run({"history", "list", "--json", "--db", path, "--limit", "2"}).output);
  EXPECT_EQ(document.at("schema"), "weft.history/1");
  EXPECT_EQ(document.at("database"), path);
  ASSERT_EQ(document.at("runs").size(), 2U);
  EXPECT_EQ(document.at("runs").at(0).at("run"), 3);
  EXPECT_EQ(document.at("runs").at(0).at("verdict"), nullptr);
  EXPECT_EQ(document.at("runs").at(1).at("state"), "finished");
}

TEST(HistoryCommand, SaysThatThereAreNoRunsYet) {
  const Scratch scratch;
  History::open(scratch / "weft.db");
  EXPECT_THAT(run({"history", "list", "--db", scratch / "weft.db"}).output, HasSubstr("has no runs yet"));
}

TEST(HistoryCommand, ShowsARunAsBisectDid) {
  const Scratch scratch;
  const Outcome outcome = run({"history", "show", "1", "--db", history_of_three_runs(scratch)});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.output, StartsWith("DEGRADED: gpu002 is slow on rail 3"));
  EXPECT_THAT(outcome.output, HasSubstr("Run 1: all_gather of 1 TiB, gloo over ssh"));
}

TEST(HistoryCommand, ShowsARunThatGoesOn) {
  const Scratch scratch;
  const Outcome outcome = run({"history", "show", "3", "--db", history_of_three_runs(scratch)});
  EXPECT_THAT(outcome.output, StartsWith("CANNOT TELL: The run is going on"));
}

TEST(HistoryCommand, ShowsARunAsJson) {
  const Scratch scratch;
  const json document =
      json::parse(run({"history", "show", "1", "--json", "--db", history_of_three_runs(scratch)}).output);
  EXPECT_EQ(document.at("schema"), "weft.bisect/1");
  EXPECT_EQ(document.at("run"), 1);
  EXPECT_EQ(document.at("verdict"), "degraded");
}

TEST(HistoryCommand, AnUnknownRunIsBadInputAndSaysWhichThereAre) {
  const Scratch scratch;
  const std::string path = history_of_three_runs(scratch);
  const ErrorDetail detail = history::thrown_by<InputError>([&] { run({"history", "show", "99", "--db", path}); });
  EXPECT_EQ(detail.what, "there is no run 99");
  EXPECT_THAT(detail.next_step, HasSubstr("3 runs from 1 to 3"));
}

TEST(HistoryCommand, AFileThatIsNotThereIsBadInput) {
  const Scratch scratch;
  EXPECT_THROW(run({"history", "list", "--db", scratch / "none.db"}), InputError);
}

TEST(HistoryCommand, RefusesWhatIsNoRunNumber) {
  for (const char* text : {"0", "-1", "x", "1x", ""})
    EXPECT_THROW(run({"history", "show", text}), CLI::ParseError) << text;
  EXPECT_THROW(run({"history", "show"}), CLI::ParseError);
  EXPECT_THROW(run({"history"}), CLI::ParseError);
  EXPECT_THROW(run({"history", "list", "--limit", "0"}), CLI::ParseError);
}

}  // namespace
}  // namespace weft::cli
