#include "probes/collective/exec.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/probes/collective/nccl_tests_samples.h"
#include "topology/error.h"

namespace weft::probes {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

const std::atomic<bool> kGoOn = false;

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

/// Stands in for nccl-tests: shell scripts that say or do what a test needs. Each test has a folder of its own, which
/// also is TMPDIR, so that what is left there shows.
class Exec : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "weft-exec-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    fs::create_directory(folder_ / "tmp");
    setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
    std::ofstream(folder_ / "healthy") << kHealthyRun;
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    EXPECT_THAT(entries(folder_ / "tmp"), IsEmpty()) << "temporary files were left behind";
    fs::remove_all(folder_);
  }

  static std::vector<std::string> entries(const fs::path& folder) {
    std::vector<std::string> names;
    if (!fs::exists(folder)) return names;
    for (const auto& entry : fs::directory_iterator(folder))
      names.push_back(entry.path().filename());
    return names;
  }

  /// Writes a fake; `$1` is what the template hands over. `cat healthy` prints a good run of four ranks on node001 and
  /// node002.
  std::string fake(const std::string& script) {
    const fs::path path = folder_ / "fake";
    std::ofstream(path) << "#!/bin/sh\ncd '" << folder_.string() << "'\n" << script << "\n";
    chmod(path.c_str(), 0755);
    return path.string();
  }

  ExecOptions options(const std::string& script, const std::string& arguments = "{hosts}") {
    return {.command = CommandTemplate(fake(script) + " " + arguments, CommandTemplate::Use::nodes),
            .rail_command = {},
            .gpus_per_node = 2,
            .log_directory = folder_ / "logs"};
  }

  static ProbeSpec spec(double timeout_s = 30) {
    ProbeSpec spec;
    spec.bytes = 67108864;
    spec.gpus_per_node = 2;
    spec.timeouts.run_s = timeout_s;
    return spec;
  }

  Measurement measure_one(const ExecOptions& options, const ProbeSpec& spec = Exec::spec()) {
    const Group group{.nodes = {"node001", "node002"}, .rail = {}};
    return ExecProber(options).measure(std::span(&group, 1), spec, kGoOn, {}).at(0);
  }

  bool no_process_runs(const std::string& file) {
    const auto pid = static_cast<pid_t>(std::stol(trimmed(read_file(folder_ / file))));
    for (int i = 0; i < 400; ++i) {
      if (kill(pid, 0) != 0) return true;
      const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
      if (stat.empty() || stat.find(") Z ") != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  fs::path folder_;
};

TEST_F(Exec, MeasuresAGroup) {
  const Measurement measurement = measure_one(options("cat healthy"));
  EXPECT_EQ(measurement.status, Status::ok) << measurement.reason;
  EXPECT_EQ(measurement.reason, "");
  EXPECT_DOUBLE_EQ(measurement.busbw_gbps, 61.09);
  EXPECT_DOUBLE_EQ(measurement.algbw_gbps, 40.73);
  EXPECT_NEAR(measurement.time_s, 1643.9e-6, 1e-12);
  EXPECT_EQ(measurement.bytes, 67108864u);
  EXPECT_EQ(measurement.ranks, 4);
  EXPECT_EQ(measurement.group.nodes, (std::vector<std::string>{"node001", "node002"}));
  EXPECT_THAT(measurement.iteration_s, IsEmpty());
  EXPECT_GT(measurement.wall_s, 0);
  EXPECT_THAT(measurement.notes, Contains(HasSubstr("plateau of 3 sizes")));
  EXPECT_THAT(entries(folder_ / "logs"), IsEmpty()) << "logs of good probes are not kept";
}

TEST_F(Exec, SaysWhatBecameOfABadProbe) {
  const std::string half_table = "head -n 14 healthy";
  const struct {
    const char* what;
    std::string script;
    Status status;
    Stage stage;
    std::string reason;  ///< what it must begin with
  } cases[] = {
      {"nothing printed", "exit 0", Status::refused, Stage::check, "exit 0 but 0 result rows; log: "},
      {"garbage", "head -c 5000 /dev/urandom", Status::refused, Stage::check, "exit 0 but 0 result rows; log: "},
      {"foreign lines only", "echo 'node001:22:28 [0] NCCL INFO Bootstrap : Using eth0'", Status::refused, Stage::check,
       "exit 0 but 0 result rows"},
      {"half a table", half_table, Status::refused, Stage::check,
       "output ends at 1 MiB of the 64 MiB that were to be measured"},
      {"half a table, exit 1", half_table + "; exit 1", Status::failed, Stage::run, "exit code 1: "},
      {"nan", "sed 's/61.23/nan/' healthy", Status::refused, Stage::check, "impossible numbers at 67108864 B"},
      {"negative", "sed 's/61.23/-61.23/' healthy", Status::refused, Stage::check, "impossible numbers at 67108864 B"},
      {"absurd", "sed 's/61.23/9999999/' healthy", Status::refused, Stage::check, "impossible numbers at 67108864 B"},
      {"wrong values", "sed 's/61.22      0/61.22     12/' healthy", Status::corrupt, Stage::check,
       "12 wrong values at 67108864 B (64 MiB), in-place"},
      {"wrong values and nccl-tests' exit code for them", "sed 's/61.22      0/61.22     12/' healthy; exit 1",
       Status::corrupt, Stage::check, "12 wrong values"},
      {"another job", "sed 's/node002/node001/' healthy", Status::refused, Stage::check,
       "ranks ran on 1 host (node001), 2 asked"},
      {"small messages only", "sed '/[0-9]\\{7,\\} .*float/d' healthy", Status::refused, Stage::check,
       "connectivity only"},
      {"exit code, words of nccl-tests",
       "echo \"node002: Test NCCL failure all_reduce.cu:44 'unhandled system error'\"; echo 'mpirun: aborting' >&2; "
       "exit 3",
       Status::failed, Stage::run, "exit code 3: Test NCCL failure all_reduce.cu:44 'unhandled system error'; log: "},
      {"exit code, words on standard error",
       "echo first >&2; echo 'ssh: connect to host node002: refused' >&2; exit 255", Status::failed, Stage::run,
       "exit code 255: first / ssh: connect to host node002: refused"},
      {"exit code, words on standard output", "echo 'no such partition'; exit 1", Status::failed, Stage::run,
       "exit code 1: no such partition"},
      {"exit code, no words", "exit 7", Status::failed, Stage::run, "exit code 7; log: "},
      {"good numbers, then exit 1", "cat healthy; exit 1", Status::failed, Stage::run, "exit code 1: "},
      {"crash", "kill -SEGV $$", Status::failed, Stage::run, "killed by signal 11 (Segmentation fault)"},
  };
  for (const auto& c : cases) {
    const Measurement measurement = measure_one(options(c.script));
    EXPECT_EQ(measurement.status, c.status) << c.what << ": " << measurement.reason;
    EXPECT_EQ(measurement.stage, c.stage) << c.what;
    EXPECT_THAT(measurement.reason, StartsWith(c.reason)) << c.what;
    EXPECT_THAT(measurement.reason, HasSubstr("; log: " + (folder_ / "logs").string())) << c.what;
    if (c.status != Status::corrupt) {
      EXPECT_EQ(measurement.busbw_gbps, 0) << c.what;
    }
  }
}

TEST_F(Exec, GivesTheClassOfWhatItFound) {
  EXPECT_EQ(measure_one(options("sed 's/node002/node001/' healthy")).finding_kind, "split-launch");
  EXPECT_EQ(measure_one(options("sed 's/61.22      0/61.22     12/' healthy")).finding_kind, "wrong-data");
  EXPECT_EQ(measure_one(options("cat healthy")).finding_kind, "");
}

TEST_F(Exec, KeepsTheLogOfABadProbe) {
  const Measurement measurement = measure_one(options("echo out; echo err >&2; exit 4", "'two words' {hosts}"));
  const std::string path = measurement.reason.substr(measurement.reason.find("log: ") + 5);
  const std::string log = read_file(path);
  EXPECT_THAT(log, HasSubstr("# group: node[001-002]\n"));
  EXPECT_THAT(log, HasSubstr("fake two words node001,node002\n"));
  EXPECT_THAT(log, HasSubstr("# failed: exit code 4: err\n"));
  EXPECT_THAT(log, HasSubstr("out\n"));
  EXPECT_THAT(log, HasSubstr("err\n"));
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(Exec, GoesOnWhereNoLogCanBeKept) {
  ExecOptions no_folder = options("exit 4");
  no_folder.log_directory = "";
  EXPECT_EQ(measure_one(no_folder).reason, "exit code 4");
  ExecOptions not_a_folder = options("exit 4");
  std::ofstream(folder_ / "file") << "x";
  not_a_folder.log_directory = folder_ / "file";
  const Measurement measurement = measure_one(not_a_folder);
  EXPECT_EQ(measurement.reason, "exit code 4");
  EXPECT_THAT(measurement.notes, ElementsAre(HasSubstr("the log could not be kept in ")));
}

TEST_F(Exec, HandsEveryPlaceholderOverAsOneArgument) {
  const std::string show = "for a in \"$@\"; do echo \"[$a]\" >> seen; done; cat healthy";
  const Measurement measurement =
      measure_one(options(show, "-H {hosts} {hostlist} {nhosts} {gpus_per_node} {np} {bytes} --x={hosts}:{np}"));
  EXPECT_EQ(measurement.status, Status::ok) << measurement.reason;
  EXPECT_EQ(read_file(folder_ / "seen"),
            "[-H]\n[node001,node002]\n[node[001-002]]\n[2]\n[2]\n[4]\n[67108864]\n[--x=node001,node002:4]\n");
}

TEST_F(Exec, DoesNotInterpretHostNames) {
  const Group hostile{.nodes = {"$(touch pwned)", "`touch pwned`", "; touch pwned", "a b", "*"}, .rail = {}};
  ExecProber(options("printf '%s\\n' \"$#\" \"$1\" > seen")).measure(std::span(&hostile, 1), spec(), kGoOn, {});
  EXPECT_EQ(read_file(folder_ / "seen"), "1\n$(touch pwned),`touch pwned`,; touch pwned,a b,*\n");
  EXPECT_FALSE(fs::exists(folder_ / "pwned"));
}

TEST_F(Exec, WritesAPrivateHostFileAndTakesItAway) {
  const Measurement measurement = measure_one(
      options("cat \"$1\" > seen; stat -c %a \"$1\" \"$(dirname \"$1\")\" >> seen; echo \"$1\" >> seen; cat healthy",
              "{hostfile}"));
  EXPECT_EQ(measurement.status, Status::ok) << measurement.reason;
  const std::vector<std::string> seen = lines_of(read_file(folder_ / "seen"));
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[0], "node001");
  EXPECT_EQ(seen[1], "node002");
  EXPECT_EQ(seen[2], "600");
  EXPECT_EQ(seen[3], "700");
  EXPECT_FALSE(fs::exists(seen[4]));
}

TEST_F(Exec, TakesHostFilesAndProcessesAwayWhenACallerThrows) {
  const std::vector<Group> groups = {{.nodes = {"node001"}, .rail = {}}, {.nodes = {"node002"}, .rail = {}}};
  ExecProber prober(options("if grep -q node001 \"$1\"; then exit 1; fi; echo $$ > pid; sleep 60", "{hostfile}"));
  const auto start = Clock::now();
  EXPECT_THROW(prober.measure(groups, spec(), kGoOn,
                              [&](const Measurement&) {
                                while (!fs::exists(folder_ / "pid"))
                                  std::this_thread::sleep_for(std::chrono::milliseconds(5));
                                throw std::runtime_error("enough");
                              }),
               std::runtime_error);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
  EXPECT_TRUE(no_process_runs("pid"));
}

TEST_F(Exec, SaysSoWhenNoTemporaryFolderCanBeMade) {
  setenv("TMPDIR", "/proc/no-such-folder", 1);
  const ExecOptions wanted = options("cat healthy", "{hostfile}");
  if (fs::exists("/tmp")) {
    // A TMPDIR that is no folder is not used.
    EXPECT_EQ(measure_one(wanted).status, Status::ok);
  }
  setenv("TMPDIR", "/proc", 1);
  EXPECT_THROW(measure_one(wanted), RunError);
  setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
}

TEST_F(Exec, EndsACommandThatHangs) {
  const struct {
    const char* what;
    std::string script;
  } cases[] = {
      {"obedient", "echo last words; sleep 60 & echo $! > pid; wait"},
      {"ignoring termination",
       "trap '' TERM; echo last words; sh -c \"trap '' TERM; sleep 60; sleep 60\" & echo $! > pid; wait; sleep 60"},
      {"after a full table", "cat healthy; echo last words; sleep 60 & echo $! > pid; wait"},
  };
  for (const auto& c : cases) {
    const auto start = Clock::now();
    const Measurement measurement = measure_one(options(c.script), spec(0.4));
    EXPECT_EQ(measurement.status, Status::hung) << c.what;
    EXPECT_EQ(measurement.stage, Stage::run) << c.what;
    EXPECT_THAT(measurement.reason, StartsWith("no end after 0.4 s, ")) << c.what;
    EXPECT_THAT(measurement.reason, HasSubstr("last words")) << c.what;
    EXPECT_EQ(measurement.busbw_gbps, 0) << c.what;
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(4)) << c.what;
    EXPECT_TRUE(no_process_runs("pid")) << c.what;
  }
}

TEST_F(Exec, DoesNotWaitForAPipeThatADaemonKeepsOpen) {
  const auto start = Clock::now();
  const Measurement measurement = measure_one(options("cat healthy; setsid sleep 5 & exit 0"));
  EXPECT_EQ(measurement.status, Status::ok) << measurement.reason;
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(4));
}

