#include "history/run_recorder.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "history/process.h"
#include "history/record_json.h"
#include "tests/history/sample_run.h"
#include "tests/history/scratch.h"

namespace weft::history {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunRecorder::Options options_in(const Scratch& scratch) {
  RunRecorder::Options options{scratch / "weft.db", {}, {scratch / "spool"}};
  options.history.busy_timeout = std::chrono::milliseconds(20);
  return options;
}

Database lock_holder(const Scratch& scratch) {
  return {scratch / "weft.db", Database::Mode::read_write, std::chrono::seconds(1)};
}

bool has_files(const std::string& directory) {
  return std::filesystem::exists(directory) && !std::filesystem::is_empty(directory);
}

void expect_same(const bisect::RunResult& actual, const bisect::RunResult& expected) {
  EXPECT_EQ(encode(actual.info), encode(expected.info));
  ASSERT_EQ(actual.rounds.size(), expected.rounds.size());
  for (std::size_t i = 0; i < actual.rounds.size(); ++i)
    EXPECT_EQ(encode(actual.rounds[i]), encode(expected.rounds[i]));
  EXPECT_EQ(encode(actual.verdict), encode(expected.verdict));
}

TEST(RunRecorder, RecordsIntoTheDatabase) {
  const Scratch scratch;
  bisect::RunResult run = sample_run();
  RunRecorder recorder(options_in(scratch));
  run.info.id = recorder.begin(run.info);
  for (const bisect::RoundResult& round : run.rounds)
    recorder.round(round);
  recorder.finish(run);
  EXPECT_THAT(recorder.notes(), IsEmpty());
  EXPECT_FALSE(recorder.spool_path());
  expect_same(History::open_to_read(scratch / "weft.db").load(run.info.id).result, run);
}

TEST(RunRecorder, KnowsThePrecedent) {
  const Scratch scratch;
  const bisect::RunResult run = healthy_run({"a", "b"}, 370);
  {
    RunRecorder recorder(options_in(scratch));
    EXPECT_FALSE(recorder.precedent(run.info));
    recorder.begin(run.info);
    recorder.finish(run);
  }
  RunRecorder recorder(options_in(scratch));
  ASSERT_TRUE(recorder.precedent(run.info));
  EXPECT_EQ(recorder.precedent(run.info)->busbw_gbps, 370);
}

TEST(RunRecorder, WithoutAHistoryKeepsNothingAndSaysNothing) {
  RunRecorder recorder = RunRecorder::none();
  EXPECT_EQ(recorder.begin(sample_info()), 0);
  EXPECT_FALSE(recorder.precedent(sample_info()));
  recorder.round(sample_failed_round(1));
  recorder.finish(sample_run());
  EXPECT_THAT(recorder.notes(), IsEmpty());
}

TEST(RunRecorder, FindsOutBeforeAnythingIsMeasured) {
  const Scratch scratch;
  RunRecorder::Options options = options_in(scratch);
  options.database_path = scratch.path();
  EXPECT_THROW(RunRecorder{options}, InputError);
}

TEST(RunRecorder, SpoolsWhatTheDatabaseRefusesInMidRunAndTheNextRunTakesItIn) {
  const Scratch scratch;
  bisect::RunResult run = sample_run();
  std::string spool;
  {
    RunRecorder recorder(options_in(scratch));
    run.info.id = recorder.begin(run.info);
    recorder.round(run.rounds[0]);
    {
      Database other = lock_holder(scratch);
      const Transaction held(other);
      recorder.round(run.rounds[1]);
    }
    recorder.finish(run);  // the database would take this again, but a run has one story
    ASSERT_TRUE(recorder.spool_path());
    spool = *recorder.spool_path();
    ASSERT_EQ(recorder.notes().size(), 1U);
    EXPECT_THAT(recorder.notes()[0], HasSubstr(spool));
    EXPECT_THAT(recorder.notes()[0], HasSubstr("locked"));
  }
  EXPECT_EQ(History::open_to_read(scratch / "weft.db").load(run.info.id).result.rounds.size(), 1U);

  const RunRecorder next(options_in(scratch));
  EXPECT_THAT(next.notes(), ElementsAre(HasSubstr("run 1 of 2026-03-01T02:03:04Z")));
  EXPECT_FALSE(has_files(scratch / "spool"));
  const StoredRun stored = History::open_to_read(scratch / "weft.db").load(run.info.id);
  EXPECT_EQ(stored.state, RunState::finished);
  expect_same(stored.result, run);
}

TEST(RunRecorder, ASpooledRunWhoseNumberIsAnothersGetsANewOne) {
  const Scratch scratch;
  {
    SpoolFile spool({scratch / "spool"}, scratch / "weft.db", [] {
      bisect::RunInfo info = sample_info();
      info.id = 1;
      return info;
    }());
    spool.record_round(sample_failed_round(1));
    spool.finish_run(sample_run());
  }
  {
    History history = History::open(scratch / "weft.db");
    EXPECT_EQ(history.begin_run(healthy_run({"a"}, 1).info), 1);
  }
  const RunRecorder recorder(options_in(scratch));
  EXPECT_THAT(recorder.notes(), ElementsAre(HasSubstr("run 2 of")));
  EXPECT_EQ(History::open_to_read(scratch / "weft.db").load(2).result.rounds.size(), 1U);
}

TEST(RunRecorder, TheRunOfAKilledControllerIsTakenInAsInterrupted) {
  const Scratch scratch;
  const pid_t child = ::fork();
  if (child == 0) {
    SpoolFile spool({scratch / "spool"}, scratch / "weft.db", sample_info());
    spool.record_round(sample_failed_round(1));
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  const RunRecorder recorder(options_in(scratch));
  EXPECT_EQ(recorder.notes().size(), 1U);
  const StoredRun stored = History::open_to_read(scratch / "weft.db").load(1);
  EXPECT_EQ(stored.state, RunState::interrupted);
  EXPECT_EQ(stored.result.rounds.size(), 1U);
  EXPECT_EQ(stored.result.verdict.asked, 3);
  EXPECT_EQ(stored.result.verdict.failed, 2);
  EXPECT_EQ(stored.result.verdict.skipped, 1);
}

TEST(RunRecorder, LeavesAloneWhatIsUnfinishedOrOfAnotherDatabaseOrUnreadable) {
  const Scratch scratch;
  const SpoolFile running({scratch / "spool"}, scratch / "weft.db", sample_info());
  SpoolFile other({scratch / "spool"}, scratch / "other.db", sample_info());
  other.finish_run(sample_run());
  const std::string garbage = scratch / "spool/weft-run-garbage.jsonl";
  std::ofstream(garbage) << "garbage\n";
  const RunRecorder recorder(options_in(scratch));
  EXPECT_THAT(recorder.notes(), ElementsAre(HasSubstr("weft-run-garbage.jsonl could not be taken into the history")));
  for (const std::string& path : {running.path(), other.path(), garbage})
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_THAT(History::open_to_read(scratch / "weft.db").list(10), IsEmpty());
}

TEST(RunRecorder, ALastLineThatWasCutShortCostsOnlyItself) {
  const Scratch scratch;
  std::string path;
  const pid_t child = ::fork();
  if (child == 0) {
    SpoolFile spool({scratch / "spool"}, scratch / "weft.db", sample_info());
    spool.record_round(sample_failed_round(1));
    spool.record_round(sample_failed_round(2));
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "spool"))
    path = entry.path().string();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 30);
  const RunRecorder recorder(options_in(scratch));
  EXPECT_EQ(History::open_to_read(scratch / "weft.db").load(1).result.rounds.size(), 1U);
}

TEST(RunRecorder, TriesTheNextSpoolDirectory) {
  const Scratch scratch;
  const SpoolFile spool({"/proc/weft", scratch / "tmp"}, scratch / "weft.db", sample_info());
  EXPECT_THAT(spool.path(), HasSubstr(scratch / "tmp/weft-run-"));
}

TEST(RunRecorder, NeverThrowsInMidRunEvenWhereNothingTakesTheRun) {
  const Scratch scratch;
  RunRecorder::Options options = options_in(scratch);
  options.spool_directories = {"/proc/weft"};
  RunRecorder recorder(options);
  recorder.begin(sample_info());
  Database other = lock_holder(scratch);
  const Transaction held(other);
  recorder.round(sample_failed_round(1));
  recorder.round(sample_failed_round(2));
  recorder.finish(sample_run());
  ASSERT_EQ(recorder.notes().size(), 1U);
  EXPECT_THAT(recorder.notes()[0], HasSubstr("kept nowhere"));
  EXPECT_THAT(recorder.notes()[0], HasSubstr("/proc/weft"));
}

}  // namespace
}  // namespace weft::history
