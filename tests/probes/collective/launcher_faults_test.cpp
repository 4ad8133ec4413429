#include "probes/collective/launcher_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::probes {
namespace {

const std::vector<std::string> kNodes = {"node001", "node002.example.org", "node003"};

TEST(LauncherFaults, NameTheNodeThatCrashed) {
  const struct {
    std::string log;
    std::vector<NodeFault> faults;
  } cases[] = {
      {"mpirun noticed that process rank 3 with PID 811 on node node003 exited on signal 11 (Segmentation fault).\n",
       {{.node = "node003", .rank = 3, .stage = Stage::run, .what = "killed by signal 11 (Segmentation fault)"}}},
      {"prterun noticed that process rank 8 with PID 0 on node NODE002 exited on signal 7 (Bus error).\r\n",
       {{.node = "node002.example.org", .rank = 8, .stage = Stage::run, .what = "killed by signal 7 (Bus error)"}}},
      {"srun: error: node003: task 3: Segmentation fault (core dumped)\nsrun: error: node003: task 4: Segmentation "
       "fault\n",
       {{.node = "node003", .rank = 3, .stage = Stage::run, .what = "Segmentation fault"}}},
      {"srun: error: node001: tasks 0-1: Out Of Memory\n",
       {{.node = "node001", .rank = 0, .stage = Stage::run, .what = "Out Of Memory"}}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(launcher_faults(c.log, kNodes), c.faults) << c.log;
}

TEST(LauncherFaults, NameNobodyWhoMerelyWaited) {
  const std::string logs[] = {
      "",
      "srun: error: node003: tasks 8-15: Exited with exit code 1\n",
      "srun: error: node003: task 3: Killed\nsrun: error: node001: task 0: Terminated\n",
      "mpirun noticed that process rank 3 with PID 811 on node node003 exited on signal 9 (Killed).\n",
      "mpirun noticed that process rank 3 with PID 811 on node elsewhere exited on signal 11 (Segmentation fault).\n",
      "mpirun noticed that process rank",
      "process rank 3 on node  exited on signal 11",
      "srun: error: ",
      "srun: error: node003: task",
  };
  for (const std::string& log : logs)
    EXPECT_THAT(launcher_faults(log, kNodes), ::testing::IsEmpty()) << log;
}

}  // namespace
}  // namespace weft::probes
