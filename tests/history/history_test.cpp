#include "history/history.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "history/process.h"
#include "history/record_json.h"
#include "probes/child_process.h"
#include "tests/history/sample_run.h"
#include "tests/history/scratch.h"

namespace weft::history {
namespace {

std::int64_t store(History& history, const bisect::RunResult& run) {
  const std::int64_t id = history.begin_run(run.info);
  for (const bisect::RoundResult& round : run.rounds)
    history.record_round(id, round);
  history.finish_run(id, run);
  return id;
}

void expect_same(const bisect::RunResult& actual, const bisect::RunResult& expected) {
  EXPECT_EQ(encode(actual.info), encode(expected.info));
  ASSERT_EQ(actual.rounds.size(), expected.rounds.size());
  for (std::size_t i = 0; i < actual.rounds.size(); ++i)
    EXPECT_EQ(encode(actual.rounds[i]), encode(expected.rounds[i]));
  EXPECT_EQ(encode(actual.verdict), encode(expected.verdict));
  EXPECT_EQ(actual.wall_s, expected.wall_s);
  EXPECT_EQ(actual.interrupted, expected.interrupted);
  EXPECT_EQ(actual.notes, expected.notes);
}

TEST(History, GivesBackExactlyWhatWasRecorded) {
  const Scratch scratch;
  bisect::RunResult run = sample_run();
  {
    History history = History::open(scratch / "state/weft.db");
    run.info.id = store(history, run);
  }
  History history = History::open_to_read(scratch / "state/weft.db");
  const StoredRun stored = history.load(run.info.id);
  EXPECT_EQ(stored.state, RunState::finished);
  expect_same(stored.result, run);
}

TEST(History, ARunWithoutAnythingComesBackToo) {
  const Scratch scratch;
  bisect::RunResult run;
  History history = History::open(scratch / "weft.db");
  run.info.id = store(history, run);
  expect_same(history.load(run.info.id).result, run);
}

TEST(History, KeepsWhatWasMeasuredWhenTheControllerIsKilled) {
  const Scratch scratch;
  const std::string path = scratch / "weft.db";
  const pid_t child = ::fork();
  if (child == 0) {
    History history = History::open(path);
    bisect::RunInfo info = sample_info();
    info.controller_host = host_name();
    const std::int64_t id = history.begin_run(info);
    history.record_round(id, sample_round(1, {sample_ok({"gpu001", "gpu002"}, 152)}));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));

  History history = History::open(path);
  const StoredRun stored = history.load(1);
  EXPECT_EQ(stored.state, RunState::interrupted) << "nobody is left who could finish it";
  EXPECT_TRUE(stored.result.interrupted);
  ASSERT_EQ(stored.result.rounds.size(), 1U);
  EXPECT_EQ(stored.result.rounds[0].measurements[0].busbw_gbps, 152);
  EXPECT_EQ(stored.result.verdict.kind, bisect::Verdict::Kind::inconclusive);
  EXPECT_EQ(stored.result.verdict.why, "The controller ended before it could conclude.");
  EXPECT_EQ(stored.result.verdict.asked, 3);
  EXPECT_EQ(stored.result.verdict.measured, 2);
  EXPECT_EQ(stored.result.verdict.skipped, 1);
}

TEST(History, ARunThatGoesOnIsRunningAndOneOfAnotherHostCountsAsSuch) {
  const Scratch scratch;
  History history = History::open(scratch / "weft.db");
  bisect::RunInfo info = sample_info();
  history.begin_run(info);
  info.controller_host = host_name();
  history.begin_run(info);
  for (const RunSummary& run : history.list(10))
    EXPECT_EQ(run.state, RunState::running);
}

TEST(History, ListsTheNewestFirst) {
  const Scratch scratch;
  History history = History::open(scratch / "weft.db");
  store(history, sample_run());
  bisect::RunResult interrupted = sample_run();
  interrupted.interrupted = true;
  store(history, interrupted);
  history.begin_run(sample_info());

  const std::vector<RunSummary> runs = history.list(10);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].id, 3);
  EXPECT_FALSE(runs[0].verdict);
  EXPECT_FALSE(runs[0].wall_s);
  EXPECT_EQ(runs[1].state, RunState::interrupted);
  EXPECT_EQ(runs[2].state, RunState::finished);
  EXPECT_EQ(runs[2].hosts, "gpu[001-003]");
  EXPECT_EQ(runs[2].node_count, 3);
  EXPECT_EQ(runs[2].prober, "gloo");
  EXPECT_EQ(runs[2].verdict, bisect::Verdict::Kind::degraded);
  EXPECT_THAT(runs[2].culprits, testing::ElementsAre("gpu002 rail 3", "path su1 <-> su2", "from 48 nodes on"));
  EXPECT_EQ(runs[2].rounds, 2);
  EXPECT_EQ(runs[2].wall_s, 38.2);
  EXPECT_EQ(history.list(1).size(), 1U);
}

TEST(History, SaysWhichRunsThereAre) {
  const Scratch scratch;
  History history = History::open(scratch / "weft.db");
  const auto next_step = [&] { return thrown_by<InputError>([&] { history.load(99); }).next_step; };
  EXPECT_EQ(next_step(), "this history has no runs yet");
  store(history, sample_run());
  EXPECT_EQ(next_step(), "run 1 is the only one there");
  store(history, sample_run());
  EXPECT_EQ(next_step(), "there are 2 runs from 1 to 2: see `weft history list`");
}

