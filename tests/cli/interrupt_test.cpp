#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/contract.h"
#include "tests/cli/weft_process.h"

namespace weft::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A run of several rounds whose end is known: node4 is slow.
std::vector<std::string> run_of_several_rounds(const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {
      "bisect",   "--nodes",        "6", "--bytes", "512K", "--iterations", "3", "--inject", "node[1-6]:rate=100Mbit",
      "--inject", "node4:delay=60%"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// The signal comes while round 2 is measured.
Circumstances signal_in_round_two(int signal) {
  Circumstances circumstances;
  circumstances.signal = signal;
  circumstances.once_stderr_shows = "round 1 ";
  return circumstances;
}

TEST(Interrupt, EndsEverythingKeepsTheRoundsAndTheRunGoesOnToTheSameVerdict) {
  for (const auto& [signal, status] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}}) {
    const WeftProcess weft;
    const Outcome cut = weft.run(run_of_several_rounds({"--json"}), signal_in_round_two(signal));
    EXPECT_EQ(cut.status, status) << cut.out << cut.err;
    EXPECT_THAT(weft.survivors_after_two_seconds(), IsEmpty());

    const json kept = only_document(weft.run({"history", "show", "1", "--json"}));
    expect_fields_of_the_contract(kept);
    EXPECT_GE(kept["rounds"].get<int>(), 1) << "what was measured is in the history";
    EXPECT_FALSE(kept["whole_gbps"].is_null());

    const Outcome resumed = weft.run({"bisect", "--resume", "1", "--json", "--quiet"});
    EXPECT_EQ(resumed.status, 1) << resumed.err;
    const json document = only_document(resumed);
    expect_fields_of_the_contract(document);
    EXPECT_THAT(convicted(document), ElementsAre("node node4"));
    EXPECT_EQ(document["asked"], 6);
    EXPECT_THAT(weft.survivors_after_two_seconds(), IsEmpty());
  }
}

TEST(Interrupt, ADocumentOfAnInterruptedRunConvictsNobodyTooEarly) {
  const WeftProcess weft;
  const Outcome cut = weft.run(run_of_several_rounds({"--json"}), signal_in_round_two(SIGINT));
  EXPECT_EQ(cut.status, 130) << cut.err;
  const json document = only_document(cut);
  expect_fields_of_the_contract(document);
  EXPECT_EQ(document["interrupted"], true);
  EXPECT_NE(document["verdict"], "healthy");
  EXPECT_THAT(convicted(document), IsEmpty());
}

TEST(Interrupt, ARunThatWasResumedMeasuresOnlyWhatWasMissing) {
  const WeftProcess weft;
  weft.run(run_of_several_rounds(), signal_in_round_two(SIGINT));
  const Outcome resumed = weft.run({"bisect", "--resume", "1"});
  EXPECT_EQ(resumed.status, 1) << resumed.err;
  EXPECT_THAT(resumed.err, testing::Not(HasSubstr("round 1 "))) << "the first round is not measured again";
  EXPECT_THAT(resumed.err, HasSubstr("round 2 "));
  const Outcome again = weft.run({"bisect", "--resume", "2"});
  EXPECT_EQ(again.status, 2) << "that one came to its end";
}

TEST(Interrupt, EndsACommandThatHangs) {
  const WeftProcess weft;
  const std::string command = weft.write("perf", "#!/bin/bash\n(sleep 50 # ${1}\n) &\nsleep 50\n");
  const auto begin = std::chrono::steady_clock::now();
  const Outcome cut = weft.run({"bisect", "--hosts", "n[1-4]", "--probe", "exec", "--command", command + " {hosts}"},
                               SIGINT, std::chrono::milliseconds(500));
  EXPECT_EQ(cut.status, 130) << cut.out << cut.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_THAT(weft.survivors_after_two_seconds(), IsEmpty()) << "the command's own children neither";
}

TEST(Interrupt, AControllerThatIsKilledLeavesNoProcessAndItsRoundsBehind) {
  const WeftProcess weft;
  Circumstances kill_in_round_three;
  kill_in_round_three.signal = SIGKILL;
  kill_in_round_three.once_stderr_shows = "round 2 ";  // a round is kept before the next one begins
  const Outcome killed = weft.run(run_of_several_rounds(), kill_in_round_three);
  EXPECT_EQ(killed.status, 128 + SIGKILL);
  EXPECT_THAT(weft.survivors_after_two_seconds(), IsEmpty());
  const Outcome shown = weft.run({"history", "show", "1"});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("whole set"));
  const Outcome resumed = weft.run({"bisect", "--resume", "1", "--json", "--quiet"});
  EXPECT_EQ(resumed.status, 1) << resumed.err;
  EXPECT_THAT(convicted(only_document(resumed)), ElementsAre("node node4"));
}

/// `lines` play the site's command; the controller is killed while it hangs.
std::vector<int> survivors_of_a_killed_controller(const std::string& lines) {
  const WeftProcess weft;
  const std::string command = weft.write("perf", "#!/bin/bash\n" + lines);
  const Outcome killed = weft.run({"bisect", "--hosts", "n[1-4]", "--probe", "exec", "--command", command + " {hosts}"},
                                  SIGKILL, std::chrono::milliseconds(500));
  EXPECT_EQ(killed.status, 128 + SIGKILL);
  return weft.survivors_after_two_seconds();
}

TEST(Interrupt, AHangingCommandOfAKilledControllerIsGoneToo) {
  EXPECT_THAT(survivors_of_a_killed_controller("exec sleep 50 # $1\n"), IsEmpty());
}

}  // namespace
}  // namespace weft::cli
