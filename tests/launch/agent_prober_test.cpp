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
using testing::Not;
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

}  // namespace
}  // namespace weft::launch
