#include "probes/collective/command_template.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/error.h"

namespace weft::probes {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

using Use = CommandTemplate::Use;

const CommandValues kValues{
    .hosts = {"n01", "n02"}, .hostfile = "/tmp/h", .gpus_per_node = 8, .ranks = 16, .rail = 3, .bytes = 1024};

TEST(CommandTemplate, SplitsWordsAndFillsPlaceholdersIn) {
  const struct {
    std::string text;
    std::vector<std::string> words;
  } cases[] = {
      {"run {hosts}", {"run", "n01,n02"}},
      {"  run\t{hosts} \n", {"run", "n01,n02"}},
      {"run -H {hosts} -np {np}", {"run", "-H", "n01,n02", "-np", "16"}},
      {"run --nodelist={hostlist}:{gpus_per_node} x", {"run", "--nodelist=n[01-02]:8", "x"}},
      {"run {hostfile} {nhosts} {bytes}", {"run", "/tmp/h", "2", "1024"}},
      {"run 'a b' \"c d\" {hosts}", {"run", "a b", "c d", "n01,n02"}},
      {"run 'a'\"b\"c {hosts}", {"run", "abc", "n01,n02"}},
      {"run '' \"\" {hosts}", {"run", "", "", "n01,n02"}},
      {"run a\\ b \\'x\\' {hosts}", {"run", "a b", "'x'", "n01,n02"}},
      {"run \"say \\\"hi\\\" \\\\ \\n\" {hosts}", {"run", "say \"hi\" \\ \\n", "n01,n02"}},
      {"run 'back\\slash' {hosts}", {"run", "back\\slash", "n01,n02"}},
      {"run '{hosts}' \"{np}\"", {"run", "n01,n02", "16"}},
      {"run {{x}} \\{y\\} {hosts}", {"run", "{x}", "{y}", "n01,n02"}},
      {"run {{{hosts}}}", {"run", "{n01,n02}"}},
      {"run '$HOME | wc; `x`' 5$ {hosts}", {"run", "$HOME | wc; `x`", "5$", "n01,n02"}},
      {"run \\$HOME \\| {hosts}", {"run", "$HOME", "|", "n01,n02"}},
      {"run *.c ~ {hosts}", {"run", "*.c", "~", "n01,n02"}},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(CommandTemplate(c.text, Use::nodes).expand(kValues), ElementsAreArray(c.words)) << c.text;
  }
}

TEST(CommandTemplate, FillsTheRailIn) {
  const CommandTemplate command("run -H {hosts} -x NCCL_IB_HCA=mlx5_{rail}", Use::rail);
  EXPECT_THAT(command.expand(kValues), ElementsAre("run", "-H", "n01,n02", "-x", "NCCL_IB_HCA=mlx5_3"));
}

TEST(CommandTemplate, NeverSplitsOrInterpretsAValue) {
  const std::vector<std::string> hostile = {"a b", "$(reboot)", "'; rm -rf /; '", "\"", "{np}",
                                            "*",   "\n",        "--help",         "x\\"};
  CommandValues values = kValues;
  values.hosts = hostile;
  std::string joined;
  for (const std::string& host : hostile)
    joined += (joined.empty() ? "" : ",") + host;
  EXPECT_THAT(CommandTemplate("run -H {hosts} '{hosts}' x{hosts}y", Use::nodes).expand(values),
              ElementsAre("run", "-H", joined, joined, "x" + joined + "y"));
}

TEST(CommandTemplate, SaysWhatIsWrongAndWhere) {
  const struct {
    std::string text;
    Use use;
    std::string where;
    std::string what;
    std::string help;
  } cases[] = {
      {"run {host}", Use::nodes, "--command:column 5", "unknown placeholder {host}", "did you mean {hosts}?"},
      {"run {hosts} {gpu_per_node}", Use::nodes, "--command:column 13", "unknown placeholder {gpu_per_node}",
       "did you mean {gpus_per_node}?"},
      {"awk '{print $1}' {hostfile}", Use::nodes, "--command:column 6", "unknown placeholder {print $1}",
       "write {{ and }} for braces"},
      {"run {} {hosts}", Use::nodes, "--command:column 5", "unknown placeholder {}", "write {{ and }} for braces"},
      {"run {hosts", Use::nodes, "--command:column 5", "'{' is not closed", ""},
      {"run hosts}", Use::nodes, "--command:column 10", "'}' without '{'", ""},
      {"run 'a {hosts}", Use::nodes, "--command:column 5", "quote ' is not closed", ""},
      {"run {hosts} \"", Use::nodes, "--command:column 13", "quote \" is not closed", ""},
      {"run {hosts} \\", Use::nodes, "--command:column 13", "backslash at the end", ""},
      {"run {hosts} | tee log", Use::nodes, "--command:column 13",
       "'|' needs a shell, and the command runs without one", "script"},
      {"run {hosts} 2>&1", Use::nodes, "--command:column 14", "'>' needs a shell, and the command runs without one",
       "script"},
      {"run {hosts} -x $LD_LIBRARY_PATH", Use::nodes, "--command:column 16",
       "'$' needs a shell, and the command runs without one", "script"},
      {"run {hosts} ; ls", Use::nodes, "--command:column 13", "';' needs a shell, and the command runs without one",
       "script"},
      {"run {hosts} {rail}", Use::nodes, "--command:column 13", "{rail} has no value in a probe of whole nodes",
       "--rail-command"},
      {"run {hosts}", Use::rail, "--command",
       "the command does not say which rail to use: every rail's probe would be the same", "NCCL_IB_HCA"},
      {"run {np} {nhosts}", Use::nodes, "--command",
       "the command does not say on which hosts to run: every probe would be the same", "-H {hosts}"},
      {"", Use::nodes, "--command", "the command is empty", ""},
      {"  \t", Use::nodes, "--command", "the command is empty", ""},
      {std::string("run {hosts} \0x", 14), Use::nodes, "--command", "the command holds a zero byte", ""},
  };
  for (const auto& c : cases) {
    try {
      const CommandTemplate command(c.text, c.use);
      ADD_FAILURE() << c.text << " was accepted";
    } catch (const InputError& error) {
      EXPECT_EQ(error.detail().what, c.what) << c.text;
      EXPECT_EQ(error.detail().where, c.where) << c.text;
      EXPECT_THAT(error.detail().next_step, HasSubstr(c.help)) << c.text;
      EXPECT_NE(error.detail().expected, "") << c.text;
    }
  }
}

TEST(CommandTemplate, NamesTheFlagItCameFrom) {
  try {
    const CommandTemplate command("run {rial}", Use::rail, "--rail-command");
    ADD_FAILURE() << "was accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.detail().where, "--rail-command:column 5");
  }
}

TEST(CommandTemplate, FindsOutBeforeAnythingRunsThatTheProgramIsMissing) {
  EXPECT_NO_THROW(CommandTemplate("sh -c true {hosts}", Use::nodes).require_program());
  EXPECT_NO_THROW(CommandTemplate("/bin/sh {hosts}", Use::nodes).require_program());
  const struct {
    std::string text;
    std::string what;
    std::string help;
  } cases[] = {
      {"weft-no-such-mpirun {hosts}", "program 'weft-no-such-mpirun' not found or not executable", "full path"},
      {"/etc/passwd {hosts}", "program '/etc/passwd' not found or not executable", "full path"},
      {"'' {hosts}", "program '' not found or not executable", "full path"},
      {"NCCL_DEBUG=INFO mpirun {hosts}", "program 'NCCL_DEBUG=INFO' not found or not executable",
       "env NCCL_DEBUG=INFO"},
      {"{hosts} x", "the program itself depends on {hosts}", ""},
  };
  for (const auto& c : cases) {
    try {
      CommandTemplate(c.text, Use::nodes).require_program();
      ADD_FAILURE() << c.text << " was accepted";
    } catch (const InputError& error) {
      EXPECT_EQ(error.detail().what, c.what);
      EXPECT_THAT(error.detail().next_step, HasSubstr(c.help)) << c.text;
    }
  }
}

TEST(CommandTemplate, KnowsWhetherAHostFileIsNeeded) {
  EXPECT_TRUE(CommandTemplate("run --hostfile={hostfile}", Use::nodes).uses_hostfile());
  EXPECT_FALSE(CommandTemplate("run {hosts}", Use::nodes).uses_hostfile());
}

}  // namespace
}  // namespace weft::probes
