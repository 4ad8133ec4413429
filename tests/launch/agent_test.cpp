#include "launch/agent.h"

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/pipe_reading.h"
#include "launch/protocol.h"
#include "probes/child_process.h"
#include "probes/collective/line_reader.h"
#include "tests/launch/marked_processes.h"

namespace weft::launch {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// An agent process and this test at the other end of its pipe.
class AgentAtHand {
 public:
  explicit AgentAtHand(std::vector<std::string> environment = {})
      : child_({WEFT_BINARY_DIR "/weft-agent-test"}, {.environment = std::move(environment), .merge_stderr = false}) {}

  probes::ChildProcess& child() { return child_; }

  void send_line(const std::string& line) {
    std::string rest = line + "\n";
    while (!rest.empty()) {
      const auto written = child_.write_stdin(rest);
      if (!written) return;
      rest.erase(0, *written);
      if (*written == 0) std::this_thread::sleep_for(milliseconds(1));
    }
  }
  void send(const ControllerMessage& message) { send_line(format(message)); }
  void greet() {
    send(ControllerHello{kProtocolVersion, "test"});
    hear<AgentHello>();
  }

  /// The next message of that type; others before it are passed over.
  template <typename Message>
  Message hear() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < deadline) {
      while (const auto line = lines_.next()) {
        const auto parsed = parse_agent_message(*line);
        if (const auto* malformed = std::get_if<Malformed>(&parsed))
          ADD_FAILURE() << malformed->reason << ": " << *line;
        const auto* message = std::get_if<AgentMessage>(&parsed);
        if (message != nullptr && std::holds_alternative<Message>(*message)) return std::get<Message>(*message);
      }
      if (!read_available(child_.stdout_fd(), 1 << 20, [this](std::string_view bytes) { lines_.feed(bytes); })) {
        ADD_FAILURE() << "the agent has ended";
        return {};
      }
      std::this_thread::sleep_for(milliseconds(2));
    }
    ADD_FAILURE() << "no such message for 10 s";
    return {};
  }

  /// How it ended, if it does within `limit`.
  std::optional<probes::ExitStatus> ends_within(milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < deadline) {
      if (const auto status = child_.poll()) return status;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return std::nullopt;
  }

 private:
  probes::ChildProcess child_;
  probes::LineReader lines_{kMaxLineBytes};
};

/// Rank 0 of 2, which waits for an address that never comes.
StartRank lonely_rank(std::uint64_t probe = 1, int rank = 0) {
  StartRank start{.id = 10 + probe, .probe = probe, .program = "gloo", .deadline_s = 60, .parameters = {}};
  start.parameters.rank = rank;
  start.parameters.ranks = 2;
  start.parameters.bytes = 4096;
  start.parameters.address = "127.0.0.1";
  return start;
}

TEST(Agent, GreetsWithItsVersionAndHost) {
  AgentAtHand agent;
  const AgentHello hello = agent.hear<AgentHello>();
  EXPECT_EQ(hello.protocol, kProtocolVersion);
  EXPECT_EQ(hello.version, build_version());
  EXPECT_NE(hello.host.host_name, "");
  EXPECT_GT(hello.host.cores, 0);
  EXPECT_GT(hello.host.available_memory_bytes, 0U);
  EXPECT_THAT(hello.host.boot_id, SizeIs(36));
}

TEST(Agent, AnswersPings) {
  AgentAtHand agent;
  agent.greet();
  agent.send(Ping{77});
  EXPECT_EQ(agent.hear<Done>().id, 77U);
}

TEST(Agent, EndsWithItsInput) {
  AgentAtHand agent;
  agent.greet();
  agent.child().close_stdin();
  EXPECT_EQ(agent.ends_within(milliseconds(2000))->exit_code, 0);
}

TEST(Agent, EndsWhenTold) {
  AgentAtHand agent;
  agent.greet();
  agent.send(Shutdown{});
  EXPECT_EQ(agent.ends_within(milliseconds(2000))->exit_code, 0);
}

TEST(Agent, RefusesAControllerOfAnotherProtocol) {
  AgentAtHand agent;
  agent.send(ControllerHello{kProtocolVersion + 1, "9.0"});
  EXPECT_THAT(agent.hear<Refused>().reason, HasSubstr("speaks protocol 1, the controller speaks 2"));
  EXPECT_EQ(agent.ends_within(milliseconds(2000))->exit_code, 1);
}

