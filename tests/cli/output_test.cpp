#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/child_process.h"
#include "tests/cli/contract.h"
#include "tests/cli/weft_process.h"

namespace weft::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kEscape = "\x1b[";

TEST(Help, IsThereForEveryCommandOnStandardOutput) {
  const WeftProcess weft;
  const std::vector<std::string> commands[] = {{},          {"bisect"},          {"analyze"}, {"expect"},
                                               {"history"}, {"history", "list"}, {"agent"},   {"history", "show"}};
  for (std::vector<std::string> arguments : commands) {
    arguments.push_back("--help");
    const Outcome outcome = weft.run(arguments);
    EXPECT_EQ(outcome.status, 0) << testing::PrintToString(arguments);
    EXPECT_THAT(outcome.out, HasSubstr("Usage: ")) << testing::PrintToString(arguments);
    EXPECT_THAT(outcome.err, IsEmpty()) << testing::PrintToString(arguments);
  }
}

TEST(Help, NamesEveryCommandThatThereIs) {
  const WeftProcess weft;
  const std::string help = weft.run({"--help"}).out;
  for (const char* command : {"bisect", "analyze", "expect", "history", "agent"})
    EXPECT_THAT(help, HasSubstr(command));
}

TEST(Help, GivesExamplesForWhatUsersRun) {
  const WeftProcess weft;
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"bisect", "--help"},
                                                    {"analyze", "--help"},
                                                    {"expect", "--help"},
                                                    {"history", "list", "--help"},
                                                    {"history", "show", "--help"}}) {
    EXPECT_THAT(weft.run(arguments).out, ContainsRegex("Examples?:\n  weft ")) << testing::PrintToString(arguments);
  }
}

TEST(Help, NamesTheCommonFlagsAndTheExitStatus) {
  const WeftProcess weft;
  const std::string help = weft.run({"bisect", "--help"}).out;
  for (const char* flag : {"--hosts", "--hostfile", "--exclude", "--fabric", "--launcher", "--probe", "--db", "--json",
                           "--quiet", "--no-color", "--timeout"}) {
    EXPECT_THAT(help, HasSubstr(flag));
  }
  EXPECT_THAT(help, HasSubstr("Exit status"));
}

TEST(Version, IsOneLine) {
  const WeftProcess weft;
  const Outcome outcome = weft.run({"--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, ContainsRegex("^weft [0-9]+\\.[0-9]+\\.[0-9]+\n$"));
}

/// Three nodes of this machine; what they reach does not matter here.
std::vector<std::string> short_run(const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"bisect", "--nodes", "3", "--bytes", "64K", "--inject", "node1:corrupt"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Output, HasNoEscapeSequencesWhereThereIsNoTerminal) {
  const WeftProcess weft;
  for (const char* term : {"TERM=xterm-256color", "TERM=dumb"}) {
    const Outcome outcome = weft.run(short_run(), Circumstances{{term}, 0, ""});
    EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
    EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
    EXPECT_THAT(outcome.out, Not(IsEmpty()));
  }
}

TEST(Output, IsQuietOnStandardErrorWhenAskedTo) {
  const WeftProcess weft;
  EXPECT_THAT(weft.run(short_run({"--quiet"})).err, IsEmpty());
  EXPECT_THAT(weft.run(short_run()).err, HasSubstr("round 1"));
}

/// What a terminal would show of a quiet run.
std::string on_a_terminal(const WeftProcess& weft, const std::vector<std::string>& more,
                          const std::vector<std::string>& environment) {
  std::string line = WeftProcess::program();
  for (const std::string& argument : short_run(more))
    line += " '" + argument + "'";
  Circumstances circumstances;
  circumstances.environment = environment;
  circumstances.environment.push_back("TERM=xterm-256color");
  return weft.run_program({"script", "-qec", line, "/dev/null"}, circumstances).out;
}

TEST(Output, HasColourOnATerminalUnlessItIsTurnedOff) {
  if (!probes::find_program("script")) GTEST_SKIP() << "no script(1) here to play a terminal";
  const WeftProcess weft;
  EXPECT_THAT(on_a_terminal(weft, {"--quiet"}, {"NO_COLOR="}), HasSubstr(kEscape)) << "an empty NO_COLOR is none";
  EXPECT_THAT(on_a_terminal(weft, {"--quiet"}, {"NO_COLOR=1"}), Not(HasSubstr(kEscape)));
  EXPECT_THAT(on_a_terminal(weft, {"--quiet", "--no-color"}, {"NO_COLOR="}), Not(HasSubstr(kEscape)));
}

TEST(Output, OfADocumentIsOneDocumentOnATerminalToo) {
  if (!probes::find_program("script")) GTEST_SKIP() << "no script(1) here to play a terminal";
  const WeftProcess weft;
  Outcome outcome;
  outcome.out = on_a_terminal(weft, {"--quiet", "--json"}, {"NO_COLOR="});
  EXPECT_EQ(only_document(outcome)["schema"], "weft.bisect/1");
}

}  // namespace
}  // namespace weft::cli