TEST_F(Exec, HangsOfOneProbeDoNotTouchTheOthers) {
  std::vector<Group> groups;
  for (int i = 0; i < 6; ++i)
    groups.push_back({.nodes = {"node001", "node002"}, .rail = {}});
  groups[2].nodes = {"node666", "node002"};
  const auto measurements = ExecProber(options("case $1 in node666*) trap '' TERM; sleep 60;; esac; cat healthy"))
                                .measure(groups, spec(1.0), kGoOn, {});
  for (std::size_t i = 0; i < groups.size(); ++i) {
    EXPECT_EQ(measurements[i].status, i == 2 ? Status::hung : Status::ok) << i << measurements[i].reason;
    EXPECT_EQ(measurements[i].group, groups[i]);
  }
}

TEST_F(Exec, CancelEndsEverythingWithinTwoSeconds) {
  std::vector<Group> groups;
  for (int i = 0; i < 40; ++i)
    groups.push_back({.nodes = {"node" + std::to_string(i)}, .rail = {}});
  ExecOptions wanted = options("trap '' TERM; echo $$ > \"pid-$1\"; sleep 60; sleep 60");
  wanted.max_concurrency = 8;
  std::atomic<bool> cancel = false;
  Clock::time_point cancelled_at;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    cancelled_at = Clock::now();
    cancel = true;
  });
  int done = 0;
  const auto measurements = ExecProber(wanted).measure(groups, spec(), cancel, [&](const Measurement&) { ++done; });
  canceller.join();
  EXPECT_LT(Clock::now() - cancelled_at, std::chrono::seconds(2));
  EXPECT_EQ(done, 40);
  for (const Measurement& measurement : measurements) {
    EXPECT_EQ(measurement.status, Status::refused);
    EXPECT_EQ(measurement.reason, "cancelled");
  }
  std::vector<std::string> pids;
  for (const std::string& name : entries(folder_)) {
    if (name.starts_with("pid-")) pids.push_back(name);
  }
  EXPECT_EQ(pids.size(), 8u) << "the others never started";
  for (const std::string& pid : pids)
    EXPECT_TRUE(no_process_runs(pid));
}

