#include "probes/collective/rank_protocol.h"

#include <array>
#include <climits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "probes/collective/json_fields.h"

namespace weft::probes {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestSentence = 16384;
constexpr std::size_t kCutSentence = 4096;    // before bytes that are no UTF-8 are written as three
constexpr std::size_t kLongestPiece = 1024;   // of a post, for one rank: a Gloo address has 272 hexadecimal digits
constexpr std::size_t kLongestShared = 8192;  // of a post, for all: a host name, or an ncclUniqueId
constexpr double kLongestTime = 1e6;          // seconds
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

json faults_to_json(const RankFaults& faults) {
  json value = json::object();
  if (faults.delay_share > 0) value["delay_share"] = faults.delay_share;
  if (faults.delay_s > 0) value["delay_s"] = faults.delay_s;
  if (faults.rate_bytes_per_s > 0) value["rate_bytes_per_s"] = faults.rate_bytes_per_s;
  if (faults.sleep_before_init_s > 0) value["sleep_before_init_s"] = faults.sleep_before_init_s;
  if (faults.exit_in_init) value["exit_in_init"] = *faults.exit_in_init;
  if (faults.never_starts) value["never_starts"] = true;
  if (faults.crash_in_run) value["crash_in_run"] = true;
  if (faults.stop_in_run) value["stop_in_run"] = true;
  if (faults.corrupt) value["corrupt"] = true;
  return value;
}

RankFaults read_faults(JsonFields& fields) {
  RankFaults faults;
  if (fields.has("delay_share")) faults.delay_share = fields.number("delay_share", 0, 1000);
  if (fields.has("delay_s")) faults.delay_s = fields.number("delay_s", 0, kLongestTime);
  if (fields.has("rate_bytes_per_s")) faults.rate_bytes_per_s = fields.number("rate_bytes_per_s", 1, 1e15);
  if (fields.has("sleep_before_init_s")) {
    faults.sleep_before_init_s = fields.number("sleep_before_init_s", 0, kLongestTime);
  }
  if (fields.has("exit_in_init")) faults.exit_in_init = static_cast<int>(fields.integer("exit_in_init", 0, 255));
  if (fields.has("never_starts")) faults.never_starts = fields.boolean("never_starts");
  if (fields.has("crash_in_run")) faults.crash_in_run = fields.boolean("crash_in_run");
  if (fields.has("stop_in_run")) faults.stop_in_run = fields.boolean("stop_in_run");
  if (fields.has("corrupt")) faults.corrupt = fields.boolean("corrupt");
  return faults;
}

json timeouts_to_json(const StageTimeouts& timeouts) {
  return {{"start_s", timeouts.start_s},
          {"rendezvous_s", timeouts.rendezvous_s},
          {"init_s", timeouts.init_s},
          {"warm_up_s", timeouts.warm_up_s},
          {"run_s", timeouts.run_s}};
}

StageTimeouts read_timeouts(JsonFields& fields) {
  StageTimeouts timeouts;
  timeouts.start_s = fields.number("start_s", 0, kLongestTime);
  timeouts.rendezvous_s = fields.number("rendezvous_s", 0, kLongestTime);
  timeouts.init_s = fields.number("init_s", 0, kLongestTime);
  timeouts.warm_up_s = fields.number("warm_up_s", 0, kLongestTime);
  timeouts.run_s = fields.number("run_s", 0, kLongestTime);
  return timeouts;
}

/// Reads the object `key` of `fields` with `read`; what is wrong in it is wrong in `fields`.
template <typename Read>
auto read_object(JsonFields& fields, const char* key, Read read) -> decltype(read(fields)) {
  const json* value = fields.object(key);
  if (value == nullptr) return {};
  JsonFields inner(*value);
  auto result = read(inner);
  if (!inner.error().empty()) fields.fail(fmt::format("in '{}': {}", key, inner.error()));
  return result;
}

RankParameters read_parameters(JsonFields& fields) {
  RankParameters parameters;
  parameters.ranks = static_cast<int>(fields.integer("ranks", 1, kMaxRanks));
  parameters.rank = static_cast<int>(fields.integer("rank", 0, parameters.ranks - 1));
  parameters.ranks_on_host = static_cast<int>(fields.integer("ranks_on_host", 1, kMaxRanks));
  const auto op = op_from_string(fields.text("op", kLongestName));
  if (!op) fields.fail("'op' is not a known operation");
  parameters.op = op.value_or(Op::all_reduce);
  parameters.bytes = static_cast<std::uint64_t>(fields.integer("bytes", 0, kMostBytes));
  parameters.iterations = static_cast<int>(fields.integer("iterations", 1, kMaxIterations));
  parameters.warm_up_iterations = static_cast<int>(fields.integer("warm_up_iterations", 0, kMaxIterations));
  parameters.interface = fields.text("interface", kLongestName);
  parameters.address = fields.text("address", kLongestName);
  parameters.timeouts = read_object(fields, "timeouts", read_timeouts);
  parameters.faults = read_object(fields, "faults", read_faults);
  return parameters;
}

bool is_hex(const std::string& text) {
  return text.size() % 2 == 0 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void require_hex(JsonFields& fields, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (!is_hex(text)) fields.fail("a piece of an address is not hexadecimal");
  }
}

RankMail read_mail(JsonFields& fields) {
  RankMail mail;
  mail.shared = fields.texts("shared", kMaxRanks, kLongestShared);
  mail.each = fields.texts("each", kMaxRanks, kLongestPiece);
  require_hex(fields, mail.shared);
  require_hex(fields, mail.each);
  return mail;
}

Stage read_stage(JsonFields& fields) {
  const auto stage = stage_from_string(fields.text("stage", kLongestName));
  if (!stage) fields.fail("'stage' is not a known stage");
  return stage.value_or(Stage::none);
}

RankPost read_post(JsonFields& fields) {
  RankPost post;
  post.shared = fields.text("shared", kLongestShared);
  post.each = fields.texts("each", kMaxRanks, kLongestPiece);
  require_hex(fields, {post.shared});
  require_hex(fields, post.each);
  return post;
}

RankProgress read_progress(JsonFields& fields) {
  RankProgress progress;
  progress.stage = read_stage(fields);
  progress.iteration = static_cast<int>(fields.integer("iteration", 0, std::int64_t{2} * kMaxIterations));
  return progress;
}

RankResult read_result(JsonFields& fields) {
  RankResult result;
  result.iteration_s = fields.numbers("iteration_s", kMaxIterations, 0, kLongestTime);
  result.wrong_values = static_cast<std::uint64_t>(fields.integer("wrong_values", 0, kMostBytes));
  result.first_wrong = fields.text("first_wrong", kLongestSentence);
  return result;
}

constexpr std::array<std::pair<RankError::Kind, const char*>, 3> kErrorKinds{
    {{RankError::Kind::refused, "refused"}, {RankError::Kind::local, "local"}, {RankError::Kind::peer, "peer"}}};

RankError read_error(JsonFields& fields) {
  RankError error;
  error.stage = read_stage(fields);
  error.what = fields.text("what", kLongestSentence);
  const std::string kind = fields.text("kind", kLongestName);
  bool known = false;
  for (const auto& [value, name] : kErrorKinds) {
    if (kind != name) continue;
    error.kind = value;
    known = true;
  }
  if (!known) fields.fail("'kind' is not a known kind of error");
  return error;
}

/// One row for each `type` that may come: its name and how to read the rest.
template <typename Message>
struct MessageType {
  const char* name;
  Message (*read)(JsonFields& fields);
};

constexpr std::array<MessageType<RankCommand>, 3> kCommandTypes{{
    {"parameters", [](JsonFields& fields) -> RankCommand { return read_parameters(fields); }},
    {"mail", [](JsonFields& fields) -> RankCommand { return read_mail(fields); }},
    {"ping", [](JsonFields&) -> RankCommand { return RankPing{}; }},
}};

constexpr std::array<MessageType<RankMessage>, 5> kMessageTypes{{
    {"stage", [](JsonFields& fields) -> RankMessage { return RankStage{read_stage(fields)}; }},
    {"post", [](JsonFields& fields) -> RankMessage { return read_post(fields); }},
    {"progress", [](JsonFields& fields) -> RankMessage { return read_progress(fields); }},
    {"result", [](JsonFields& fields) -> RankMessage { return read_result(fields); }},
    {"error", [](JsonFields& fields) -> RankMessage { return read_error(fields); }},
}};

template <typename Message, std::size_t N>
std::variant<Message, Malformed> message_from_json(const json& value,
                                                   const std::array<MessageType<Message>, N>& types) {
  JsonFields fields(value);
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

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

json to_json(const RankCommand& command) {
  return std::visit(Overloaded{
                        [](const RankParameters& p) {
                          return json{{"type", "parameters"},
                                      {"rank", p.rank},
                                      {"ranks", p.ranks},
                                      {"ranks_on_host", p.ranks_on_host},
                                      {"op", to_string(p.op)},
                                      {"bytes", p.bytes},
                                      {"iterations", p.iterations},
                                      {"warm_up_iterations", p.warm_up_iterations},
                                      {"interface", p.interface},
                                      {"address", p.address},
                                      {"timeouts", timeouts_to_json(p.timeouts)},
                                      {"faults", faults_to_json(p.faults)}};
                        },
                        [](const RankMail& mail) {
                          return json{{"type", "mail"}, {"shared", mail.shared}, {"each", mail.each}};
                        },
                        [](const RankPing&) {
                          return json{{"type", "ping"}};
                        },
                    },
                    command);
}

json to_json(const RankMessage& message) {
  return std::visit(Overloaded{
                        [](const RankStage& m) {
                          return json{{"type", "stage"}, {"stage", to_string(m.stage)}};
                        },
                        [](const RankPost& m) {
                          return json{{"type", "post"}, {"shared", m.shared}, {"each", m.each}};
                        },
                        [](const RankProgress& m) {
                          return json{{"type", "progress"}, {"stage", to_string(m.stage)}, {"iteration", m.iteration}};
                        },
                        [](const RankResult& m) {
                          return json{{"type", "result"},
                                      {"iteration_s", m.iteration_s},
                                      {"wrong_values", m.wrong_values},
                                      {"first_wrong", m.first_wrong}};
                        },
                        [](const RankError& m) {
                          const char* kind = kErrorKinds[0].second;
                          for (const auto& [value, name] : kErrorKinds) {
                            if (value == m.kind) kind = name;
                          }
                          return json{{"type", "error"},
                                      {"stage", to_string(m.stage)},
                                      {"kind", kind},
                                      {"what", m.what.substr(0, kCutSentence)}};
                        },
                    },
                    message);
}

std::variant<RankCommand, Malformed> rank_command_from_json(const json& value) {
  return message_from_json(value, kCommandTypes);
}

std::variant<RankMessage, Malformed> rank_message_from_json(const json& value) {
  return message_from_json(value, kMessageTypes);
}

std::string format(const RankCommand& command) {
  return to_json_line(to_json(command));
}

std::string format(const RankMessage& message) {
  return to_json_line(to_json(message));
}

std::variant<RankCommand, Malformed> parse_rank_command(std::string_view line) {
  std::string error;
  const auto value = parse_json_line(line, error);
  if (!value) return Malformed{error};
  return rank_command_from_json(*value);
}

std::variant<RankMessage, Malformed> parse_rank_message(std::string_view line) {
  std::string error;
  const auto value = parse_json_line(line, error);
  if (!value) return Malformed{error};
  return rank_message_from_json(*value);
}

std::uint64_t moved_bytes(Op op, std::uint64_t bytes, int ranks) {
  const std::uint64_t floats = bytes / sizeof(float);
  if (op != Op::all_gather && op != Op::reduce_scatter) return floats * sizeof(float);
  const auto parts = static_cast<std::uint64_t>(ranks);
  return floats / parts * parts * sizeof(float);
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace weft::probes
