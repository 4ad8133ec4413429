#include "launch/agent_prober.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/injection.h"
#include "launch/local_launcher.h"
#include "tests/launch/marked_processes.h"

namespace weft::launch {
namespace {

using probes::Group;
using probes::Measurement;
using probes::NodeFault;
using probes::Op;
using probes::ProbeSpec;
using probes::Stage;
using probes::Status;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kAgent = WEFT_BINARY_DIR "/weft-agent-test";

ProbeSpec spec_of(std::uint64_t bytes) {
  ProbeSpec spec;
  spec.bytes = bytes;
  spec.iterations = 4;
  return spec;
}

GlooProber make_prober(const std::vector<std::string>& hosts, const std::vector<std::string>& injected = {},
                       GlooProberOptions options = {}) {
  std::vector<Injection> injections;
  for (const std::string& text : injected)
    injections.push_back(parse_injection(text));
  options.faults = faults_by_node(injections, hosts);
  return GlooProber(std::make_unique<LocalLauncher>(kAgent), std::move(options));
}

std::vector<Measurement> measure(GlooProber& prober, const std::vector<Group>& groups, const ProbeSpec& spec) {
  const std::atomic<bool> never{false};
  return prober.measure(groups, spec, never, {});
}

std::string joined(const Measurement& m) {
  return std::string(to_string(m.status)) + " in " + to_string(m.stage) + ": " + m.reason;
}

struct OpCase {
  Op op;
  int ranks;
};

class GlooOps : public testing::TestWithParam<OpCase> {};

TEST_P(GlooOps, EveryRankGetsTheRightValues) {
  const auto [op, ranks] = GetParam();
  const auto hosts = local_node_names(ranks);
  GlooProber prober = make_prober(hosts);
  ProbeSpec spec = spec_of(100'000);
  spec.op = op;
  const Measurement m = measure(prober, {{hosts, {}}}, spec)[0];
  EXPECT_EQ(m.status, Status::ok) << joined(m);
  EXPECT_THAT(m.iteration_s, SizeIs(4));
  EXPECT_GT(m.time_s, 0);
  EXPECT_NEAR(m.busbw_gbps, m.algbw_gbps * probes::bus_factor(op, ranks), 1e-12);
  EXPECT_EQ(m.ranks, ranks);
  EXPECT_EQ(m.reason, "");
}

INSTANTIATE_TEST_SUITE_P(Ops, GlooOps,
                         testing::Values(OpCase{Op::all_reduce, 8}, OpCase{Op::all_reduce, 3},
                                         OpCase{Op::all_gather, 5}, OpCase{Op::reduce_scatter, 2},
                                         OpCase{Op::reduce_scatter, 5}, OpCase{Op::broadcast, 4},
                                         OpCase{Op::sendrecv, 3}),
                         [](const auto& test) {
                           return std::string(to_string(test.param.op)) + "_" + std::to_string(test.param.ranks);
                         });

// ---- a slow node is slow

/// 8 nodes whose links are emulated at 200 Mbit/s: 1 MiB takes 73 ms, and the noise of loopback does not count.
constexpr const char* kEmulatedLinks = "node[1-8]:rate=200Mbit";
constexpr double kEmulatedGbps = 0.025;

TEST(GlooProber, EmulatedLinksGiveTheirRateAsBusBandwidth) {
  const auto hosts = local_node_names(8);
  GlooProber prober = make_prober(hosts, {kEmulatedLinks});
  const auto all = measure(prober, {{hosts, {}}}, spec_of(1 << 20))[0];
  EXPECT_NEAR(all.busbw_gbps, kEmulatedGbps, 0.1 * kEmulatedGbps) << joined(all);
  const auto pairs = measure(prober, {{{"node1", "node2"}, {}}, {{"node3", "node4"}, {}}}, spec_of(1 << 20));
  for (const Measurement& pair : pairs)
    EXPECT_NEAR(pair.busbw_gbps, kEmulatedGbps, 0.1 * kEmulatedGbps) << joined(pair);
}

TEST(GlooProber, ADelayedNodeSlowsEveryGroupItIsIn) {
  const auto hosts = local_node_names(8);
  GlooProber prober = make_prober(hosts, {kEmulatedLinks, "node5:delay=30%"});
  const auto m =
      measure(prober, {{{"node1", "node2", "node3", "node4"}, {}}, {{"node5", "node6", "node7", "node8"}, {}}},
              spec_of(1 << 20));
  EXPECT_NEAR(m[0].busbw_gbps, kEmulatedGbps, 0.1 * kEmulatedGbps) << joined(m[0]);
  EXPECT_NEAR(m[1].busbw_gbps, kEmulatedGbps / 1.3, 0.1 * kEmulatedGbps) << joined(m[1]);
}

TEST(GlooProber, ADelayInTimeIsAddedToEveryIteration) {
  const auto hosts = local_node_names(2);
  GlooProber prober = make_prober(hosts, {"node2:delay=50ms"});
  const auto m = measure(prober, {{hosts, {}}}, spec_of(4096))[0];
  ASSERT_EQ(m.status, Status::ok) << joined(m);
  for (const double time_s : m.iteration_s)
    EXPECT_GE(time_s, 0.05);
}

// ---- faults: who is named, and that nothing is left behind

struct FaultCase {
  std::string name;
  std::string injected;
  Status status;
  Stage stage;
  std::string what;  ///< part of what is said of the guilty rank
};

void PrintTo(const FaultCase& test, std::ostream* out) {
  *out << test.name;
}

class GlooFaults : public testing::TestWithParam<FaultCase> {};

constexpr double kDeadline_s = 3;

ProbeSpec spec_with_deadline() {
  ProbeSpec spec = spec_of(4096);
  spec.timeouts = {kDeadline_s, kDeadline_s, kDeadline_s, kDeadline_s, kDeadline_s};
  return spec;
}

TEST_P(GlooFaults, TheMissingRankIsNamedTheOthersWaitAndNothingIsLeft) {
  const FaultCase& test = GetParam();
  const MarkedProcesses processes;
  const auto hosts = local_node_names(8);
  GlooProber prober = make_prober(hosts, {test.injected});
  const auto begin = std::chrono::steady_clock::now();
  const Measurement m = measure(prober, {{hosts, {}}}, spec_with_deadline())[0];
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), kDeadline_s + 5);
  EXPECT_EQ(m.status, test.status) << joined(m);
  EXPECT_EQ(m.stage, test.stage) << joined(m);
  EXPECT_THAT(m.node_faults,
              ElementsAre(AllOf(Field(&NodeFault::node, "node6"), Field(&NodeFault::rank, 5),
                                Field(&NodeFault::stage, test.stage), Field(&NodeFault::what, HasSubstr(test.what)))))
      << joined(m);
  EXPECT_THAT(m.reason, AllOf(HasSubstr("rank 5 on node6"), HasSubstr("waiting for it: node[1-5,7-8]")));
  EXPECT_THAT(m.notes, IsEmpty());
  EXPECT_THAT(processes.find("weft-rank"), IsEmpty());
  EXPECT_THAT(processes.find("weft-agent"), SizeIs(8)) << "an agent did not survive its rank";
}

INSTANTIATE_TEST_SUITE_P(
    Faults, GlooFaults,
    testing::Values(
        FaultCase{"never_starts", "node6:never_starts", Status::hung, Stage::start, "never started"},
        FaultCase{"sleeps_before_init", "node6:sleep_before_init", Status::hung, Stage::rendezvous, "has not joined"},
        FaultCase{"stops_in_the_collective", "node6:sigstop", Status::hung, Stage::run, "is stopped"},
        FaultCase{"exits_in_init", "node6:exit=1", Status::failed, Stage::init, "exit code 1"},
        FaultCase{"crashes_in_the_collective", "node6:crash", Status::failed, Stage::run, "killed by signal 11"}),
    [](const auto& test) { return test.param.name; });

TEST(GlooProber, WrongDataIsCorruptAndNamesWhoHasIt) {
  const auto hosts = local_node_names(4);
  GlooProber prober = make_prober(hosts, {"node3:corrupt"});
  const auto m = measure(prober, {{hosts, {}}}, spec_of(4096))[0];
  EXPECT_EQ(m.status, Status::corrupt);
  EXPECT_THAT(m.node_faults,
              ElementsAre(AllOf(Field(&NodeFault::node, "node3"), Field(&NodeFault::rank, 2),
                                Field(&NodeFault::what, HasSubstr("1 wrong values, the first: element 512 is ")))));
  EXPECT_EQ(m.busbw_gbps, 0) << "a corrupt probe has no bandwidth";
}

TEST(GlooProber, AFailedProbeLeavesItsNeighboursAlone) {
  const auto hosts = local_node_names(6);
  GlooProber prober = make_prober(hosts, {"node2:crash"});
  const auto m =
      measure(prober, {{{"node1", "node2"}, {}}, {{"node3", "node4"}, {}}, {{"node5", "node6"}, {}}}, spec_of(4096));
  EXPECT_EQ(m[0].status, Status::failed) << joined(m[0]);
  EXPECT_EQ(m[1].status, Status::ok) << joined(m[1]);
  EXPECT_EQ(m[2].status, Status::ok) << joined(m[2]);
  const auto again = measure(prober, {{{"node1", "node3"}, {}}}, spec_of(4096))[0];
  EXPECT_EQ(again.status, Status::ok) << "agents stay up after a failed probe: " << joined(again);
}

TEST(GlooProber, AnAgentKilledInAProbeIsUnreachableFromThenOn) {
  const MarkedProcesses processes;
  const auto hosts = local_node_names(4);
  GlooProber prober = make_prober(hosts, {"node[1-4]:delay=500ms"});
  std::thread killer([&] {
    while (processes.find("weft-rank").size() < 4)
      std::this_thread::sleep_for(milliseconds(10));
    kill(processes.find("weft-agent").back(), SIGKILL);
  });
  const auto m = measure(prober, {{hosts, {}}}, spec_of(4096))[0];
  killer.join();
  EXPECT_EQ(m.status, Status::unreachable) << joined(m);
  ASSERT_THAT(m.node_faults, SizeIs(1));
  EXPECT_THAT(m.node_faults[0].what, HasSubstr("its agent ended: killed by signal 9 (Killed)"));
  EXPECT_THAT(processes.find("weft-rank"), IsEmpty());
  const std::string dead = m.node_faults[0].node;
  std::vector<std::string> rest;
  for (const std::string& host : hosts) {
    if (host != dead) rest.push_back(host);
  }
  const auto later = measure(prober, {{rest, {}}}, spec_of(4096))[0];
  EXPECT_EQ(later.status, Status::ok) << joined(later);
  const auto begin = std::chrono::steady_clock::now();
  const auto with_dead = measure(prober, {{hosts, {}}}, spec_of(4096))[0];
  EXPECT_EQ(with_dead.status, Status::unreachable);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(200)) << "known at once";
}

