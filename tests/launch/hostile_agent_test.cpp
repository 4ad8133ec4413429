#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/agent_prober.h"
#include "launch/local_launcher.h"
#include "tests/launch/marked_processes.h"

namespace weft::launch {
namespace {

using probes::Group;
using probes::Measurement;
using probes::NodeFault;
using probes::ProbeSpec;
using probes::Status;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

/// Nodes have real agents, but for `bad`, whose agent is a shell script.
class ScriptLauncher : public LocalLauncher {
 public:
  explicit ScriptLauncher(std::string script)
      : LocalLauncher(WEFT_BINARY_DIR "/weft-agent-test"), script_(std::move(script)) {}

  probes::ChildProcess start(const std::string& host) override {
    if (host != "bad") return LocalLauncher::start(host);
    return probes::ChildProcess({"/bin/sh", "-c", script_});
  }

 private:
  std::string script_;
};

/// A greeting that is right.
const std::string kHello =
    R"(echo '{"type":"hello","protocol":1,"version":"0.1.0","host":{"host_name":"h","architecture":"x","boot_id":"b",)"
    R"("cores":1,"available_memory_bytes":1}}'; )";

/// Reads up to the start of rank 0 (the second line) and says `line`; then stays.
std::string saying(const std::string& line) {
  return kHello + "read hello; read start; echo '" + line + "'; sleep 60";
}

std::string started_then(const std::string& message) {
  return kHello + R"(read hello; read start; echo '{"type":"started","id":65536,"probe":1,"rank":0,"pid":1}'; )" +
         "echo '" + message + "'; sleep 60";
}

std::string from_rank(const std::string& message) {
  return started_then(R"({"type":"from_rank","probe":1,"rank":0,"message":)" + message + "}");
}

struct HostileCase {
  std::string name;
  std::string script;
  std::string reason;  ///< part of what is said of the node
};

void PrintTo(const HostileCase& test, std::ostream* out) {
  *out << test.name;
}

class HostileAgents : public testing::TestWithParam<HostileCase> {};

TEST_P(HostileAgents, AreUnreachableForAReasonAndDisturbNobody) {
  const HostileCase& test = GetParam();
  const MarkedProcesses processes;
  {
    GlooProberOptions options;
    options.limits = {.greeting = milliseconds(1000), .heartbeat = milliseconds(200), .silence = milliseconds(1500)};
    GlooProber prober(std::make_unique<ScriptLauncher>(test.script), options);
    ProbeSpec spec;
    spec.bytes = 4096;
    spec.iterations = 2;
    const std::atomic<bool> never{false};
    const std::vector<Group> groups{{{"bad", "good1"}, {}}, {{"good2", "good3"}, {}}};
    const auto m = prober.measure(groups, spec, never, {});
    EXPECT_EQ(m[0].status, Status::unreachable) << m[0].reason;
    EXPECT_THAT(m[0].node_faults,
                ElementsAre(AllOf(Field(&NodeFault::node, "bad"), Field(&NodeFault::what, HasSubstr(test.reason)))));
    for (const char c : m[0].reason)
      EXPECT_FALSE((c >= 0 && c < ' ') || c == '\x7f') << "control characters: " << m[0].reason;
    EXPECT_EQ(m[1].status, Status::ok) << m[1].reason;
    const auto again = prober.measure(std::vector<Group>{{{"good1", "good2"}, {}}}, spec, never, {});
    EXPECT_EQ(again[0].status, Status::ok) << again[0].reason;
  }
  EXPECT_THAT(processes.find(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    BeforeTheGreeting, HostileAgents,
    testing::Values(
        HostileCase{"exits_at_once", "exit 3", "the agent did not start: exit code 3"},
        HostileCase{"says_why_on_stderr", "echo 'sh: weft: not found' >&2; exit 127", "it said: sh: weft: not found"},
        HostileCase{"prints_a_banner_and_ends", "echo Welcome; echo to node; exit 1", "it said: Welcome | to node"},
        HostileCase{"is_silent", "sleep 60", "no agent has answered for 1 s"},
        HostileCase{"prints_garbage_for_ever", "while :; do echo '@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@'; done",
                    "no agent answers there"},
        HostileCase{"prints_one_endless_line",
                    "while :; do printf '@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@'; done",
                    "more than 4194304 bytes"},
        HostileCase{"drives_the_terminal", R"(printf '\033]0;owned\007\033[2J\n' >&2; exit 1)",
                    R"(\x1b]0;owned\x07\x1b[2J)"},
        HostileCase{"closes_its_output", "exec >&-; sleep 60", "closed its output"},
        HostileCase{
            "speaks_another_protocol",
            R"(echo '{"type":"hello","protocol":9,"version":"9.0","host":{"host_name":"h","architecture":"x","boot_id":"b","cores":1,"available_memory_bytes":1}}'; sleep 60)",
            "(weft 9.0) speaks protocol 9, this weft"},
        HostileCase{"refuses", R"(echo '{"type":"refused","reason":"maintenance"}'; sleep 60)",
                    "refuses: maintenance"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    AfterTheGreeting, HostileAgents,
    testing::Values(
        HostileCase{"greets_twice", kHello + kHello + "sleep 60", "greeted twice"},
        HostileCase{"falls_silent", kHello + "sleep 60", "silent for 1.5 s"},
        HostileCase{"ends", kHello + "read hello; read start; exit 5", "its agent ended: exit code 5"},
        HostileCase{"sends_garbage", saying("garbage"), "a line that is no message (not JSON): \"garbage\""},
        HostileCase{"sends_an_unknown_type", saying(R"({"type":"surprise"})"), "its type is unknown"},
        HostileCase{"sends_a_huge_line", kHello + "head -c 6000000 /dev/zero | tr '\\0' x; sleep 60",
                    "more than 4194304 bytes"},
        HostileCase{
            "speaks_of_a_probe_that_never_was",
            saying(R"({"type":"exited","probe":77,"rank":0,"signal":0,"past_deadline":false,"last_output":""})"),
            "probe 77, which there never was"},
        HostileCase{"speaks_of_anothers_probe", saying(R"({"type":"started","id":1,"probe":2,"rank":0,"pid":1})"),
                    "no part in it"},
        HostileCase{"speaks_for_anothers_rank", saying(R"({"type":"started","id":1,"probe":1,"rank":1,"pid":1})"),
                    "rank 1 cannot be started there"},
        HostileCase{"answers_what_was_not_asked", saying(R"({"type":"done","id":65599})"),
                    "a request was done that was not made"},
        HostileCase{"ends_a_rank_before_it_starts",
                    saying(R"({"type":"exited","probe":1,"rank":0,"signal":9,"past_deadline":false,"last_output":""})"),
                    "cannot end there"},
        HostileCase{"invents_a_stage", from_rank(R"({"type":"stage","stage":"dreaming"})"),
                    "'stage' is not a known stage"},
        HostileCase{"goes_back_a_stage", from_rank(R"({"type":"stage","stage":"login"})"),
                    "stage login comes after stage start"},
        HostileCase{"gives_a_result_at_once",
                    from_rank(R"({"type":"result","iteration_s":[1,1],"wrong_values":0,"first_wrong":""})"),
                    "a result in start"},
        HostileCase{"sends_a_negative_time",
                    from_rank(R"({"type":"result","iteration_s":[-1,1],"wrong_values":0,"first_wrong":""})"),
                    "not a number from 0"},
        HostileCase{"sends_an_infinite_time",
                    from_rank(R"({"type":"result","iteration_s":[1e999,1],"wrong_values":0,"first_wrong":""})"),
                    "not JSON"},
        HostileCase{"sends_no_time",
                    from_rank(R"({"type":"result","iteration_s":[null,1],"wrong_values":0,"first_wrong":""})"),
                    "not a number from 0"},
        HostileCase{"sends_no_address", from_rank(R"({"type":"post","shared":"xyz!","each":[]})"), "not hexadecimal"}),
    [](const auto& test) { return test.param.name; });

TEST(AgentGreeting, ALoginBannerBeforeItIsNoise) {
  const std::string script = "echo 'Last login: Mon'; printf 'no JSON {\\n'; exec " WEFT_BINARY_DIR "/weft-agent-test";
  GlooProber prober(std::make_unique<ScriptLauncher>(script), {});
  ProbeSpec spec;
  spec.bytes = 4096;
  const std::atomic<bool> never{false};
  const auto m = prober.measure(std::vector<Group>{{{"bad", "good"}, {}}}, spec, never, {});
  EXPECT_EQ(m[0].status, Status::ok) << m[0].reason;
}

TEST(AgentGreeting, AnotherVersionOfTheSameProtocolIsNoted) {
  const std::string script =
      WEFT_BINARY_DIR "/weft-agent-test | sed -u 's/\"version\":\"[^\"]*\"/\"version\":\"0.0.9\"/'";
  GlooProber prober(std::make_unique<ScriptLauncher>(script), {});
  ProbeSpec spec;
  spec.bytes = 4096;
  const std::atomic<bool> never{false};
  const auto m = prober.measure(std::vector<Group>{{{"bad", "good"}, {}}}, spec, never, {});
  EXPECT_EQ(m[0].status, Status::ok) << m[0].reason;
  EXPECT_THAT(m[0].notes, ElementsAre("bad runs weft 0.0.9, this is weft " + build_version()));
}

TEST(AgentGreeting, AProgramThatIsNotThereIsUnreachable) {
  GlooProber prober(std::make_unique<LocalLauncher>("/no/such/weft"), {});
  ProbeSpec spec;
  spec.bytes = 4096;
  const std::atomic<bool> never{false};
  const auto m = prober.measure(std::vector<Group>{{{"node1", "node2"}, {}}}, spec, never, {});
  EXPECT_EQ(m[0].status, Status::unreachable);
  EXPECT_THAT(m[0].reason, HasSubstr("cannot start '/no/such/weft'"));
  EXPECT_EQ(m[0].node_faults.size(), 2U);
}

}  // namespace
}  // namespace weft::launch
