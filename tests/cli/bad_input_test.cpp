#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/weft_process.h"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace fs = std::filesystem;

/// Refused: status 2, every part of `said` in the message, nothing on standard output, no run in the history.
void expect_refused(const WeftProcess& weft, const std::vector<std::string>& arguments,
                    const std::vector<std::string>& said) {
  const Outcome outcome = weft.run(arguments);
  const std::string shown = testing::PrintToString(arguments);
  EXPECT_EQ(outcome.status, 2) << shown << outcome.out << outcome.err;
  for (const std::string& part : said)
    EXPECT_THAT(outcome.err, HasSubstr(part)) << shown;
  EXPECT_THAT(outcome.out, IsEmpty()) << shown;
  EXPECT_THAT(outcome.err, Not(HasSubstr("round 1"))) << shown << ": nothing is run";
  if (fs::exists(weft.path("weft.db"))) {
    EXPECT_THAT(weft.run({"history", "list", "--json"}).out, HasSubstr("\"runs\": []")) << shown;
  }
}

std::vector<std::string> bisect(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"bisect"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return arguments;
}

TEST(BadInput, AHostListIsRefusedWithTheColumnOfItsError) {
  const WeftProcess weft;
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"", {"--hosts", "no nodes"}},
      {"n[1-4", {"--hosts", "column 2", "]"}},
      {"n]1", {"--hosts", "column 2", "]"}},
      {"n[]", {"--hosts", "column 3"}},
      {"n[3-1]", {"--hosts", "column 3", "3-1"}},
      {"n[a-b]", {"--hosts", "column 3", "\"a\""}},
      {"gpu[001-064],n[3-1]", {"--hosts", "column 16", "3-1"}},
      {"n[1-3/0]", {"--hosts", "column", "step"}},
      {"n[1-9999999999]", {"--hosts", "1000000 hosts"}},
      {"!n1", {"--hosts", "no host"}},
  };
  for (const auto& [hosts, said] : cases) {
    expect_refused(weft, {"bisect", "--hosts", hosts, "--probe", "exec", "--command", "true {hosts}"}, said);
  }
}

TEST(BadInput, AHostFileIsRefusedWithItsNameAndLine) {
  const WeftProcess weft;
  const std::string empty = weft.write("empty.txt", "# nobody yet\n\n");
  const std::string broken = weft.write("broken.txt", "n1\nn[2-\n");
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {empty, {empty, "no host"}},
      {broken, {broken + ":2:2", "]"}},
      {weft.path("missing.txt").string(), {"missing.txt", "No such file"}},
      {weft.path(".").string(), {weft.path(".").string()}},
  };
  for (const auto& [file, said] : cases) {
    expect_refused(weft, {"bisect", "--hostfile", file, "--probe", "exec", "--command", "true {hosts}"}, said);
  }
}

TEST(BadInput, AFabricFileIsRefusedWithLineKeyAndWhatWasExpected) {
  const WeftProcess weft;
  struct Case {
    const char* text;
    const char* position;  ///< line, and column where the key or value begins
    std::vector<std::string> said;
  };
  const Case cases[] = {
      {"rails: eight\nunits:\n  - {name: su1, nodes: \"n[1-4]\"}\n", ":1:8", {"rails", "eight", "number"}},
      {"rails: 1\nunits:\n  - {name: su1, nodes: \"n[1-4]\", leafs: l1}\n", ":3:34", {"leafs", "leaves"}},
      {"units:\n  - {name: su1, nodes: \"n[1-4]\"}\n  - {name: su2, nodes: \"n[4-6]\"}\n", ":3:", {"n4", "su1", "su2"}},
      {"rails: 8\nunits:\n  - {name: su1, nodes: \"n[1-4]\", leaves: \"l[0-2]\"}\n", ":3:", {"leaves", "3", "8"}},
      {"units:\n  - {name: su1, nodes: \"n[1-4\"}\n", ":2:", {"nodes", "column 2"}},
      {"units: [\n", ":", {"YAML"}},
      {"", ":", {"units"}},
  };
  for (const Case& the : cases) {
    const std::string file = weft.write("fabric.yaml", the.text);
    std::vector<std::string> said = the.said;
    said.push_back(file + the.position);
    expect_refused(weft, {"bisect", "--fabric", file, "--probe", "exec", "--command", "true {hosts}"}, said);
  }
  expect_refused(weft,
                 {"bisect", "--fabric", weft.path("no.yaml").string(), "--probe", "exec", "--command", "x {hosts}"},
                 {"no.yaml", "No such file"});
}