TEST(History, RefusesARoundTwiceAndARoundOfNoRun) {
  const Scratch scratch;
  History history = History::open(scratch / "weft.db");
  const std::int64_t id = history.begin_run(sample_info());
  history.record_round(id, sample_failed_round(1));
  EXPECT_THROW(history.record_round(id, sample_failed_round(1)), RunError);
  EXPECT_THROW(history.record_round(id + 1, sample_failed_round(1)), RunError);
  bisect::RoundResult uneven = sample_failed_round(2);
  uneven.measurements.pop_back();
  EXPECT_THROW(history.record_round(id, uneven), std::invalid_argument);
  EXPECT_EQ(history.load(id).result.rounds.size(), 1U);
}

TEST(History, PrecedentIsTheMedianOfHealthyRunsOfTheSameShape) {
  const Scratch scratch;
  History history = History::open(scratch / "weft.db");
  const std::vector<std::string> hosts = {"gpu001", "gpu002"};
  const bisect::RunInfo asked = healthy_run(hosts, 0).info;
  EXPECT_FALSE(history.precedent(asked));

  store(history, healthy_run(hosts, 370));
  store(history, healthy_run({"gpu002", "gpu001"}, 372));  // the same set in another order
  store(history, healthy_run(hosts, 380));
  struct Odd {
    const char* what;
    void (*change)(bisect::RunResult&);
  };
  const std::vector<Odd> odd = {
      {"degraded", [](auto& run) { run.verdict.kind = bisect::Verdict::Kind::degraded; }},
      {"interrupted", [](auto& run) { run.interrupted = true; }},
      {"injected", [](auto& run) { run.info.injected = {"gpu001:delay=30%"}; }},
      {"other hosts",
       [](auto& run) {
         run.info.hosts = {"gpu001", "gpu003"};
       }},
      {"more hosts", [](auto& run) { run.info.hosts.emplace_back("gpu003"); }},
      {"other op", [](auto& run) { run.info.spec.op = probes::Op::broadcast; }},
      {"other size", [](auto& run) { run.info.spec.bytes = 1; }},
      {"other GPUs", [](auto& run) { run.info.spec.gpus_per_node = 1; }},
      {"other prober", [](auto& run) { run.info.prober = "exec"; }},
      {"no figure", [](auto& run) { run.verdict.whole_gbps.reset(); }},
  };
  for (const Odd& row : odd) {
    bisect::RunResult run = healthy_run(hosts, 1);
    row.change(run);
    store(history, run);
  }
  const auto precedent = history.precedent(asked);
  ASSERT_TRUE(precedent);
  EXPECT_EQ(precedent->busbw_gbps, 372);
  EXPECT_EQ(precedent->runs, 3);
}

TEST(History, TwoThreadsAndFourProcessesWriteAtOnce) {
  const Scratch scratch;
  const std::string path = scratch / "weft.db";
  constexpr int kRuns = 10;
  std::vector<probes::ChildProcess> writers;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back(std::vector<std::string>{WEFT_BINARY_DIR "/history_writer", path, std::to_string(kRuns)});
  const auto write = [&] {
    History history = History::open(path);
    for (int i = 0; i < kRuns; ++i)
      store(history, sample_run());
  };
  std::jthread one(write);
  std::jthread two(write);
  one.join();
  two.join();
  for (probes::ChildProcess& writer : writers) {
    std::optional<probes::ExitStatus> status;
    while (!(status = writer.poll()))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(status->success()) << status->describe();
  }

  History history = History::open(path);
  const std::vector<RunSummary> runs = history.list(1000);
  ASSERT_EQ(runs.size(), 6U * kRuns);
  bisect::RunResult expected = sample_run();
  for (const RunSummary& run : runs) {
    expected.info.id = run.id;
    expect_same(history.load(run.id).result, expected);
  }
}

TEST(History, ReadsWhileAnotherWrites) {
  const Scratch scratch;
  History writer = History::open(scratch / "weft.db");
  store(writer, sample_run());
  Database holding(scratch / "weft.db", Database::Mode::read_write, std::chrono::seconds(1));
  const Transaction transaction(holding);
  History reader = History::open_to_read(scratch / "weft.db");
  EXPECT_EQ(reader.list(10).size(), 1U);
}

TEST(History, ReadsWhereNothingCanBeWritten) {
  const Scratch scratch;
  {
    History history = History::open(scratch / "weft.db");
    store(history, sample_run());
  }
  ASSERT_FALSE(std::filesystem::exists(scratch / "weft.db-wal")) << "the last one to close it takes the log in";
  std::filesystem::permissions(scratch / "weft.db", std::filesystem::perms(0444));
  std::filesystem::permissions(scratch.path(), std::filesystem::perms(0555));
  const Unprivileged unprivileged;
  History history = History::open_to_read(scratch / "weft.db");
  EXPECT_EQ(history.list(10).size(), 1U);
}

}  // namespace
}  // namespace weft::history