TEST(GlooProber, AStoppedAgentIsBlamedForItsRank) {
  const MarkedProcesses processes;
  const auto hosts = local_node_names(3);
  GlooProber prober = make_prober(hosts, {"node[1-3]:delay=300ms"});
  pid_t stopped = 0;
  std::thread stopper([&] {
    while (processes.find("weft-rank").size() < 3)
      std::this_thread::sleep_for(milliseconds(10));
    stopped = processes.find("weft-agent").back();
    kill(stopped, SIGSTOP);
  });
  const auto m = measure(prober, {{hosts, {}}}, spec_with_deadline())[0];
  stopper.join();
  EXPECT_EQ(m.status, Status::hung) << joined(m);
  EXPECT_THAT(m.node_faults, ElementsAre(Field(&NodeFault::what, HasSubstr("its agent does not answer")))) << joined(m);
  EXPECT_THAT(m.notes, ElementsAre(HasSubstr("has not confirmed that its ranks are gone")));
}

// ---- cancelling and leaving

TEST(GlooProber, CancellingEndsEverythingWithinTwoSeconds) {
  const MarkedProcesses processes;
  const auto hosts = local_node_names(8);
  GlooProber prober = make_prober(hosts, {"node[1-8]:delay=10s"});
  std::atomic<bool> cancel{false};
  std::chrono::steady_clock::time_point cancelled_at;
  std::thread user([&] {
    while (processes.find("weft-rank").size() < 8)
      std::this_thread::sleep_for(milliseconds(10));
    cancelled_at = std::chrono::steady_clock::now();
    cancel = true;
  });
  int told = 0;
  const std::vector<Group> groups{{{"node1", "node2", "node3", "node4"}, {}},
                                  {{"node5", "node6", "node7", "node8"}, {}}};
  const auto m = prober.measure(groups, spec_of(4096), cancel, [&](const Measurement&) { ++told; });
  const auto ended_at = std::chrono::steady_clock::now();
  user.join();
  EXPECT_LT(ended_at - cancelled_at, milliseconds(2000));
  EXPECT_EQ(told, 2);
  for (const Measurement& each : m) {
    EXPECT_EQ(each.status, Status::refused);
    EXPECT_EQ(each.reason, "cancelled");
    EXPECT_THAT(each.node_faults, IsEmpty());
  }
  EXPECT_THAT(processes.find("weft-rank"), IsEmpty());
}

