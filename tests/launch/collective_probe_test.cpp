#include "launch/collective_probe.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::launch {
namespace {

using probes::Measurement;
using probes::NodeFault;
using probes::RankError;
using probes::RankPost;
using probes::RankProgress;
using probes::RankResult;
using probes::RankStage;
using probes::Stage;
using probes::Status;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A probe of ranks 0 … n-1 on nodes a, b, c, … with a clock of its own.
class Script {
 public:
  explicit Script(int ranks, int iterations = 2) : probe_(make(ranks, iterations)) { outgoing(); }

  static std::string node(int rank) { return std::string(1, static_cast<char>('a' + rank)); }

  std::vector<CollectiveProbe::Outgoing> outgoing() { return probe_.take_outgoing(); }
  CollectiveProbe& probe() { return probe_; }
  CollectiveProbe::TimePoint now() const { return now_; }

  void wait(double seconds) {
    now_ += std::chrono::duration_cast<CollectiveProbe::TimePoint::duration>(std::chrono::duration<double>(seconds));
    probe_.pass_time(now_);
  }
  std::optional<std::string> hear(int rank, const AgentMessage& message) {
    return probe_.hear(node(rank), message, now_);
  }
  std::optional<std::string> say(int rank, const probes::RankMessage& message) {
    return hear(rank, FromRank{7, rank, message});
  }
  void start(int rank) { EXPECT_EQ(hear(rank, Started{1, 7, rank, 100 + rank}), std::nullopt); }
  /// Up to and with `last`.
  void reach(int rank, Stage last) {
    if (last >= Stage::start) start(rank);
    for (const Stage stage : {Stage::rendezvous, Stage::init, Stage::warm_up, Stage::run, Stage::check}) {
      if (stage > last) return;
      EXPECT_EQ(say(rank, RankStage{stage}), std::nullopt);
      if (stage != Stage::rendezvous) continue;
      EXPECT_EQ(say(rank, RankPost{"aa", pieces()}), std::nullopt);
    }
  }
  void exit(int rank, std::optional<int> code, int signal = 0, const std::string& words = "") {
    hear(rank, RankExited{7, rank, code, signal, false, words});
  }
  void state(int rank, char letter) { hear(rank, ProbeState{1, 7, {{rank, letter}}}); }
  void all_nodes_done() {
    for (int rank = 0; rank < ranks_; ++rank)
      hear(rank, Done{1});
  }
  const Measurement& end() {
    all_nodes_done();
    EXPECT_TRUE(probe_.finished());
    return probe_.measurement();
  }

 private:
  CollectiveProbe make(int ranks, int iterations) {
    ranks_ = ranks;
    probes::ProbeSpec spec;
    spec.bytes = 4'000'000;
    spec.iterations = iterations;
    spec.timeouts = {10, 20, 30, 40, 50};
    probes::Group group;
    std::vector<CollectiveProbe::RankPlan> plan;
    for (int rank = 0; rank < ranks; ++rank) {
      probes::RankParameters parameters;
      parameters.rank = rank;
      parameters.ranks = ranks;
      group.nodes.push_back(node(rank));
      plan.push_back({node(rank), parameters});
    }
    return CollectiveProbe(7, "gloo", group, spec, plan, now_);
  }
  std::vector<std::string> pieces() const { return std::vector<std::string>(static_cast<std::size_t>(ranks_), "0f"); }

