#include "launch/injection.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/local_launcher.h"
#include "topology/error.h"

namespace weft::launch {
namespace {

using probes::RankFaults;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

RankFaults with(void (*set)(RankFaults&)) {
  RankFaults faults;
  set(faults);
  return faults;
}

TEST(Injection, KindsAndUnits) {
  const struct {
    const char* fault;
    RankFaults expected;
  } cases[] = {
      {"delay=30%", with([](RankFaults& f) { f.delay_share = 0.3; })},
      {"delay=2.5%", with([](RankFaults& f) { f.delay_share = 0.025; })},
      {"delay=20ms", with([](RankFaults& f) { f.delay_s = 20 * 1e-3; })},
      {"delay=1.5s", with([](RankFaults& f) { f.delay_s = 1.5; })},
      {"rate=200Mbit", with([](RankFaults& f) { f.rate_bytes_per_s = 25e6; })},
      {"rate=25MB", with([](RankFaults& f) { f.rate_bytes_per_s = 25e6; })},
      {"rate=400Gbit", with([](RankFaults& f) { f.rate_bytes_per_s = 50e9; })},
      {"exit", with([](RankFaults& f) { f.exit_in_init = 1; })},
      {"exit=0", with([](RankFaults& f) { f.exit_in_init = 0; })},
      {"crash", with([](RankFaults& f) { f.crash_in_run = true; })},
      {"never_starts", with([](RankFaults& f) { f.never_starts = true; })},
      {"sleep_before_init", with([](RankFaults& f) { f.sleep_before_init_s = 3600; })},
      {"sleep_before_init=90s", with([](RankFaults& f) { f.sleep_before_init_s = 90; })},
      {"sigstop", with([](RankFaults& f) { f.stop_in_run = true; })},
      {"corrupt", with([](RankFaults& f) { f.corrupt = true; })},
  };
  for (const auto& [fault, expected] : cases) {
    const Injection injection = parse_injection(std::string("node5:") + fault);
    EXPECT_EQ(injection.faults, expected) << fault;
    EXPECT_THAT(injection.nodes, ElementsAre("node5"));
    EXPECT_EQ(injection.text, std::string("node5:") + fault) << "shown as it was written";
  }
}

TEST(Injection, NodesAreAHostList) {
  EXPECT_THAT(parse_injection("node[1-3,5]:crash").nodes, ElementsAre("node1", "node2", "node3", "node5"));
}

std::string error_of(const std::string& text) {
  try {
    parse_injection(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Injection, MistakesSayWhatWasExpected) {
  const struct {
    const char* text;
    const char* part;
  } cases[] = {
      {"", "NODES:KIND"},
      {"node5", "no ':' in \"node5\""},
      {":crash", "--inject"},
      {"node[5:crash", "--inject:column"},
      {"node5:dealy=30%", "did you mean 'delay'?"},
      {"node5:", "unknown kind of fault \"\""},
      {"node5:banana=1", "one of delay, rate, exit, crash, never_starts, sleep_before_init, sigstop, corrupt"},
      {"node5:delay", "expected 'delay=30%'"},
      {"node5:delay=", "expected 'delay=30%'"},
      {"node5:delay=30", "expected 'delay=30%'"},
      {"node5:delay=-30%", "expected 'delay=30%'"},
      {"node5:delay=0%", "expected 'delay=30%'"},
      {"node5:delay=nan%", "expected 'delay=30%'"},
      {"node5:delay=1e400%", "expected 'delay=30%'"},
      {"node5:delay=90000000s", "expected 'delay=30%'"},
      {"node5:rate=200", "'rate=200Mbit'"},
      {"node5:rate=0Mbit", "'rate=200Mbit'"},
      {"node5:rate=200mbit", "'rate=200Mbit'"},
      {"node5:exit=256", "a code from 0 to 255"},
      {"node5:exit=-1", "a code from 0 to 255"},
      {"node5:exit=1x", "a code from 0 to 255"},
      {"node5:crash=1", "'crash' without a value"},
      {"node5:crash=", "'crash' without a value"},
      {"node5:sleep_before_init=long", "'sleep_before_init=90s'"},
  };
  for (const auto& [text, part] : cases)
    EXPECT_THAT(error_of(text), HasSubstr(part)) << text;
}

TEST(Injection, FaultsOfSeveralAddUpAndTheLastOfAKindWins) {
  const std::vector<Injection> injections{parse_injection("node[1-2]:rate=200Mbit"), parse_injection("node2:delay=30%"),
                                          parse_injection("node2:rate=100Mbit")};
  const auto faults = faults_by_node(injections, local_node_names(3));
  EXPECT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults.at("node1"), with([](RankFaults& f) { f.rate_bytes_per_s = 25e6; }));
  EXPECT_EQ(faults.at("node2"), with([](RankFaults& f) {
              f.rate_bytes_per_s = 12.5e6;
              f.delay_share = 0.3;
            }));
}

TEST(Injection, ANodeOutsideTheRunIsAnError) {
  const std::vector<Injection> injections{parse_injection("node9:crash")};
  try {
    faults_by_node(injections, local_node_names(8));
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("node \"node9\" of \"node9:crash\" is not in this run"),
                                    HasSubstr("node[1-8]"), HasSubstr("did you mean 'node1'?")));
  }
}

TEST(LocalNodes, AreNumberedFromOne) {
  EXPECT_THAT(local_node_names(3), ElementsAre("node1", "node2", "node3"));
  EXPECT_THROW(local_node_names(0), InputError);
  EXPECT_THROW(local_node_names(-1), InputError);
  EXPECT_THROW(local_node_names(1025), InputError);
}

}  // namespace
}  // namespace weft::launch