TEST(BadInput, AHostOutsideTheFabricIsNamed) {
  const WeftProcess weft;
  const std::string fabric = weft.write("fabric.yaml", "units:\n  - {name: su1, nodes: \"n[1-4]\"}\n");
  expect_refused(weft,
                 {"bisect", "--fabric", fabric, "--hosts", "n[3-5]", "--probe", "exec", "--command", "true {hosts}"},
                 {"n5", fabric});
}

TEST(BadInput, ACommandTemplateThatCannotWorkIsRefused) {
  const WeftProcess weft;
  const std::string no_program = weft.write("notes.txt", "not a program\n");
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"true", {"--command", "{hosts}"}},
      {"true {np} {bytes}", {"--command", "{hosts}", "{hostlist}", "{hostfile}"}},
      {"true {host}", {"--command", "column 6", "{host}", "{hosts}"}},
      {"true {hosts", {"--command", "column 6"}},
      {"true '{hosts}", {"--command", "column 6", "quote"}},
      {"true {hosts} | tee log", {"--command", "column 14", "shell"}},
      {"true {hosts} {rail}", {"--command", "column 14", "{rail}"}},
      {"no-such-program {hosts}", {"--command", "no-such-program", "PATH"}},
      {no_program + " {hosts}", {"--command", no_program, "executable"}},
  };
  for (const auto& [command, said] : cases) {
    expect_refused(weft, {"bisect", "--hosts", "n[1-4]", "--probe", "exec", "--command", command}, said);
  }
  expect_refused(weft, {"bisect", "--hosts", "n[1-4]", "--probe", "exec"}, {"--command"});
  expect_refused(
      weft,
      {"bisect", "--hosts", "n[1-4]", "--probe", "exec", "--command", "true {hosts}", "--rail-command", "true {hosts}"},
      {"--rail-command", "{rail}"});
}

TEST(BadInput, AFlagsValueOutOfRangeIsNamedWithTheFlag) {
  const WeftProcess weft;
  const std::pair<std::vector<std::string>, std::vector<std::string>> cases[] = {
      {{"--nodes", "0"}, {"--nodes", "0"}},
      {{"--nodes", "x"}, {"--nodes", "x"}},
      {{"--nodes", "4", "--bytes", "0"}, {"--bytes", "'0'", "expected"}},
      {{"--nodes", "4", "--bytes", "-1"}, {"--bytes", "-1"}},
      {{"--nodes", "4", "--bytes", "1X"}, {"--bytes", "1X"}},
      {{"--nodes", "4", "--bytes", "99999999T"}, {"--bytes", "99999999T"}},
      {{"--nodes", "4", "--tolerance", "200%"}, {"--tolerance", "200%", "expected"}},
      {{"--nodes", "4", "--tolerance", "0%"}, {"--tolerance", "0%"}},
      {{"--nodes", "4", "--tolerance", "little"}, {"--tolerance", "little"}},
      {{"--nodes", "4", "--timeout", "0"}, {"--timeout", "0"}},
      {{"--nodes", "4", "--timeout", "soon"}, {"--timeout", "soon"}},
      {{"--nodes", "4", "--iterations", "0"}, {"--iterations", "0"}},
      {{"--nodes", "4", "--gpus-per-node", "0"}, {"--gpus-per-node", "0"}},
      {{"--nodes", "4", "--expect-busbw", "-5"}, {"--expect-busbw", "-5"}},
      {{"--nodes", "4", "--expect-busbw", "fast"}, {"--expect-busbw", "fast"}},
      {{"--nodes", "4", "--op", "all_red"}, {"--op", "all_red", "all_reduce"}},
      {{"--nodes", "4", "--probe", "mpi"}, {"--probe", "mpi", "exec"}},
      {{"--nodes", "4", "--inject", "node1"}, {"--inject", "node1"}},
      {{"--nodes", "4", "--inject", "node1:dela=30%"}, {"--inject", "dela", "delay"}},
      {{"--nodes", "4", "--inject", "node1:delay=much"}, {"--inject", "delay=much", "30%"}},
      {{"--nodes", "4", "--inject", "node9:crash"}, {"--inject", "node9", "node[1-4]"}},
      {{"--nodes", "4", "--resume", "last"}, {"--resume", "last"}},
  };
  for (const auto& [flags, said] : cases)
    expect_refused(weft, bisect(flags), said);
}

TEST(BadInput, AnExpectationThatIsNoNumberIsRefused) {
  const WeftProcess weft;
  for (const char* value : {"nan", "inf", "-inf"}) {
    expect_refused(weft, bisect({"--nodes", "3", "--bytes", "64K", "--quiet", "--expect-busbw", value}),
                   {"--expect-busbw", value});
  }
}

