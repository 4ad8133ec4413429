#include "launch/protocol.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "probes/collective/json_fields.h"

namespace weft::launch {
namespace {

using nlohmann::json;
using probes::JsonFields;

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestText = 16384;
constexpr std::int64_t kMostIds = std::int64_t{1} << 53;  // beyond that, JSON readers disagree
constexpr double kLongestDeadline_s = 1e7;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

std::uint64_t read_id(JsonFields& fields, const char* key) {
  return static_cast<std::uint64_t>(fields.integer(key, 0, kMostIds));
}

int read_rank(JsonFields& fields) {
  return static_cast<int>(fields.integer("rank", 0, probes::kMaxRanks - 1));
}

int read_protocol(JsonFields& fields) {
  return static_cast<int>(fields.integer("protocol", 0, 1'000'000));
}

/// The object `key`, understood by `parse` as one of the rank protocol's messages.
template <typename Message>
Message read_nested(JsonFields& fields, const char* key, std::variant<Message, Malformed> (*parse)(const json& value)) {
  const json* value = fields.object(key);
  if (value == nullptr) return {};
  auto parsed = parse(*value);
  if (const auto* malformed = std::get_if<Malformed>(&parsed)) {
    fields.fail(malformed->reason);
    return {};
  }
  return std::get<Message>(std::move(parsed));
}

StartRank read_start(JsonFields& fields) {
  StartRank start;
  start.id = read_id(fields, "id");
  start.probe = read_id(fields, "probe");
  start.program = fields.text("program", kLongestName);
  start.deadline_s = fields.number("deadline_s", 0, kLongestDeadline_s);
  const auto command = read_nested(fields, "parameters", probes::rank_command_from_json);
  if (const auto* parameters = std::get_if<probes::RankParameters>(&command)) {
    start.parameters = *parameters;
  } else {
    fields.fail("'parameters' is another command");
  }
  return start;
}

HostFacts read_host(JsonFields& fields) {
  HostFacts host;
  const json* value = fields.object("host");
  if (value == nullptr) return host;
  JsonFields inner(*value);
  host.host_name = inner.text("host_name", kLongestName);
  host.architecture = inner.text("architecture", kLongestName);
  host.boot_id = inner.text("boot_id", kLongestName);
  host.cores = static_cast<int>(inner.integer("cores", 0, 1'000'000));
  host.available_memory_bytes =
      static_cast<std::uint64_t>(inner.integer("available_memory_bytes", 0, std::int64_t{1} << 60));
  if (!inner.error().empty()) fields.fail(fmt::format("in 'host': {}", inner.error()));
  return host;
}

RankExited read_exit(JsonFields& fields) {
  RankExited exit;
  exit.probe = read_id(fields, "probe");
  exit.rank = read_rank(fields);
  if (fields.has("exit_code")) exit.exit_code = static_cast<int>(fields.integer("exit_code", 0, 255));
  exit.signal = static_cast<int>(fields.integer("signal", 0, 128));
  exit.past_deadline = fields.boolean("past_deadline");
  exit.last_output = fields.text("last_output", kLongestText);
  return exit;
}

ProbeState read_probe_state(JsonFields& fields) {
  ProbeState state;
  state.id = read_id(fields, "id");
  state.probe = read_id(fields, "probe");
  const auto ranks = fields.numbers("ranks", probes::kMaxRanks, 0, probes::kMaxRanks - 1);
  const std::string letters = fields.text("states", probes::kMaxRanks);
  if (ranks.size() != letters.size()) {
    fields.fail("'ranks' and 'states' differ in length");
    return state;
  }
  for (std::size_t i = 0; i < ranks.size(); ++i)
    state.ranks.push_back({static_cast<int>(ranks[i]), letters[i]});
  return state;
}

json probe_state_to_json(const ProbeState& state) {
  std::vector<int> ranks;
  std::string letters;
  for (const RankState& rank : state.ranks) {
    ranks.push_back(rank.rank);
    letters += rank.state;
  }
  return {{"type", "probe_state"}, {"id", state.id}, {"probe", state.probe}, {"ranks", ranks}, {"states", letters}};
}

json exit_to_json(const RankExited& exit) {
  json value{{"type", "exited"},
             {"probe", exit.probe},
             {"rank", exit.rank},
             {"signal", exit.signal},
             {"past_deadline", exit.past_deadline},
             {"last_output", exit.last_output}};
  if (exit.exit_code) value["exit_code"] = *exit.exit_code;
  return value;
}

Refused read_refused(JsonFields& fields) {
  Refused refused;
  if (fields.has("id")) refused.id = read_id(fields, "id");
  refused.reason = fields.text("reason", kLongestText);
  return refused;
}

/// One row for each `type` that may come: its name and how to read the rest.
template <typename Message>
struct MessageType {
  const char* name;
  Message (*read)(JsonFields& fields);
};

constexpr std::array<MessageType<ControllerMessage>, 7> kControllerTypes{{
    {"hello",
     [](JsonFields& f) -> ControllerMessage {
       return ControllerHello{read_protocol(f), f.text("version", kLongestName)};
     }},
    {"start", [](JsonFields& f) -> ControllerMessage { return read_start(f); }},
    {"to_rank",
     [](JsonFields& f) -> ControllerMessage {
       return ToRank{read_id(f, "probe"), read_rank(f), read_nested(f, "command", probes::rank_command_from_json)};
     }},
    {"inspect",
     [](JsonFields& f) -> ControllerMessage {
       return Inspect{read_id(f, "id"), read_id(f, "probe")};
     }},
    {"cancel",
     [](JsonFields& f) -> ControllerMessage {
       return Cancel{read_id(f, "id"), read_id(f, "probe")};
     }},
    {"ping", [](JsonFields& f) -> ControllerMessage { return Ping{read_id(f, "id")}; }},
    {"shutdown", [](JsonFields&) -> ControllerMessage { return Shutdown{}; }},
}};

constexpr std::array<MessageType<AgentMessage>, 7> kAgentTypes{{
    {"hello",
     [](JsonFields& f) -> AgentMessage {
       return AgentHello{read_protocol(f), f.text("version", kLongestName), read_host(f)};
     }},
    {"started",
     [](JsonFields& f) -> AgentMessage {
       return Started{read_id(f, "id"), read_id(f, "probe"), read_rank(f), f.integer("pid", 0, kMostIds)};
     }},
    {"from_rank",
     [](JsonFields& f) -> AgentMessage {
       return FromRank{read_id(f, "probe"), read_rank(f), read_nested(f, "message", probes::rank_message_from_json)};
     }},
    {"exited", [](JsonFields& f) -> AgentMessage { return read_exit(f); }},
    {"probe_state", [](JsonFields& f) -> AgentMessage { return read_probe_state(f); }},
    {"done", [](JsonFields& f) -> AgentMessage { return Done{read_id(f, "id")}; }},
    {"refused", [](JsonFields& f) -> AgentMessage { return read_refused(f); }},
}};

template <typename Message, std::size_t N>
std::variant<Message, Malformed> parse(std::string_view line, const std::array<MessageType<Message>, N>& types) {
  std::string error;
  const auto value = probes::parse_json_line(line, error);
  if (!value) return Malformed{error};
  JsonFields fields(*value);
  const std::string name = fields.text("type", kLongestName);
  for (const MessageType<Message>& type : types) {
    if (name != type.name) continue;
    Message message = type.read(fields);
    if (!fields.error().empty()) return Malformed{fmt::format("bad '{}' message: {}", name, fields.error())};
    return message;
  }
  if (!fields.error().empty()) return Malformed{fields.error()};
  return Malformed{"its type is unknown"};
}

}  // namespace

std::string build_version() {
  return WEFT_VERSION;
}

std::string format(const ControllerMessage& message) {
  const json value = std::visit(
      Overloaded{
          [](const ControllerHello& m) {
            return json{{"type", "hello"}, {"protocol", m.protocol}, {"version", m.version}};
          },
          [](const StartRank& m) {
            return json{{"type", "start"},
                        {"id", m.id},
                        {"probe", m.probe},
                        {"program", m.program},
                        {"deadline_s", m.deadline_s},
                        {"parameters", probes::to_json(probes::RankCommand(m.parameters))}};
          },
          [](const ToRank& m) {
            return json{
                {"type", "to_rank"}, {"probe", m.probe}, {"rank", m.rank}, {"command", probes::to_json(m.command)}};
          },
          [](const Inspect& m) {
            return json{{"type", "inspect"}, {"id", m.id}, {"probe", m.probe}};
          },
          [](const Cancel& m) {
            return json{{"type", "cancel"}, {"id", m.id}, {"probe", m.probe}};
          },
          [](const Ping& m) {
            return json{{"type", "ping"}, {"id", m.id}};
          },
          [](const Shutdown&) {
            return json{{"type", "shutdown"}};
          },
      },
      message);
  return probes::to_json_line(value);
}

std::string format(const AgentMessage& message) {
  const json value = std::visit(
      Overloaded{
          [](const AgentHello& m) {
            return json{{"type", "hello"},
                        {"protocol", m.protocol},
                        {"version", m.version},
                        {"host",
                         {{"host_name", m.host.host_name},
                          {"architecture", m.host.architecture},
                          {"boot_id", m.host.boot_id},
                          {"cores", m.host.cores},
                          {"available_memory_bytes", m.host.available_memory_bytes}}}};
          },
          [](const Started& m) {
            return json{{"type", "started"}, {"id", m.id}, {"probe", m.probe}, {"rank", m.rank}, {"pid", m.pid}};
          },
          [](const FromRank& m) {
            return json{
                {"type", "from_rank"}, {"probe", m.probe}, {"rank", m.rank}, {"message", probes::to_json(m.message)}};
          },
          [](const RankExited& m) { return exit_to_json(m); },
          [](const ProbeState& m) { return probe_state_to_json(m); },
          [](const Done& m) {
            return json{{"type", "done"}, {"id", m.id}};
          },
          [](const Refused& m) {
            json refused{{"type", "refused"}, {"reason", m.reason}};
            if (m.id) refused["id"] = *m.id;
            return refused;
          },
      },
      message);
  return probes::to_json_line(value);
}

std::variant<ControllerMessage, Malformed> parse_controller_message(std::string_view line) {
  return parse(line, kControllerTypes);
}

std::variant<AgentMessage, Malformed> parse_agent_message(std::string_view line) {
  return parse(line, kAgentTypes);
}

std::optional<std::uint64_t> id_of_line(std::string_view line) {
  std::string error;
  const auto value = probes::parse_json_line(line, error);
  if (!value) return std::nullopt;
  JsonFields fields(*value);
  const std::uint64_t id = read_id(fields, "id");
  if (!fields.error().empty()) return std::nullopt;
  return id;
}

}  // namespace weft::launch