TEST_F(Exec, StartsNothingOnceCancelled) {
  const std::atomic<bool> cancelled = true;
  const Group group{.nodes = {"node001"}, .rail = {}};
  const auto measurements = ExecProber(options("touch ran")).measure(std::span(&group, 1), spec(), cancelled, {});
  EXPECT_EQ(measurements.at(0).reason, "cancelled");
  EXPECT_FALSE(fs::exists(folder_ / "ran"));
}

TEST_F(Exec, RunsAtOnceWhatFitsAndQueuesTheRest) {
  std::vector<Group> groups;
  for (int i = 0; i < 9; ++i)
    groups.push_back({.nodes = {"node001", "node002"}, .rail = {}});
  // Every fake counts who is there with it.
  ExecOptions wanted =
      options("mkdir -p here; touch here/$$; sleep 0.2; ls here | wc -l >> seen; rm here/$$; cat healthy");
  wanted.max_concurrency = 3;
  const auto start = Clock::now();
  std::vector<Status> done;
  const auto measurements =
      ExecProber(wanted).measure(groups, spec(), kGoOn, [&](const Measurement& m) { done.push_back(m.status); });
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(600)) << "three times three";
  EXPECT_EQ(done, std::vector<Status>(9, Status::ok));
  int most = 0;
  for (const std::string& line : lines_of(read_file(folder_ / "seen")))
    most = std::max(most, std::stoi(line));
  EXPECT_EQ(most, 3);
}