TEST(BadInput, FlagsThatContradictEachOtherAreRefused) {
  const WeftProcess weft;
  expect_refused(weft, bisect({"--nodes", "4", "--hosts", "n[1-4]"}), {"--hosts", "--nodes"});
  expect_refused(weft, bisect({"--nodes", "4", "--command", "true {hosts}"}), {"--command", "--probe"});
  expect_refused(weft, bisect({"--nodes", "2", "--exclude", "node[1-2]"}), {"--exclude"});
  expect_refused(weft, bisect({"--hosts", "n1", "--hosts", "n2"}), {"--hosts"});
  expect_refused(weft, bisect({}), {"--hosts", "--hostfile"});
  expect_refused(weft, bisect({"--hosts", "a[1-4]"}), {"other machines", "--launcher local"});
}

TEST(BadInput, UnknownFlagsAndMissingCommandsAreRefusedWithAWayOn) {
  const WeftProcess weft;
  expect_refused(weft, {"bisect", "--nodes", "4", "--no-such-flag"}, {"--no-such-flag", "--help"});
  expect_refused(weft, {"history", "show", "everything"}, {"everything"});
  expect_refused(weft, {"history", "list", "--limit", "0"}, {"--limit", "0"});
  expect_refused(weft, {}, {"--help"});
  expect_refused(weft, {"history"}, {"--help"});
}

TEST(BadInput, AnUnknownCommandIsNamed) {
  const WeftProcess weft;
  expect_refused(weft, {"bisec", "--nodes", "4"}, {"bisec", "--help"});
  expect_refused(weft, {"history", "lst"}, {"lst", "--help"});
}

TEST(BadInput, ChangesNothing) {
  const WeftProcess weft;
  const std::vector<std::string> cases[] = {bisect({"--nodes", "4", "--bytes", "0"}),
                                            bisect({"--nodes", "4", "--tolerance", "200%"}),
                                            bisect({"--hosts", "n[1-4]", "--probe", "exec", "--command", "true"}),
                                            bisect({"--nodes", "4", "--inject", "node9:crash"})};
  for (const std::vector<std::string>& arguments : cases) {
    expect_refused(weft, arguments, {});
    EXPECT_FALSE(fs::exists(weft.path("weft.db"))) << testing::PrintToString(arguments) << ": no history is begun";
    fs::remove(weft.path("weft.db"));
  }
}

TEST(BadInput, ADatabaseThatIsADirectoryIsRefusedBeforeAnythingRuns) {
  const WeftProcess weft;
  const std::string directory = weft.path("state").string();
  fs::create_directory(directory);
  expect_refused(weft, bisect({"--nodes", "2", "--bytes", "64K", "--db", directory}), {directory, "directory"});
  expect_refused(weft, {"history", "list", "--db", directory}, {directory, "directory"});
  EXPECT_THAT(weft.survivors(), IsEmpty());
}

TEST(BadInput, ARunThatIsNotThereIsRefused) {
  const WeftProcess weft;
  expect_refused(weft, {"history", "list"}, {"weft.db"});
  expect_refused(weft, {"history", "show", "1"}, {"weft.db"});
  expect_refused(weft, {"bisect", "--resume", "1"}, {"weft.db"});
}

/// Root may write everywhere, so that a test of what may not be written becomes somebody else.
std::vector<std::string> as_nobody(const std::vector<std::string>& arguments) {
  std::vector<std::string> command;
  if (geteuid() == 0) command = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  command.push_back(WeftProcess::program());
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

TEST(Database, InADirectoryThatMayNotBeWrittenCannotRun) {
  const WeftProcess weft;
  fs::permissions(weft.path("."), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  if (weft.run_program(as_nobody({"--version"})).status != 0) GTEST_SKIP() << "another user cannot run this build";
  const fs::path directory = weft.path("read-only");
  fs::create_directory(directory);
  fs::permissions(directory,
                  fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  const std::string database = (directory / "weft.db").string();
  const Outcome outcome =
      weft.run_program(as_nobody({"bisect", "--nodes", "2", "--bytes", "64K", "--quiet", "--db", database}));
  EXPECT_EQ(outcome.status, 4) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(database), HasSubstr("--db")));
  EXPECT_THAT(outcome.out, IsEmpty()) << "said before anything is run";
  EXPECT_THAT(weft.survivors(), IsEmpty());
}

TEST(Database, ThatIsNoDatabaseIsLeftAlone) {
  const WeftProcess weft;
  const std::string text =
      "this is my diary, and it is long enough to have the header of a database file: it has not\n";
  const std::string file = weft.write("diary.txt", text);
  const Outcome outcome = weft.run({"bisect", "--nodes", "2", "--bytes", "64K", "--quiet", "--db", file});
  EXPECT_THAT(outcome.status, testing::AnyOf(2, 4)) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(file));
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(fs::file_size(file), text.size());
}

}  // namespace
}  // namespace weft::cli
