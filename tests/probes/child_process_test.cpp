#include "probes/child_process.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topology/error.h"

namespace weft::probes {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

std::string read_all(int fd, milliseconds limit = milliseconds(20000)) {
  const auto deadline = steady_clock::now() + limit;
  std::string text;
  std::vector<char> buffer(1 << 16);
  while (steady_clock::now() < deadline) {
    pollfd ready{fd, POLLIN, 0};
    poll(&ready, 1, 50);
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got == 0) return text;
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ADD_FAILURE() << "no end of output within the limit";
  return text;
}

ExitStatus wait_for(ChildProcess& child, milliseconds limit = milliseconds(20000)) {
  const auto deadline = steady_clock::now() + limit;
  while (steady_clock::now() < deadline) {
    if (const auto status = child.poll()) return *status;
    std::this_thread::sleep_for(milliseconds(2));
  }
  ADD_FAILURE() << "the child did not end within the limit";
  return {};
}

bool is_alive(pid_t pid) {
  return kill(pid, 0) == 0;
}

/// Whether the process goes within a moment: an orphan is reaped by init, which may take its time.
bool goes_away(pid_t pid) {
  for (int i = 0; i < 1000; ++i) {
    if (!is_alive(pid)) return true;
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    if (text.find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

/// The first line of the child's output as a number: scripts print the process they started.
pid_t read_pid(int fd) {
  std::string text;
  for (int i = 0; i < 2000 && text.find('\n') == std::string::npos; ++i) {
    char byte = 0;
    while (read(fd, &byte, 1) == 1 && byte != '\n')
      text.push_back(byte);
    if (byte == '\n') break;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return static_cast<pid_t>(std::stol(text));
}

class TemporaryFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-child-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }

  std::filesystem::path folder_;
};

using ChildProcessFiles = TemporaryFolder;

TEST(ChildProcess, ReportsHowTheChildEnded) {
  const struct {
    std::string script;
    std::optional<int> exit_code;
    int signal;
    std::string described;
  } cases[] = {
      {"exit 0", 0, 0, "exit code 0"},
      {"exit 3", 3, 0, "exit code 3"},
      {"kill -SEGV $$", std::nullopt, SIGSEGV, "killed by signal 11 (Segmentation fault)"},
      {"kill -KILL $$", std::nullopt, SIGKILL, "killed by signal 9 (Killed)"},
  };
  for (const auto& c : cases) {
    ChildProcess child(shell(c.script));
    const ExitStatus status = wait_for(child);
    EXPECT_EQ(status.exit_code, c.exit_code) << c.script;
    EXPECT_EQ(status.signal, c.signal) << c.script;
    EXPECT_EQ(status.describe(), c.described);
    EXPECT_EQ(status.success(), c.exit_code == 0);
    EXPECT_EQ(child.poll()->describe(), c.described) << "the answer must stay the same";
  }
}

TEST(ChildProcess, KeepsStandardStreamsApartUnlessMerged) {
  ChildProcess apart(shell("echo out; echo err >&2"));
  EXPECT_EQ(read_all(apart.stdout_fd()), "out\n");
  EXPECT_EQ(read_all(apart.stderr_fd()), "err\n");

  ChildProcess merged(shell("echo out; echo err >&2"), {.environment = {}, .merge_stderr = true});
  EXPECT_EQ(read_all(merged.stdout_fd()), "out\nerr\n");
  EXPECT_EQ(merged.stderr_fd(), -1);
}

TEST(ChildProcess, HandsArgumentsOverUnchanged) {
  ChildProcess child({"/usr/bin/printf", "[%s]", "a b", "$HOME; rm -rf \"x\"", "", "*"});
  EXPECT_EQ(read_all(child.stdout_fd()), "[a b][$HOME; rm -rf \"x\"][][*]");
}

TEST(ChildProcess, AddsToOurEnvironmentAndReplacesWhatIsThere) {
  setenv("WEFT_TEST_KEPT", "ours", 1);
  setenv("WEFT_TEST_REPLACED", "ours", 1);
  ChildProcess child(shell("echo $WEFT_TEST_KEPT $WEFT_TEST_REPLACED $WEFT_TEST_NEW"),
                     {.environment = {"WEFT_TEST_REPLACED=theirs", "WEFT_TEST_NEW=new"}, .merge_stderr = false});
  EXPECT_EQ(read_all(child.stdout_fd()), "ours theirs new\n");
}

TEST(ChildProcess, EchoesWhatIsWrittenToItsInput) {
  ChildProcess child({"cat"});
  EXPECT_EQ(child.write_stdin("hello"), 5u);
  child.close_stdin();
  EXPECT_EQ(child.stdin_fd(), -1);
  EXPECT_EQ(child.write_stdin("late"), std::nullopt);
  EXPECT_EQ(read_all(child.stdout_fd()), "hello");
  EXPECT_TRUE(wait_for(child).success());
}

TEST(ChildProcess, SurvivesWritingToAChildThatHasGone) {
  ChildProcess child(shell("exit 0"));
  wait_for(child);
  EXPECT_EQ(child.write_stdin("anyone there?"), std::nullopt);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0) << "the signal must not be left to strike later";
}

TEST(ChildProcess, SaysHowMuchOfALargeInputWentIn) {
  ChildProcess child({"sleep", "60"});
  const std::string large(1 << 22, 'x');
  const auto first = child.write_stdin(large);
  ASSERT_TRUE(first.has_value());
  EXPECT_GT(*first, 0u);
  EXPECT_LT(*first, large.size());
  EXPECT_EQ(child.write_stdin(large), 0u) << "the pipe is full";
}

TEST(ChildProcess, ReadsLargeOutputToItsEnd) {
  ChildProcess child(shell("head -c 30000000 /dev/zero"));
  EXPECT_EQ(read_all(child.stdout_fd()).size(), 30000000u);
  EXPECT_TRUE(wait_for(child).success());
}

TEST(ChildProcess, GivesTheChildNoDescriptorOfOurs) {
  const int leaky = open("/dev/null", O_RDONLY);  // without close-on-exec, as libraries do
  const int high = fcntl(leaky, F_DUPFD, 200);
  ChildProcess bystander({"sleep", "60"});
  ChildProcess child({"ls", "/proc/self/fd"});
  // 3 is the directory that ls reads.
  EXPECT_EQ(read_all(child.stdout_fd()), "0\n1\n2\n3\n");
  close(leaky);
  close(high);
}

TEST(ChildProcess, StartsTheChildWithSignalsAndLimitsAtTheirDefaults) {
  signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  ChildProcess child(shell("grep -E '^Sig(Blk|Ign)' /proc/self/status; ulimit -c; cut -d' ' -f6 /proc/$$/stat"));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(read_all(child.stdout_fd()),
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n" + std::to_string(child.pid()) + "\n");
}

TEST(ChildProcess, OurEndsAreNonBlockingAndCloseOnExec) {
  ChildProcess child({"sleep", "60"});
  for (const int fd : {child.stdin_fd(), child.stdout_fd(), child.stderr_fd()}) {
    EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  }
}

TEST(ChildProcess, EndsAChildThatObeys) {
  ChildProcess child({"sleep", "60"});
  const auto start = steady_clock::now();
  EXPECT_EQ(child.end(milliseconds(5000)).signal, SIGTERM);
  EXPECT_LT(steady_clock::now() - start, milliseconds(3000));
}

TEST(ChildProcess, KillsAChildThatIgnoresTerminationOnceTheGraceIsOver) {
  ChildProcess child(shell("trap '' TERM; echo $$; while :; do sleep 0.05; done"));
  read_pid(child.stdout_fd());
  const auto start = steady_clock::now();
  EXPECT_EQ(child.end(milliseconds(200)).signal, SIGKILL);
  const auto took = steady_clock::now() - start;
  EXPECT_GE(took, milliseconds(200));
  EXPECT_LT(took, milliseconds(5000));
}

TEST(ChildProcess, EndsAStoppedChild) {
  ChildProcess child({"sleep", "60"});
  child.signal_group(SIGSTOP);
  EXPECT_EQ(child.end(milliseconds(5000)).signal, SIGTERM);
}

TEST(ChildProcess, KillsWhatAChildLeavesRunningWhenItEnds) {
  ChildProcess child(shell("sleep 60 >/dev/null 2>&1 & echo $!"));
  const pid_t left_behind = read_pid(child.stdout_fd());
  EXPECT_TRUE(wait_for(child).success());
  EXPECT_TRUE(goes_away(left_behind));
}

TEST(ChildProcess, DestructorEndsChildAndGrandchildren) {
  pid_t grandchild = 0;
  pid_t leader = 0;
  {
    ChildProcess child(shell("trap '' TERM; sleep 60 & echo $!; wait; sleep 60"));
    leader = child.pid();
    grandchild = read_pid(child.stdout_fd());
    EXPECT_TRUE(is_alive(grandchild));
  }
  EXPECT_TRUE(goes_away(grandchild));
  EXPECT_FALSE(is_alive(leader)) << "not reaped";
}

TEST(ChildProcess, KillsGroupsOfTheirOwnInsideTheSession) {
  // As mpirun does with its local ranks. `set -m` gives every background job its own group.
  ChildProcess child({"/bin/bash", "-c",
                      "trap '' TERM; set -m; sh -c 'trap \"\" TERM; echo $$; sleep 60; sleep 60' & wait; sleep 60"});
  const pid_t own_group = read_pid(child.stdout_fd());
  ASSERT_NE(getpgid(own_group), child.pid());
  child.end(milliseconds(100));
  EXPECT_TRUE(goes_away(own_group));
}

TEST(ChildProcess, LetsGrandchildrenCleanUpWhenTheChildIsGoneFirst) {
  ChildProcess child(
      shell("sh -c \"trap 'sleep 0.3; echo cleaned up; exit' TERM; echo ready; while :; do sleep 0.05; done\" &"
            "trap 'exit 1' TERM; while :; do sleep 0.05; done"));
  std::string seen;
  char byte = 0;
  while (seen.find("ready") == std::string::npos) {
    if (read(child.stdout_fd(), &byte, 1) == 1) seen.push_back(byte);
  }
  EXPECT_EQ(child.end(milliseconds(10000)).exit_code, 1);
  EXPECT_THAT(read_all(child.stdout_fd()), HasSubstr("cleaned up"));
}

TEST(ChildProcess, RequestEndDoesNotWait) {
  ChildProcess child(shell("trap '' TERM; echo $$; while :; do sleep 0.05; done"));
  read_pid(child.stdout_fd());
  const auto start = steady_clock::now();
  child.request_end(milliseconds(300));
  EXPECT_LT(steady_clock::now() - start, milliseconds(250));
  EXPECT_EQ(child.poll(), std::nullopt);
  EXPECT_EQ(wait_for(child).signal, SIGKILL);
}

TEST(ChildProcess, SignalsNobodyOnceReaped) {
  ChildProcess child(shell("exit 0"));
  wait_for(child);
  child.signal_group(SIGKILL);  // would strike whoever has the number now
  EXPECT_TRUE(child.end(milliseconds(0)).success());
}

TEST(ChildProcess, MovesTheOwnership) {
  ChildProcess first({"sleep", "60"});
  const pid_t first_pid = first.pid();
  ChildProcess second({"sleep", "60"});
  const pid_t second_pid = second.pid();
  second = std::move(first);
  EXPECT_EQ(second.pid(), first_pid);
  EXPECT_FALSE(is_alive(second_pid)) << "what is replaced must be ended";
  ChildProcess third(std::move(second));
  EXPECT_TRUE(is_alive(first_pid));
  EXPECT_EQ(third.end(milliseconds(5000)).signal, SIGTERM);
}

TEST(ChildProcess, DiesWithTheThreadThatStartedIt) {
  std::optional<ChildProcess> child;
  std::thread([&] { child.emplace(std::vector<std::string>{"sleep", "60"}); }).join();
  EXPECT_EQ(wait_for(*child).signal, SIGKILL);
}

TEST_F(ChildProcessFiles, SaysWhyAProgramCannotBeStarted) {
  const std::string not_executable = write("plain", "#!/bin/sh\n", 0644);
  const std::string no_interpreter = write("broken", "#!/nowhere/sh\n", 0755);
  const std::string no_format = write("text", "echo hello\n", 0755);
  const struct {
    std::string program;
    std::string what;
  } cases[] = {
      {"weft-no-such-program", "cannot start 'weft-no-such-program': No such file or directory"},
      {"/nowhere/program", "cannot start '/nowhere/program': No such file or directory"},
      {"", "cannot start '': No such file or directory"},
      {folder_, "cannot start '" + folder_.string() + "': Permission denied"},
      {not_executable, "cannot start '" + not_executable + "': Permission denied"},
      {no_interpreter, "cannot start '" + no_interpreter + "': No such file or directory"},
      {no_format, "cannot start '" + no_format + "': Exec format error"},
  };
  for (const auto& c : cases) {
    try {
      ChildProcess child({c.program});
      ADD_FAILURE() << c.program << " was started";
    } catch (const RunError& error) {
      EXPECT_EQ(error.detail().what, c.what);
      EXPECT_NE(error.detail().next_step, "") << c.what;
    }
  }
}

TEST_F(ChildProcessFiles, FindsProgramsInPath) {
  const std::string program = write("weft-test-program", "#!/bin/sh\n", 0755);
  write("weft-test-plain", "#!/bin/sh\n", 0644);
  EXPECT_EQ(find_program("weft-test-program"), std::nullopt);
  EXPECT_EQ(find_program(program), program);
  const std::string before = std::getenv("PATH");
  setenv("PATH", (folder_.string() + ":" + before).c_str(), 1);
  EXPECT_EQ(find_program("weft-test-program"), program);
  EXPECT_EQ(find_program("weft-test-plain"), std::nullopt);
  setenv("PATH", before.c_str(), 1);
}

}  // namespace
}  // namespace weft::probes
