#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launch/agent_connection.h"
#include "launch/launcher.h"

namespace weft::launch {

/// The agents of a run, kept up from their first use to the end: a probe then costs a rendezvous, not a login. One poll
/// loop over all of them, in the thread that calls. Agents die with the thread that started them, so always call from
/// the same one.
class AgentPool {
 public:
  using TimePoint = AgentConnection::TimePoint;

  AgentPool(std::unique_ptr<Launcher> launcher, const ConnectionLimits& limits);
  AgentPool(const AgentPool&) = delete;
  AgentPool& operator=(const AgentPool&) = delete;
  /// Shuts the agents down and leaves no process behind: within 2 s when they obey, 4 s when they must be killed.
  ~AgentPool();

  const Launcher& launcher() const { return *launcher_; }

  /// Starts agents for those hosts that never had one, and waits until each has greeted or is lost, or `cancel` is set.
  void connect(const std::vector<std::string>& hosts, const std::atomic<bool>& cancel);
  /// Forgives the silence since the last exchange.
  void resume();
  /// Null for a host that connect was never called for.
  AgentConnection* find(const std::string& host);

  using Hear = std::function<void(AgentConnection& agent, const AgentMessage& message)>;
  /// One turn of the loop: waits up to `wait` for something to happen, and gives every message that has come.
  void exchange(std::chrono::milliseconds wait, const Hear& hear);
  /// Those that are lost.
  std::vector<const AgentConnection*> lost() const;

 private:
  AgentConnection start(const std::string& host);
  bool all_gone();

  std::unique_ptr<Launcher> launcher_;
  ConnectionLimits limits_;
  std::map<std::string, AgentConnection> agents_;
};

}  // namespace weft::launch