TEST(Agent, AnswersWhatItDoesNotUnderstand) {
  const struct {
    std::string line;
    std::string reason;
    std::optional<std::uint64_t> id;
  } cases[] = {
      {"garbage", "not understood: not JSON", {}},
      {R"({"type":"dance","id":5})", "its type is unknown", 5},
      {R"({"type":"cancel","id":6})", "'probe' is missing", 6},
      {R"({"type":"start","id":7,"probe":1})", "'program' is missing", 7},
      {std::string("\0\xff\x1b[2J", 6), "not JSON", {}},
  };
  AgentAtHand agent;
  agent.greet();
  for (const auto& [line, reason, id] : cases) {
    agent.send_line(line);
    const Refused refused = agent.hear<Refused>();
    EXPECT_THAT(refused.reason, HasSubstr(reason));
    EXPECT_EQ(refused.id, id);
  }
  agent.send(Ping{1});
  EXPECT_EQ(agent.hear<Done>().id, 1U) << "it goes on";
}

TEST(Agent, WantsAGreetingFirst) {
  AgentAtHand agent;
  agent.send(Ping{3});
  const Refused refused = agent.hear<Refused>();
  EXPECT_EQ(refused.reason, "the first message must be 'hello'");
  EXPECT_EQ(refused.id, 3U);
}

TEST(Agent, AnEndlessLineIsItsEnd) {
  AgentAtHand agent;
  agent.greet();
  agent.send_line(std::string(kMaxLineBytes + 10, 'x'));
  EXPECT_THAT(agent.hear<Refused>().reason, HasSubstr("more than 4194304 bytes"));
  EXPECT_EQ(agent.ends_within(milliseconds(2000))->exit_code, 1);
}

TEST(Agent, StartsOnlyWhatItKnows) {
  AgentAtHand agent;
  agent.greet();
  StartRank start = lonely_rank();
  start.program = "/bin/sh";
  agent.send(start);
  const Refused refused = agent.hear<Refused>();
  EXPECT_THAT(refused.reason, HasSubstr("starts only the rank program 'gloo'"));
  EXPECT_EQ(refused.id, start.id);
}

TEST(Agent, StartsARankOnce) {
  AgentAtHand agent;
  agent.greet();
  agent.send(lonely_rank());
  EXPECT_EQ(agent.hear<Started>().rank, 0);
  agent.send(lonely_rank());
  EXPECT_EQ(agent.hear<Refused>().reason, "this rank already runs");
}

TEST(Agent, PassesOnWhatItsRankSays) {
  AgentAtHand agent;
  agent.greet();
  agent.send(lonely_rank());
  const FromRank stage = agent.hear<FromRank>();
  EXPECT_EQ(stage, (FromRank{1, 0, probes::RankStage{probes::Stage::rendezvous}}));
  const FromRank post = agent.hear<FromRank>();
  EXPECT_THAT(std::get<probes::RankPost>(post.message).each, SizeIs(2));
}

TEST(Agent, TellsTheStateOfItsRanks) {
  AgentAtHand agent;
  agent.greet();
  agent.send(lonely_rank());
  const Started started = agent.hear<Started>();
  agent.hear<FromRank>();
  agent.hear<FromRank>();
  agent.send(Inspect{20, 1});
  EXPECT_THAT(agent.hear<ProbeState>().ranks, SizeIs(1));
  EXPECT_EQ(agent.hear<FromRank>().message, probes::RankMessage(probes::RankProgress{probes::Stage::rendezvous, 0}));
  kill(static_cast<pid_t>(started.pid), SIGSTOP);
  std::this_thread::sleep_for(milliseconds(20));
  agent.send(Inspect{21, 1});
  EXPECT_EQ(agent.hear<ProbeState>(), (ProbeState{21, 1, {{0, 'T'}}}));
  agent.send(Inspect{22, 99});
  EXPECT_THAT(agent.hear<ProbeState>().ranks, IsEmpty()) << "of a probe it does not know";
}

TEST(Agent, CancelEndsTheRanksOfItsProbeOnly) {
  const MarkedProcesses processes;
  AgentAtHand agent;
  agent.greet();
  agent.send(lonely_rank(1));
  agent.hear<Started>();
  agent.send(lonely_rank(2));
  const Started other = agent.hear<Started>();
  agent.send(Cancel{30, 1});
  EXPECT_EQ(agent.hear<RankExited>().probe, 1U);
  EXPECT_EQ(agent.hear<Done>().id, 30U);
  EXPECT_THAT(processes.find("weft-rank"), testing::ElementsAre(static_cast<pid_t>(other.pid)));
}