TEST(GlooProber, CancelledBeforeItBeganMeasuresNothing) {
  const auto hosts = local_node_names(2);
  GlooProber prober = make_prober(hosts);
  const std::atomic<bool> cancel{true};
  const auto m = prober.measure(std::vector<Group>{{hosts, {}}}, spec_of(4096), cancel, {});
  EXPECT_EQ(m[0].status, Status::refused);
  EXPECT_EQ(m[0].reason, "cancelled");
}

TEST(GlooProber, ItsEndLeavesNoProcess) {
  const MarkedProcesses processes;
  {
    const auto hosts = local_node_names(8);
    GlooProber prober = make_prober(hosts);
    measure(prober, {{hosts, {}}}, spec_of(4096));
    EXPECT_THAT(processes.find("weft-agent"), SizeIs(8));
  }
  EXPECT_THAT(processes.find(), IsEmpty());
}

TEST(GlooProber, AStoppedAgentIsKilledInTheEnd) {
  const MarkedProcesses processes;
  {
    const auto hosts = local_node_names(2);
    GlooProber prober = make_prober(hosts);
    measure(prober, {{hosts, {}}}, spec_of(4096));
    for (const pid_t agent : processes.find("weft-agent"))
      kill(agent, SIGSTOP);
  }
  EXPECT_THAT(processes.find(), IsEmpty());
}

