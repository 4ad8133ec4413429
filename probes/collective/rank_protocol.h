#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "probes/collective/measurement.h"

namespace weft::probes {

/// What a rank program (`weft-rank-gloo`) reads on its standard input and writes on its standard output, one JSON
/// object a line (docs/agent-protocol.md). The agent that started it passes both on to and from the controller. Pure:
/// text in, values out, and back. Nothing that is read here is trusted.

inline constexpr int kMaxRanks = 4096;
inline constexpr int kMaxIterations = 100'000;
/// The longest line of either direction: a mail of kMaxRanks addresses has 1.2 MB.
inline constexpr std::size_t kMaxProtocolLineBytes = std::size_t{4} << 20;

/// Faults that a rank is told to show, for demonstrations and tests. All off by default.
struct RankFaults {
  double delay_share = 0;       ///< every iteration takes this much longer, as a share of itself (0.3 is 30 %)
  double delay_s = 0;           ///< every iteration takes this much longer
  double rate_bytes_per_s = 0;  ///< an emulated link: no iteration is faster than its bytes at this rate
  double sleep_before_init_s = 0;
  std::optional<int> exit_in_init;
  bool never_starts = false;
  bool crash_in_run = false;
  bool stop_in_run = false;  ///< SIGSTOP in the middle of the timed part
  bool corrupt = false;      ///< flips one element of the result before it is checked
  bool operator==(const RankFaults&) const = default;
};

/// The first line on a rank's standard input.
struct RankParameters {
  int rank = 0;
  int ranks = 0;
  int ranks_on_host = 1;  ///< that share this host's memory
  Op op = Op::all_reduce;
  std::uint64_t bytes = 0;  ///< nccl-tests' size, as in ProbeSpec
  int iterations = 1;
  int warm_up_iterations = 0;
  std::string interface;  ///< network interface to use; when empty, the one that has `address`
  std::string address;    ///< a host name or address of this node; when empty, whatever its host name resolves to
  StageTimeouts timeouts;
  RankFaults faults;
};

/// Every rank's post, handed to one rank when all have posted.
struct RankMail {
  std::vector<std::string> shared;  ///< one from each rank
  std::vector<std::string> each;    ///< the piece of each rank's post that is for this one
  bool operator==(const RankMail&) const = default;
};

/// Asks for a RankProgress. A rank that does not answer is stopped, or stuck in the kernel.
struct RankPing {
  bool operator==(const RankPing&) const = default;
};

using RankCommand = std::variant<RankParameters, RankMail, RankPing>;

struct RankStage {
  Stage stage = Stage::none;
  bool operator==(const RankStage&) const = default;
};

/// What the others need to reach this rank, hexadecimal: `shared` for all of them, `each` with one piece for each rank,
/// its own empty, or nothing at all. So a rendezvous of n ranks costs n pieces a rank, not n².
struct RankPost {
  std::string shared;
  std::vector<std::string> each;
  bool operator==(const RankPost&) const = default;
};

struct RankProgress {
  Stage stage = Stage::none;
  int iteration = 0;  ///< iterations begun, warm-up included
  bool operator==(const RankProgress&) const = default;
};

struct RankResult {
  std::vector<double> iteration_s;  ///< timed iterations: from the barrier's end to the operation's
  std::uint64_t wrong_values = 0;
  std::string first_wrong;  ///< "element 17 is 30 instead of 36"
  bool operator==(const RankResult&) const = default;
};

struct RankError {
  enum class Kind {
    refused,  ///< nothing was run, for a reason that says nothing about the node's health (not enough memory)
    local,    ///< this rank itself cannot go on
    peer,     ///< this rank waited in vain for others, or lost one: says nothing about this rank
  };
  Stage stage = Stage::none;
  Kind kind = Kind::local;
  std::string what;
  bool operator==(const RankError&) const = default;
};

using RankMessage = std::variant<RankStage, RankPost, RankProgress, RankResult, RankError>;

/// Why a line is not a message: one sentence without the line itself.
struct Malformed {
  std::string reason;
};

std::string format(const RankCommand& command);
std::string format(const RankMessage& message);
std::variant<RankCommand, Malformed> parse_rank_command(std::string_view line);
std::variant<RankMessage, Malformed> parse_rank_message(std::string_view line);

/// The same as JSON values, for messages that carry them inside.
nlohmann::json to_json(const RankCommand& command);
nlohmann::json to_json(const RankMessage& message);
std::variant<RankCommand, Malformed> rank_command_from_json(const nlohmann::json& value);
std::variant<RankMessage, Malformed> rank_message_from_json(const nlohmann::json& value);

/// `bytes` cut to whole floats, the same number for each rank where the operation splits its buffer: what is really
/// moved, and what a bandwidth is computed from. 0 when there is not even one float for each.
std::uint64_t moved_bytes(Op op, std::uint64_t bytes, int ranks);

/// Lower-case hexadecimal, and back (nothing for anything else).
std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view text);

}  // namespace weft::probes