TEST_F(Exec, HoldsLittleOfALargeLog) {
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const Measurement measurement = measure_one(
      options("yes 'node001:22:28 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] via P2P' | head -c 50000000; cat healthy;"
              "yes 'node001:22:28 [0] NCCL WARN x' | head -c 50000000; yes e | head -c 5000000 >&2"));
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(measurement.status, Status::ok) << measurement.reason;
  EXPECT_DOUBLE_EQ(measurement.busbw_gbps, 61.09);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 30'000) << "KiB";

  const Measurement failed = measure_one(options("echo begin; yes 'some line' | head -c 100000000; echo end; exit 1"));
  const std::string log = read_file(failed.reason.substr(failed.reason.find("log: ") + 5));
  EXPECT_LT(log.size(), 1'000'000u);
  EXPECT_THAT(log, HasSubstr("begin\n"));
  EXPECT_THAT(log, HasSubstr("end\n"));
  EXPECT_THAT(log, HasSubstr("bytes left out"));
}

TEST_F(Exec, NamesTheNodeThatTheLauncherSawCrash) {
  const Measurement measurement =
      measure_one(options("echo 'mpirun noticed that process rank 3 with PID 811 on node node002 exited on signal 11 "
                          "(Segmentation fault).' >&2; exit 139"));
  EXPECT_EQ(measurement.status, Status::failed);
  EXPECT_THAT(
      measurement.node_faults,
      ElementsAre(NodeFault{
          .node = "node002", .rank = 3, .stage = Stage::run, .what = "killed by signal 11 (Segmentation fault)"}));
}