  int ranks_ = 0;
  CollectiveProbe::TimePoint now_{};
  CollectiveProbe probe_;
};

auto fault(const std::string& node, int rank, Stage stage, const std::string& what) {
  return AllOf(Field(&NodeFault::node, node), Field(&NodeFault::rank, rank), Field(&NodeFault::stage, stage),
               Field(&NodeFault::what, HasSubstr(what)));
}

TEST(CollectiveProbe, AnIterationTakesAsLongAsItsSlowestRank) {
  Script script(2);
  for (const int rank : {0, 1})
    script.reach(rank, Stage::check);
  script.wait(8);
  script.say(0, RankResult{{1, 4}, 0, ""});
  script.say(1, RankResult{{2, 3}, 0, ""});
  script.exit(0, 0);
  EXPECT_FALSE(script.probe().finished()) << "until the last rank is gone";
  script.exit(1, 0);
  ASSERT_TRUE(script.probe().finished());
  const Measurement& m = script.probe().measurement();
  EXPECT_EQ(m.status, Status::ok);
  EXPECT_THAT(m.iteration_s, ElementsAre(2, 4));
  EXPECT_EQ(m.time_s, 3);
  EXPECT_DOUBLE_EQ(m.algbw_gbps, 4e6 / 3 / 1e9);
  EXPECT_DOUBLE_EQ(m.busbw_gbps, m.algbw_gbps) << "2(n-1)/n is 1 for two ranks";
  EXPECT_EQ(m.wall_s, 8);
}

TEST(CollectiveProbe, MailGoesOutOnceEveryRankHasPosted) {
  Script script(2);
  script.start(0);
  script.start(1);
  script.say(0, RankStage{Stage::rendezvous});
  script.say(1, RankStage{Stage::rendezvous});
  script.say(0, RankPost{"00", {"", "01"}});
  EXPECT_THAT(script.outgoing(), IsEmpty());
  script.say(1, RankPost{"11", {"10", ""}});
  const auto mail = script.outgoing();
  ASSERT_THAT(mail, SizeIs(2));
  EXPECT_EQ(mail[0].node, "a");
  EXPECT_EQ(std::get<probes::RankMail>(std::get<ToRank>(mail[0].message).command),
            (probes::RankMail{{"00", "11"}, {"", "10"}}));
  EXPECT_EQ(std::get<probes::RankMail>(std::get<ToRank>(mail[1].message).command),
            (probes::RankMail{{"00", "11"}, {"01", ""}}));
}

TEST(CollectiveProbe, StagesHaveTheirOwnLimits) {
  const struct {
    Stage stage;
    double limit_s;
  } cases[] = {{Stage::start, 10},   {Stage::rendezvous, 20}, {Stage::init, 30},
               {Stage::warm_up, 40}, {Stage::run, 50},        {Stage::check, 50}};
  for (const auto& [stage, limit_s] : cases) {
    Script script(2);
    script.reach(0, stage);
    script.reach(1, stage);
    script.outgoing();
    script.wait(limit_s - 0.1);
    EXPECT_THAT(script.outgoing(), IsEmpty()) << to_string(stage);
    script.wait(0.2);
    const auto asked = script.outgoing();
    ASSERT_THAT(asked, SizeIs(2)) << to_string(stage);
    EXPECT_TRUE(std::holds_alternative<Inspect>(asked[0].message));
  }
}

TEST(CollectiveProbe, WhoNeverStartedIsMissing) {
  Script script(3);
  script.reach(0, Stage::rendezvous);
  script.reach(2, Stage::rendezvous);
  script.wait(10.1);
  script.state(0, 'S');
  script.state(2, 'S');
  script.say(0, RankProgress{Stage::rendezvous, 0});
  script.say(2, RankProgress{Stage::rendezvous, 0});
  const Measurement& m = script.end();
  EXPECT_EQ(m.status, Status::hung);
  EXPECT_THAT(m.node_faults, ElementsAre(fault("b", 1, Stage::start, "never started")));
  EXPECT_EQ(m.reason, "no progress in start for 10 s: rank 1 on b: never started; waiting for it: a,c");
}

TEST(CollectiveProbe, WhoHasNotPostedIsMissingFromTheRendezvous) {
  Script script(3);
  script.reach(0, Stage::rendezvous);
  script.start(1);
  script.start(2);
  script.say(1, RankStage{Stage::rendezvous});
  script.say(2, RankStage{Stage::rendezvous});
  script.wait(20.1);
  for (const int rank : {0, 1, 2})
    script.say(rank, RankProgress{Stage::rendezvous, 0});
  EXPECT_THAT(script.end().node_faults, ElementsAre(fault("b", 1, Stage::rendezvous, "has not joined the rendezvous"),
                                                    fault("c", 2, Stage::rendezvous, "has not joined the rendezvous")));
}

struct StateCase {
  char state;
  const char* what;
};

TEST(CollectiveProbe, WhoDoesNotAnswerIsMissingFromTheCollective) {
  for (const auto& [state, what] : {StateCase{'T', "stopped"}, StateCase{'D', "stuck in the kernel"},
                                    StateCase{'S', "does not answer (state S)"}}) {
    Script script(3);
    for (const int rank : {0, 1, 2})
      script.reach(rank, Stage::run);
    script.wait(50.1);
    for (const int rank : {0, 2}) {
      script.state(rank, 'S');
      script.say(rank, RankProgress{Stage::run, 3});
    }
    script.state(1, state);
    script.wait(2.1);
    EXPECT_THAT(script.end().node_faults, ElementsAre(fault("b", 1, Stage::run, what))) << state;
  }
}

TEST(CollectiveProbe, WhoIsAnIterationBehindIsMissing) {
  Script script(3);
  for (const int rank : {0, 1, 2})
    script.reach(rank, Stage::run);
  script.wait(50.1);
  script.say(0, RankProgress{Stage::run, 3});
  script.say(1, RankProgress{Stage::run, 2});
  script.say(2, RankProgress{Stage::run, 3});
  EXPECT_THAT(script.end().node_faults, ElementsAre(fault("b", 1, Stage::run, "behind the others, in iteration 2")));
}

TEST(CollectiveProbe, WhereAllWaitForEachOtherNobodyIsBlamed) {
  Script script(3);
  for (const int rank : {0, 1, 2})
    script.reach(rank, Stage::run);
  script.wait(50.1);
  for (const int rank : {0, 1, 2})
    script.say(rank, RankProgress{Stage::run, 3});
  const Measurement& m = script.end();
  EXPECT_EQ(m.status, Status::hung);
  EXPECT_THAT(m.node_faults, IsEmpty());
  EXPECT_THAT(m.reason, HasSubstr("all 3 wait for each other"));
}

TEST(CollectiveProbe, AMajorityThatIsBehindIsNoCulprit) {
  Script script(3);
  for (const int rank : {0, 1, 2})
    script.reach(rank, Stage::run);
  script.wait(50.1);
  script.say(0, RankProgress{Stage::run, 3});
  script.say(1, RankProgress{Stage::run, 2});
  script.say(2, RankProgress{Stage::run, 2});
  EXPECT_THAT(script.end().node_faults, IsEmpty());
}

TEST(CollectiveProbe, ACrashIsBlamedAndTheLostPeersAreNot) {
  for (const bool crash_is_heard_first : {true, false}) {
    Script script(3);
    for (const int rank : {0, 1, 2})
      script.reach(rank, Stage::run);
    const auto crash = [&] { script.exit(1, {}, 11, "cuda: illegal address\n"); };
    if (crash_is_heard_first) crash();
    script.say(0, RankError{Stage::run, RankError::Kind::peer, "Connection closed by peer"});
    script.say(2, RankError{Stage::run, RankError::Kind::peer, "Connection closed by peer"});
    script.wait(1.0);
    if (!crash_is_heard_first) crash();
    script.wait(0.5);
    const Measurement& m = script.end();
    EXPECT_EQ(m.status, Status::failed);
    EXPECT_THAT(m.node_faults, ElementsAre(fault("b", 1, Stage::run,
                                                 "killed by signal 11 (Segmentation fault); its last "
                                                 "words: cuda: illegal address")));
    EXPECT_THAT(m.reason, HasSubstr("waiting for it: a,c"));
  }
}

TEST(CollectiveProbe, AllCrashesOfTheSameMomentAreNamed) {
  Script script(3);
  for (const int rank : {0, 1, 2})
    script.reach(rank, Stage::init);
  script.exit(0, 1);
  script.wait(0.1);
  script.exit(2, 1);
  script.wait(0.3);
  EXPECT_THAT(script.end().node_faults,
              ElementsAre(fault("a", 0, Stage::init, "exit code 1"), fault("c", 2, Stage::init, "exit code 1")));
}

TEST(CollectiveProbe, WhereEveryoneOnlyLostAPeerNobodyIsBlamed) {
  Script script(2);
  for (const int rank : {0, 1})
    script.reach(rank, Stage::run);
  for (const int rank : {0, 1})
    script.say(rank, RankError{Stage::run, RankError::Kind::peer, "Timed out"});
  const Measurement& m = script.end();
  EXPECT_EQ(m.status, Status::failed);
  EXPECT_THAT(m.node_faults, IsEmpty());
  EXPECT_THAT(m.reason, HasSubstr("rank 0 on a lost a peer in run (Timed out)"));
}

TEST(CollectiveProbe, ARankThatCannotGoOnByItselfIsBlamed) {
  Script script(2);
  script.reach(0, Stage::rendezvous);
  script.reach(1, Stage::start);
  script.say(1, RankStage{Stage::rendezvous});
  script.say(1, RankError{Stage::rendezvous, RankError::Kind::local, "no such interface"});
  script.wait(0.4);
  EXPECT_THAT(script.end().node_faults, ElementsAre(fault("b", 1, Stage::rendezvous, "no such interface")));
}

TEST(CollectiveProbe, ARankThatRefusesSaysNothingAboutItsNode) {
  Script script(2);
  script.start(0);
  script.start(1);
  script.say(0, RankError{Stage::start, RankError::Kind::refused, "not enough memory"});
  script.wait(0.4);
  const Measurement& m = script.end();
  EXPECT_EQ(m.status, Status::refused);
  EXPECT_THAT(m.node_faults, IsEmpty());
  EXPECT_EQ(m.reason, "a: not enough memory");
}

TEST(CollectiveProbe, AProgramThatCannotBeStartedIsAFault) {
  Script script(2);
  script.start(0);
  const std::uint64_t second_start = (7ULL << 16) + 1;
  EXPECT_EQ(script.hear(1, Refused{second_start, "cannot start 'weft-rank-gloo'"}), std::nullopt);
  script.wait(0.4);
  const Measurement& m = script.end();
  EXPECT_EQ(m.status, Status::failed);
  EXPECT_THAT(m.node_faults, ElementsAre(fault("b", 1, Stage::start, "could not be started: cannot start")));
}

TEST(CollectiveProbe, ALostNodeIsUnreachable) {
  Script script(2);
  for (const int rank : {0, 1})
    script.reach(rank, Stage::run);
  script.probe().lose_node("b", "its agent ended", script.now());
  script.say(0, RankError{Stage::run, RankError::Kind::peer, "Connection closed by peer"});
  script.wait(0.4);
  const Measurement& m = script.end();
  EXPECT_EQ(m.status, Status::unreachable);
  EXPECT_THAT(m.node_faults, ElementsAre(fault("b", -1, Stage::run, "its agent ended")));
}

TEST(CollectiveProbe, WrongSumsEverywhereBlameNobody) {
  Script script(2);
  for (const int rank : {0, 1})
    script.reach(rank, Stage::check);
  script.wait(4);
  for (const int rank : {0, 1})
    script.say(rank, RankResult{{1, 1}, 3, "element 5 is 2 instead of 3"});
  for (const int rank : {0, 1})
    script.exit(rank, 0);
  ASSERT_TRUE(script.probe().finished());
  const Measurement& m = script.probe().measurement();
  EXPECT_EQ(m.status, Status::corrupt);
  EXPECT_THAT(m.node_faults, IsEmpty());
  EXPECT_THAT(m.reason, HasSubstr("3 wrong values, the first: element 5 is 2 instead of 3"));
}

TEST(CollectiveProbe, ARankThatDoesNotLeaveAfterItsResultCostsNothingButTime) {
  Script script(2);
  for (const int rank : {0, 1})
    script.reach(rank, Stage::check);
  script.wait(4);
  for (const int rank : {0, 1})
    script.say(rank, RankResult{{1, 1}, 0, ""});
  script.exit(0, 0);
  script.wait(5.1);
  EXPECT_EQ(script.end().status, Status::ok);
}

TEST(CollectiveProbe, AnAgentThatNeverConfirmsIsNoted) {
  Script script(2);
  script.probe().cancel(script.now());
  script.hear(0, Done{1});
  script.wait(1.6);
  ASSERT_TRUE(script.probe().finished());
  EXPECT_EQ(script.probe().measurement().reason, "cancelled");
  EXPECT_THAT(script.probe().measurement().notes, ElementsAre("b has not confirmed that its ranks are gone"));
}

TEST(CollectiveProbe, WhatANodeSaysReachesPeopleOnlyPrintable) {
  Script script(2);
  script.start(0);
  script.start(1);
  script.exit(1, {}, 9, "\033[2Jowned\007\n");
  script.wait(0.4);
  EXPECT_THAT(script.end().reason, HasSubstr("\\x1b[2Jowned\\x07"));
}

TEST(CollectiveProbe, ContradictionsAreFound) {
  const auto lie_of = [](const std::function<std::optional<std::string>(Script&)>& act) {
    Script script(2);
    script.reach(0, Stage::check);
    script.wait(1);
    return act(script).value_or("believed");
  };
  EXPECT_EQ(lie_of([](Script& s) { return s.say(0, RankStage{Stage::run}); }), "stage run comes after stage check");
  EXPECT_EQ(lie_of([](Script& s) { return s.say(0, RankPost{"", {}}); }), "a post of 0 pieces for 2 ranks in check");
  EXPECT_EQ(lie_of([](Script& s) {
              return s.say(0, RankResult{{1}, 0, ""});
            }),
            "a result of 1 iterations instead of 2");
  EXPECT_EQ(lie_of([](Script& s) {
              return s.say(0, RankResult{{0, 1}, 0, ""});
            }),
            "a result with an iteration that took no time");
  EXPECT_EQ(lie_of([](Script& s) {
              return s.say(0, RankResult{{5, 5}, 0, ""});
            }),
            "a result whose iterations took 10 s, in a probe of 1 s");
  EXPECT_EQ(lie_of([](Script& s) { return s.hear(0, Started{1, 7, 0, 1}); }), "rank 0 cannot be started there");
  EXPECT_EQ(lie_of([](Script& s) {
              return s.hear(0, FromRank{7, 1, RankStage{Stage::rendezvous}});
            }),
            "rank 1 does not run there");
  EXPECT_EQ(lie_of([](Script& s) { return s.hear(0, ProbeState{1, 7, {{1, 'S'}}}); }), "rank 1 has no state there");
  EXPECT_EQ(lie_of([](Script& s) {
              s.exit(0, 0);
              return s.say(0, RankResult{{0.1, 0.1}, 0, ""});
            }),
            "rank 0 speaks after its end");
}

}  // namespace
}  // namespace weft::launch