/// Measures for ever in a process of its own, as a controller would.
[[noreturn]] void run_controller() {
  const auto hosts = local_node_names(8);
  GlooProber prober = make_prober(hosts, {"node[1-8]:delay=10s"});
  measure(prober, {{hosts, {}}}, spec_of(4096));
  _exit(0);
}

TEST(GlooProber, AKilledControllerLeavesNothingWithinTwoSeconds) {
  const MarkedProcesses processes;
  const pid_t controller = fork();
  ASSERT_GE(controller, 0);
  if (controller == 0) run_controller();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (processes.find("weft-rank").size() < 8 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(milliseconds(10));
  ASSERT_THAT(processes.find("weft-rank"), SizeIs(8));
  kill(controller, SIGKILL);
  waitpid(controller, nullptr, 0);
  EXPECT_TRUE(processes.all_gone_within(milliseconds(2000)));
}

// ---- shapes

TEST(GlooProber, RunsThirtyTwoAgentsAtOnce) {
  const auto hosts = local_node_names(32);
  GlooProber prober = make_prober(hosts);
  const auto m = measure(prober, {{hosts, {}}}, spec_of(4096))[0];
  EXPECT_EQ(m.status, Status::ok) << joined(m);
  EXPECT_EQ(m.ranks, 32);
}

TEST(GlooProber, DisjointGroupsRunAtTheSameTime) {
  const auto hosts = local_node_names(4);
  GlooProber prober = make_prober(hosts, {"node[1-4]:delay=200ms"});
  const auto begin = std::chrono::steady_clock::now();
  const auto m = measure(prober, {{{"node1", "node2"}, {}}, {{"node3", "node4"}, {}}}, spec_of(4096));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 0.75 * (m[0].wall_s + m[1].wall_s));
  EXPECT_EQ(m[0].status, Status::ok) << joined(m[0]);
  EXPECT_EQ(m[1].status, Status::ok) << joined(m[1]);
  EXPECT_EQ(m[0].group.nodes, (std::vector<std::string>{"node1", "node2"})) << "in the groups' order";
}

