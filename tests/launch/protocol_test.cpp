#include "launch/protocol.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::launch {
namespace {

using probes::RankFaults;
using probes::RankMail;
using probes::RankPing;
using probes::RankStage;
using probes::Stage;
using testing::HasSubstr;

template <typename Message>
Message reread(const Message& message) {
  const auto parsed = parse_agent_message(format(AgentMessage(message)));
  if (const auto* malformed = std::get_if<Malformed>(&parsed)) ADD_FAILURE() << malformed->reason;
  return std::get<Message>(std::get<AgentMessage>(parsed));
}

TEST(AgentProtocol, AgentMessagesSurviveTheWire) {
  const AgentHello hello{1, "0.1.0", {"gpu001", "x86_64", "be6a1e94", 192, std::uint64_t{2} << 40}};
  EXPECT_EQ(reread(hello), hello);
  EXPECT_EQ(reread(Started{65537, 1, 3, 4711}), (Started{65537, 1, 3, 4711}));
  EXPECT_EQ(reread(FromRank{1, 3, RankStage{Stage::warm_up}}), (FromRank{1, 3, RankStage{Stage::warm_up}}));
  EXPECT_EQ(reread(RankExited{1, 3, 7, 0, false, "words\n"}), (RankExited{1, 3, 7, 0, false, "words\n"}));
  EXPECT_EQ(reread(RankExited{1, 3, {}, 11, true, ""}), (RankExited{1, 3, {}, 11, true, ""}));
  EXPECT_EQ(reread(ProbeState{2, 1, {{3, 'T'}, {4, 'S'}}}), (ProbeState{2, 1, {{3, 'T'}, {4, 'S'}}}));
  EXPECT_EQ(reread(Done{9}), Done{9});
  EXPECT_EQ(reread(Refused{{}, "no"}), (Refused{{}, "no"}));
  EXPECT_EQ(reread(Refused{5, "no"}), (Refused{5, "no"}));
}

template <typename Message>
Message reread_command(const Message& message) {
  const auto parsed = parse_controller_message(format(ControllerMessage(message)));
  if (const auto* malformed = std::get_if<Malformed>(&parsed)) ADD_FAILURE() << malformed->reason;
  return std::get<Message>(std::get<ControllerMessage>(parsed));
}

TEST(AgentProtocol, ControllerMessagesSurviveTheWire) {
  EXPECT_EQ(reread_command(ControllerHello{1, "0.1.0"}), (ControllerHello{1, "0.1.0"}));
  EXPECT_EQ(reread_command(Inspect{1, 2}), (Inspect{1, 2}));
  EXPECT_EQ(reread_command(Cancel{1, 2}), (Cancel{1, 2}));
  EXPECT_EQ(reread_command(Ping{0}), Ping{0});
  EXPECT_EQ(reread_command(Shutdown{}), Shutdown{});
  const auto mail = reread_command(ToRank{1, 2, RankMail{{"aa", ""}, {"", "0f"}}});
  EXPECT_EQ(std::get<RankMail>(mail.command), (RankMail{{"aa", ""}, {"", "0f"}}));
  const auto ping = reread_command(ToRank{1, 2, RankPing{}});
  EXPECT_TRUE(std::holds_alternative<RankPing>(ping.command));
  EXPECT_EQ(ping.probe, 1U);
  EXPECT_EQ(ping.rank, 2);
}

TEST(AgentProtocol, AStartCarriesTheParametersWhole) {
  StartRank start{.id = 3, .probe = 4, .program = "gloo", .deadline_s = 99.5, .parameters = {}};
  start.parameters.rank = 5;
  start.parameters.ranks = 8;
  start.parameters.ranks_on_host = 2;
  start.parameters.op = probes::Op::reduce_scatter;
  start.parameters.bytes = std::uint64_t{64} << 30;
  start.parameters.iterations = 20;
  start.parameters.warm_up_iterations = 3;
  start.parameters.interface = "ib0";
  start.parameters.address = "gpu006";
  start.parameters.timeouts = {1, 2, 3, 4, 5.5};
  start.parameters.faults.delay_share = 0.3;
  start.parameters.faults.exit_in_init = 0;
  start.parameters.faults.corrupt = true;
  const StartRank read = reread_command(start);
  EXPECT_EQ(format(ControllerMessage(read)), format(ControllerMessage(start)));
  EXPECT_EQ(read.parameters.faults, start.parameters.faults);
  EXPECT_EQ(read.parameters.bytes, start.parameters.bytes);
  EXPECT_EQ(read.deadline_s, 99.5);
}

TEST(AgentProtocol, BytesThatAreNotUtf8StillMakeAMessage) {
  const auto read = reread(RankExited{1, 0, {}, 9, false, "caf\xe9\xff"});
  EXPECT_EQ(read.last_output, "caf\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(AgentProtocol, LinesThatAreNoMessageSayWhy) {
  const struct {
    std::string line;
    std::string reason;
  } cases[] = {
      {"", "not JSON"},
      {"garbage", "not JSON"},
      {"{", "not JSON"},
      {"[]", "not a JSON object"},
      {"17", "not a JSON object"},
      {"null", "not a JSON object"},
      {"{}", "'type' is missing"},
      {R"({"type":17})", "'type' is not a string"},
      {R"({"type":"surprise"})", "its type is unknown"},
      {R"({"type":"done"})", "bad 'done' message: 'id' is missing"},
      {R"({"type":"done","id":-1})", "'id' is not an integer from 0"},
      {R"({"type":"done","id":1.5})", "'id' is not an integer"},
      {R"({"type":"done","id":"1"})", "'id' is not an integer"},
      {R"({"type":"done","id":18446744073709551615})", "'id' is not an integer"},
      {R"({"type":"done","id":99999999999999999999999})", "'id' is not an integer"},
      {R"({"type":"started","id":1,"probe":1,"rank":4096,"pid":1})", "'rank' is not an integer from 0 to 4095"},
      {R"({"type":"from_rank","probe":1,"rank":0,"message":17})", "'message' is not an object"},
      {R"({"type":"from_rank","probe":1,"rank":0,"message":{"type":"stage","stage":"lunch"}})",
       "'stage' is not a known stage"},
      {R"({"type":"exited","probe":1,"rank":0,"signal":0,"past_deadline":1,"last_output":""})",
       "neither true nor false"},
      {R"({"type":"probe_state","id":1,"probe":1,"ranks":[1,2],"states":"S"})", "differ in length"},
      {R"({"type":"hello","protocol":1,"version":"x","host":{}})", "in 'host': 'host_name' is missing"},
      {R"({"type":"refused","reason":")" + std::string(20'000, 'x') + "\"}", "'reason' is not a string of at most"},
      {std::string(100'000, '['), "nested more than 8 deep"},
      {R"({"type":"done","id":1,"x":)" + std::string(20, '[') + std::string(20, ']') + "}", "nested more than 8 deep"},
      {"{\"type\":\"refused\",\"reason\":\"\xff\"}", "not JSON"},
  };
  for (const auto& [line, reason] : cases) {
    const auto parsed = parse_agent_message(line);
    ASSERT_TRUE(std::holds_alternative<Malformed>(parsed)) << line.substr(0, 100);
    EXPECT_THAT(std::get<Malformed>(parsed).reason, HasSubstr(reason)) << line.substr(0, 100);
  }
}

TEST(AgentProtocol, CommandsThatAreNoneSayWhy) {
  StartRank start;
  start.parameters.ranks = 2;
  const std::string good = format(ControllerMessage(start));
  ASSERT_TRUE(std::holds_alternative<ControllerMessage>(parse_controller_message(good))) << good;
  const struct {
    std::string from;
    std::string to;
    std::string reason;
  } cases[] = {
      {R"("rank":0)", R"("rank":2)", "'rank' is not an integer from 0 to 1"},
      {R"("ranks":2)", R"("ranks":0)", "'ranks' is not an integer from 1"},
      {R"("iterations":1)", R"("iterations":0)", "'iterations' is not an integer from 1"},
      {R"("op":"all_reduce")", R"("op":"all_reduced")", "'op' is not a known operation"},
      {R"("faults":{})", R"("faults":{"delay_share":-1})", "in 'faults': 'delay_share' is not a number from 0"},
      {R"("run_s":120.0)", R"("run_s":"long")", "in 'timeouts': 'run_s' is not a number"},
      {R"("type":"parameters")", R"("type":"ping")", "'parameters' is another command"},
      {R"("deadline_s":0.0)", R"("deadline_s":null)", "'deadline_s' is not a number"},
  };
  for (const auto& [from, to, reason] : cases) {
    std::string line = good;
    ASSERT_NE(line.find(from), std::string::npos) << from << " in " << good;
    line.replace(line.find(from), from.size(), to);
    const auto parsed = parse_controller_message(line);
    ASSERT_TRUE(std::holds_alternative<Malformed>(parsed)) << line;
    EXPECT_THAT(std::get<Malformed>(parsed).reason, HasSubstr(reason));
  }
}

TEST(AgentProtocol, TheIdOfALineThatIsNoMessageIsStillRead) {
  EXPECT_EQ(id_of_line(R"({"type":"surprise","id":17})"), 17U);
  EXPECT_EQ(id_of_line(R"({"type":"surprise","id":-17})"), std::nullopt);
  EXPECT_EQ(id_of_line("garbage"), std::nullopt);
}

}  // namespace
}  // namespace weft::launch
