#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "probes/child_process.h"
#include "probes/collective/rank_protocol.h"

namespace weft::launch {

/// The messages between the controller (`weft`) and an agent (`weft agent`): one JSON object a line on the agent's
/// standard input and output (docs/agent-protocol.md). Pure: text in, values out, and back. Nothing that is read here
/// is trusted, on either side.

/// Agents of another protocol version are refused: fields may mean something else there.
inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kMaxLineBytes = probes::kMaxProtocolLineBytes;

/// Version of this build, such as `0.1.0`.
std::string build_version();

// ---- from the controller to the agent

/// The first message of each side.
struct ControllerHello {
  int protocol = kProtocolVersion;
  std::string version;
  bool operator==(const ControllerHello&) const = default;
};

/// Starts one rank of a probe. Answered by Started or Refused, unless the parameters tell the rank never to start.
struct StartRank {
  std::uint64_t id = 0;
  std::uint64_t probe = 0;
  std::string program;    ///< a name of the agent's list: `gloo`
  double deadline_s = 0;  ///< when the agent ends the rank even if nobody tells it to
  probes::RankParameters parameters;
};

/// Passed on to the rank's standard input.
struct ToRank {
  std::uint64_t probe = 0;
  int rank = 0;
  probes::RankCommand command;
};

/// Asks for ProbeState and makes every rank of the probe here answer a ping.
struct Inspect {
  std::uint64_t id = 0;
  std::uint64_t probe = 0;
  bool operator==(const Inspect&) const = default;
};

/// Ends the ranks of a probe. Answered by Done once they are gone.
struct Cancel {
  std::uint64_t id = 0;
  std::uint64_t probe = 0;
  bool operator==(const Cancel&) const = default;
};

/// Answered by Done.
struct Ping {
  std::uint64_t id = 0;
  bool operator==(const Ping&) const = default;
};

struct Shutdown {
  bool operator==(const Shutdown&) const = default;
};

using ControllerMessage = std::variant<ControllerHello, StartRank, ToRank, Inspect, Cancel, Ping, Shutdown>;

// ---- from the agent to the controller

/// What the agent knows of its host.
struct HostFacts {
  std::string host_name;
  std::string architecture;
  std::string boot_id;
  int cores = 0;
  std::uint64_t available_memory_bytes = 0;  ///< 0 where the kernel does not say
  bool operator==(const HostFacts&) const = default;
};

struct AgentHello {
  int protocol = kProtocolVersion;
  std::string version;
  HostFacts host;
  bool operator==(const AgentHello&) const = default;
};

struct Started {
  std::uint64_t id = 0;
  std::uint64_t probe = 0;
  int rank = 0;
  std::int64_t pid = 0;
  bool operator==(const Started&) const = default;
};

struct FromRank {
  std::uint64_t probe = 0;
  int rank = 0;
  probes::RankMessage message;
  bool operator==(const FromRank&) const = default;
};

/// A rank is gone, and so is all that it started.
struct RankExited {
  std::uint64_t probe = 0;
  int rank = 0;
  std::optional<int> exit_code;  ///< none: ended by `signal`
  int signal = 0;
  bool past_deadline = false;  ///< ended by the agent because its time was over, or the controller was silent
  std::string last_output;     ///< the end of its standard error
  bool operator==(const RankExited&) const = default;
};

/// State of one rank's process by /proc/PID/stat: `R`, `S`, `D` (stuck in the kernel), `T` (stopped), `Z`, `?`.
struct RankState {
  int rank = 0;
  char state = '?';
  bool operator==(const RankState&) const = default;
};

struct ProbeState {
  std::uint64_t id = 0;
  std::uint64_t probe = 0;
  std::vector<RankState> ranks;
  bool operator==(const ProbeState&) const = default;
};

struct Done {
  std::uint64_t id = 0;
  bool operator==(const Done&) const = default;
};

/// A request that was understood and not done, or a line that was not understood.
struct Refused {
  std::optional<std::uint64_t> id;
  std::string reason;
  bool operator==(const Refused&) const = default;
};

using AgentMessage = std::variant<AgentHello, Started, FromRank, RankExited, ProbeState, Done, Refused>;

using probes::Malformed;

std::string format(const ControllerMessage& message);
std::string format(const AgentMessage& message);
std::variant<ControllerMessage, Malformed> parse_controller_message(std::string_view line);
std::variant<AgentMessage, Malformed> parse_agent_message(std::string_view line);
/// The `id` of a message that could not be understood, so that its refusal can be told apart.
std::optional<std::uint64_t> id_of_line(std::string_view line);

}  // namespace weft::launch
