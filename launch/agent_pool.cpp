#include "launch/agent_pool.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <poll.h>

#include "launch/printable.h"
#include "topology/error.h"

namespace weft::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kConnectTick{20};
constexpr milliseconds kEndingTick{2};
constexpr milliseconds kLeavingLimit{2000};
constexpr milliseconds kGrace{200};
constexpr milliseconds kKillingLimit{1500};

}  // namespace

AgentPool::AgentPool(std::unique_ptr<Launcher> launcher, const ConnectionLimits& limits)
    : launcher_(std::move(launcher)), limits_(limits) {}

AgentPool::~AgentPool() {
  const auto wait_until_gone = [this](milliseconds limit) {
    const Clock::time_point deadline = Clock::now() + limit;
    while (!all_gone() && Clock::now() < deadline)
      std::this_thread::sleep_for(kEndingTick);
  };
  for (auto& [host, agent] : agents_)
    agent.shut_down();
  wait_until_gone(kLeavingLimit);
  for (auto& [host, agent] : agents_)
    agent.request_end(kGrace);
  wait_until_gone(kKillingLimit);
}

bool AgentPool::all_gone() {
  bool gone = true;
  for (auto& [host, agent] : agents_)
    gone = agent.is_gone_now() && gone;
  return gone;
}

AgentConnection AgentPool::start(const std::string& host) {
  try {
    return AgentConnection(host, launcher_->start(host), Clock::now(), limits_);
  } catch (const RunError& error) {
    return AgentConnection(host, printable(error.what()));
  }
}

void AgentPool::connect(const std::vector<std::string>& hosts, const std::atomic<bool>& cancel) {
  for (const std::string& host : hosts) {
    if (!agents_.contains(host)) agents_.emplace(host, start(host));
  }
  const auto is_greeting = [this](const std::string& host) {
    return agents_.at(host).state() == AgentConnection::State::greeting;
  };
  while (!cancel && std::any_of(hosts.begin(), hosts.end(), is_greeting))
    exchange(kConnectTick, [](AgentConnection&, const AgentMessage&) {});
}

void AgentPool::resume() {
  for (auto& [host, agent] : agents_)
    agent.resume(Clock::now());
}

AgentConnection* AgentPool::find(const std::string& host) {
  const auto found = agents_.find(host);
  return found == agents_.end() ? nullptr : &found->second;
}

void AgentPool::exchange(milliseconds wait, const Hear& hear) {
  std::vector<pollfd> fds;
  for (const auto& [host, agent] : agents_) {
    agent.add_poll_fds(fds);
    if (agent.is_ending()) wait = std::min(wait, kEndingTick);
  }
  poll(fds.data(), fds.size(), static_cast<int>(wait.count()));
  const TimePoint now = Clock::now();
  for (auto& [host, agent] : agents_) {
    for (const AgentMessage& message : agent.communicate(now)) {
      // Hearing one message may lose the agent: the rest is not to be trusted then.
      if (agent.state() == AgentConnection::State::ready) hear(agent, message);
    }
  }
}

std::vector<const AgentConnection*> AgentPool::lost() const {
  std::vector<const AgentConnection*> found;
  for (const auto& [host, agent] : agents_) {
    if (agent.state() == AgentConnection::State::lost) found.push_back(&agent);
  }
  return found;
}

}  // namespace weft::launch