TEST_F(Exec, ProbesRailsOnlyWithACommandForThem) {
  const Group rail{.nodes = {"node001", "node002"}, .rail = 3};
  ExecOptions wanted = options("cat healthy");
  ExecProber without(wanted);
  EXPECT_FALSE(without.can_pin_rails());
  EXPECT_THAT(without.measure(std::span(&rail, 1), spec(), kGoOn, {}).at(0).reason, HasSubstr("--rail-command"));

  std::ofstream(folder_ / "rails") << "#!/bin/sh\ncd '" << folder_.string() << "'\necho \"$@\" > seen\n"
                                   << "sed -e '/Rank  [13]/d' -e 's/Rank  2/Rank  1/' healthy\n";
  chmod((folder_ / "rails").c_str(), 0755);
  wanted.rail_command.emplace((folder_ / "rails").string() + " {hosts} {np} {gpus_per_node} mlx5_{rail}",
                              CommandTemplate::Use::rail, "--rail-command");
  ExecProber with(wanted);
  EXPECT_TRUE(with.can_pin_rails());
  const Measurement measurement = with.measure(std::span(&rail, 1), spec(), kGoOn, {}).at(0);
  EXPECT_EQ(measurement.status, Status::ok) << measurement.reason;
  EXPECT_EQ(measurement.ranks, 2) << "one GPU a node";
  EXPECT_EQ(measurement.group.rail, 3);
  EXPECT_EQ(read_file(folder_ / "seen"), "node001,node002 2 1 mlx5_3\n");
}