TEST(Agent, CancelReachesAStoppedRank) {
  AgentAtHand agent;
  agent.greet();
  agent.send(lonely_rank());
  kill(static_cast<pid_t>(agent.hear<Started>().pid), SIGSTOP);
  agent.send(Cancel{30, 1});
  EXPECT_EQ(agent.hear<Done>().id, 30U);
}

TEST(Agent, ReportsHowARankEnded) {
  AgentAtHand agent;
  agent.greet();
  agent.send(lonely_rank());
  kill(static_cast<pid_t>(agent.hear<Started>().pid), SIGKILL);
  const RankExited exited = agent.hear<RankExited>();
  EXPECT_EQ(exited.signal, SIGKILL);
  EXPECT_EQ(exited.exit_code, std::nullopt);
  EXPECT_FALSE(exited.past_deadline);
}

TEST(Agent, EndOfInputEndsTheRanksToo) {
  const MarkedProcesses processes;
  AgentAtHand agent;
  agent.greet();
  agent.send(lonely_rank());
  kill(static_cast<pid_t>(agent.hear<Started>().pid), SIGSTOP);
  agent.child().close_stdin();
  EXPECT_TRUE(processes.all_gone_within(milliseconds(2000)));
  EXPECT_EQ(agent.ends_within(milliseconds(100))->exit_code, 0);
}

TEST(Agent, AKilledAgentTakesItsRanksAlong) {
  const MarkedProcesses processes;
  AgentAtHand agent;
  agent.greet();
  agent.send(lonely_rank());
  agent.hear<Started>();
  kill(agent.child().pid(), SIGKILL);
  EXPECT_TRUE(processes.all_gone_within(milliseconds(2000)));
}

TEST(Agent, EndsARankAtItsDeadline) {
  AgentAtHand agent;
  agent.greet();
  StartRank start = lonely_rank();
  start.deadline_s = 0.3;
  agent.send(start);
  const RankExited exited = agent.hear<RankExited>();
  EXPECT_TRUE(exited.past_deadline);
  EXPECT_THAT(exited.last_output, HasSubstr("outlived the probe's limit"));
}

TEST(Agent, EndsRanksWhenTheControllerFallsSilent) {
  AgentAtHand agent({"WEFT_TEST_SILENCE_MS=300"});
  agent.greet();
  agent.send(lonely_rank());
  const RankExited exited = agent.hear<RankExited>();
  EXPECT_TRUE(exited.past_deadline);
  EXPECT_THAT(exited.last_output, HasSubstr("silent"));
}

TEST(Agent, SaysWhenTheRankProgramIsMissing) {
  AgentAtHand agent({"WEFT_TEST_RANKS=/no/such/folder"});
  agent.greet();
  agent.send(lonely_rank());
  EXPECT_THAT(agent.hear<Refused>().reason, HasSubstr("cannot start '/no/such/folder/weft-rank-gloo'"));
}

TEST(RankProgram, EndsWithItsInput) {
  probes::ChildProcess rank({WEFT_BINARY_DIR "/weft-rank-gloo"});
  rank.close_stdin();
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_EQ(rank.poll()->exit_code, 4);
}

TEST(RankProgram, EndsWithItsInputInTheMiddleOfAProbe) {
  probes::ChildProcess rank({WEFT_BINARY_DIR "/weft-rank-gloo"});
  rank.write_stdin(probes::format(probes::RankCommand(lonely_rank().parameters)) + "\n");
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_FALSE(rank.poll());
  rank.close_stdin();
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_EQ(rank.poll()->exit_code, 4);
}

TEST(RankProgram, SaysWhyItCannotUseItsParameters) {
  for (const std::string line : {"garbage", R"({"type":"ping"})", R"({"type":"parameters"})"}) {
    probes::ChildProcess rank({WEFT_BINARY_DIR "/weft-rank-gloo"});
    rank.write_stdin(line + "\n");
    std::this_thread::sleep_for(milliseconds(300));
    std::string output;
    read_available(rank.stdout_fd(), 4096, [&](std::string_view bytes) { output += bytes; });
    ASSERT_TRUE(output.ends_with('\n')) << line;
    const auto parsed = probes::parse_rank_message(output.substr(0, output.size() - 1));
    ASSERT_TRUE(std::holds_alternative<probes::RankMessage>(parsed)) << output;
    const auto* error = std::get_if<probes::RankError>(&std::get<probes::RankMessage>(parsed));
    ASSERT_NE(error, nullptr) << output;
    EXPECT_EQ(error->kind, probes::RankError::Kind::local);
    EXPECT_EQ(rank.poll()->exit_code, 3);
  }
}

}  // namespace
}  // namespace weft::launch