TEST(GlooProber, ASingleNodeWithSeveralGpusIsAGroup) {
  const auto hosts = local_node_names(1);
  GlooProberOptions options;
  options.gpus_per_node = 4;
  GlooProber prober = make_prober(hosts, {}, options);
  EXPECT_TRUE(prober.can_probe_single_nodes());
  ProbeSpec spec = spec_of(4096);
  spec.gpus_per_node = 4;
  const auto m = measure(prober, {{hosts, {}}}, spec)[0];
  EXPECT_EQ(m.status, Status::ok) << joined(m);
  EXPECT_EQ(m.ranks, 4);
}

TEST(GlooProber, ARailIsMeasuredOnItsInterface) {
  const auto hosts = local_node_names(2);
  GlooProberOptions options;
  options.rail_interfaces = {"lo", "no-such-nic"};
  GlooProber prober = make_prober(hosts, {}, options);
  EXPECT_TRUE(prober.can_pin_rails());
  const auto m = measure(prober, {{hosts, 0}, {hosts, 1}, {hosts, 2}}, spec_of(4096));
  EXPECT_EQ(m[0].status, Status::ok) << joined(m[0]);
  EXPECT_EQ(m[1].status, Status::failed) << joined(m[1]);
  EXPECT_EQ(m[1].stage, Stage::rendezvous);
  EXPECT_THAT(m[1].node_faults, SizeIs(2)) << "neither node has that interface";
  EXPECT_EQ(m[2].status, Status::refused);
  EXPECT_THAT(m[2].reason, HasSubstr("rail 2 has no network interface"));
}

TEST(GlooProber, WithoutInterfacesNoRailCanBePinned) {
  GlooProber prober = make_prober(local_node_names(2));
  EXPECT_FALSE(prober.can_pin_rails());
  EXPECT_FALSE(prober.can_probe_single_nodes());
  EXPECT_EQ(prober.scaling(), probes::Scaling::flat_ring);
  EXPECT_EQ(prober.name(), "gloo");
}

struct RefusedCase {
  std::string name;
  Group group;
  std::uint64_t bytes;
  Op op;
  std::string reason;
};

void PrintTo(const RefusedCase& test, std::ostream* out) {
  *out << test.name;
}

class GlooRefusals : public testing::TestWithParam<RefusedCase> {};

TEST_P(GlooRefusals, SayWhyAndBlameNobody) {
  const RefusedCase& test = GetParam();
  GlooProber prober = make_prober(local_node_names(3));
  ProbeSpec spec = spec_of(test.bytes);
  spec.op = test.op;
  const auto m = measure(prober, {test.group}, spec)[0];
  EXPECT_EQ(m.status, Status::refused) << joined(m);
  EXPECT_THAT(m.reason, HasSubstr(test.reason));
  EXPECT_THAT(m.node_faults, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Refusals, GlooRefusals,
    testing::Values(
        RefusedCase{"one_rank", {{"node1"}, {}}, 4096, Op::all_reduce, "at least 2 ranks"},
        RefusedCase{"node_twice", {{"node1", "node1"}, {}}, 4096, Op::all_reduce, "in the group twice"},
        RefusedCase{"no_bytes", {{"node1", "node2"}, {}}, 0, Op::all_reduce, "0 bytes are not even one float"},
        RefusedCase{
            "less_than_a_float_each", {{"node1", "node2", "node3"}, {}}, 8, Op::all_gather, "not even one float"},
        RefusedCase{
            "more_than_the_memory", {{"node1", "node2"}, {}}, std::uint64_t{1} << 45, Op::all_reduce, "of memory and"},
        RefusedCase{"unknown_rail", {{"node1", "node2"}, 0}, 4096, Op::all_reduce, "rail 0 has no network interface"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace weft::launch