TEST_F(Exec, SaysWhatItCanDo) {
  ExecOptions wanted = options("cat healthy");
  EXPECT_EQ(ExecProber(wanted).name(), "exec");
  EXPECT_EQ(ExecProber(wanted).scaling(), Scaling::unknown);
  EXPECT_TRUE(ExecProber(wanted).can_probe_single_nodes());
  wanted.gpus_per_node = 1;
  EXPECT_FALSE(ExecProber(wanted).can_probe_single_nodes());
}

TEST_F(Exec, DoesNotCompareHostNamesWhenToldSo) {
  ExecOptions wanted = options("sed -e 's/node001/pod-a/' -e 's/node002/pod-b/' healthy");
  EXPECT_THAT(measure_one(wanted).reason, StartsWith("ranks ran on pod-a,pod-b, which was not asked for"));
  wanted.check_host_names = false;
  EXPECT_EQ(measure_one(wanted).status, Status::ok);
}

TEST_F(Exec, RefusesBadOptionsBeforeAnythingRuns) {
  ExecOptions wanted = options("touch ran");
  wanted.max_concurrency = 0;
  EXPECT_THROW(ExecProber{wanted}, InputError);
  wanted = options("touch ran");
  wanted.gpus_per_node = 0;
  EXPECT_THROW(ExecProber{wanted}, InputError);
  wanted = options("touch ran");
  wanted.command = CommandTemplate("weft-no-such-program {hosts}", CommandTemplate::Use::nodes);
  EXPECT_THROW(ExecProber{wanted}, InputError);
  wanted = options("touch ran");
  wanted.rail_command.emplace("weft-no-such-program {hosts} {rail}", CommandTemplate::Use::rail);
  EXPECT_THROW(ExecProber{wanted}, InputError);
  EXPECT_FALSE(fs::exists(folder_ / "ran"));
}

TEST_F(Exec, AProgramThatWentAwayIsARefusedProbe) {
  ExecProber prober(options("cat healthy"));
  fs::remove(folder_ / "fake");
  const Group group{.nodes = {"node001", "node002"}, .rail = {}};
  const Measurement measurement = prober.measure(std::span(&group, 1), spec(), kGoOn, {}).at(0);
  EXPECT_EQ(measurement.status, Status::refused);
  EXPECT_EQ(measurement.stage, Stage::start);
  EXPECT_THAT(measurement.reason, HasSubstr("No such file or directory"));
}

TEST_F(Exec, GivesTheCommandOurEnvironment) {
  setenv("WEFT_TEST_MODULE", "loaded", 1);
  measure_one(options("echo $WEFT_TEST_MODULE > seen"));
  EXPECT_EQ(read_file(folder_ / "seen"), "loaded\n");
}

TEST_F(Exec, MeasuresNothingForNoGroups) {
  EXPECT_THAT(ExecProber(options("cat healthy")).measure({}, spec(), kGoOn, {}), IsEmpty());
}

}  // namespace
}  // namespace weft::probes
