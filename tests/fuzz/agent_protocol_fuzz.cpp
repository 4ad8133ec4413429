// What the agent protocol promises for every input, in both directions: a line is refused with a reason, or it is a
// message that reads the same once it was written again. The lines of a probe's agent, whatever they say, end the probe
// in a measurement whose texts are fit to print.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "launch/collective_probe.h"
#include "launch/protocol.h"
#include "probes/collective/line_reader.h"

namespace {

using weft::launch::CollectiveProbe;
using weft::launch::Malformed;

void require(bool holds) {
  if (!holds) std::abort();
}

template <typename Message>
void check_line(const std::string& line, std::variant<Message, Malformed> (*parse)(std::string_view)) {
  const auto parsed = parse(line);
  if (const auto* malformed = std::get_if<Malformed>(&parsed)) {
    require(!malformed->reason.empty());
    return;
  }
  const std::string written = format(std::get<Message>(parsed));
  require(written.find('\n') == std::string::npos);
  const auto again = parse(written);
  require(std::holds_alternative<Message>(again));
  require(format(std::get<Message>(again)) == written);
}

void check_printable(std::string_view text) {
  for (const char c : text)
    require(!(c >= 0 && c < ' ') && c != '\x7f');
}

CollectiveProbe make_probe(CollectiveProbe::TimePoint now) {
  weft::probes::ProbeSpec spec;
  spec.bytes = 4096;
  spec.iterations = 2;
  const weft::probes::Group group{{"a", "b"}, {}};
  std::vector<CollectiveProbe::RankPlan> plan(2);
  for (int rank : {0, 1}) {
    auto& [node, parameters] = plan[static_cast<std::size_t>(rank)];
    node = group.nodes[static_cast<std::size_t>(rank)];
    parameters.rank = rank;
    parameters.ranks = 2;
  }
  return CollectiveProbe(1, "gloo", group, spec, plan, now);
}

/// Feeds the lines to a probe, from both nodes in turn and a second apart, until one is a lie; then time passes.
void check_probe(const std::vector<std::string>& lines) {
  CollectiveProbe::TimePoint now{};
  CollectiveProbe probe = make_probe(now);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    now += std::chrono::seconds(1);
    const std::string node = i % 2 == 0 ? "a" : "b";
    const auto parsed = weft::launch::parse_agent_message(lines[i]);
    if (const auto* message = std::get_if<weft::launch::AgentMessage>(&parsed)) {
      const auto lie = probe.hear(node, *message, now);
      if (lie) probe.lose_node(node, "it lied", now);
    }
    probe.pass_time(now);
    for (const auto& outgoing : probe.take_outgoing())
      check_line(format(outgoing.message), weft::launch::parse_controller_message);
  }
  for (int i = 0; i < 1000 && !probe.finished(); ++i) {
    now += std::chrono::seconds(1);
    probe.pass_time(now);
  }
  require(probe.finished());
  check_printable(probe.measurement().reason);
  for (const auto& fault : probe.measurement().node_faults)
    check_printable(fault.what);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::probes::LineReader reader(4096);
  reader.feed(std::string(data, data + size));
  std::vector<std::string> lines;
  while (auto line = reader.next())
    lines.push_back(std::move(*line));
  lines.emplace_back(reader.unfinished());
  for (const std::string& line : lines) {
    check_line(line, weft::launch::parse_agent_message);
    check_line(line, weft::launch::parse_controller_message);
    check_line(line, weft::probes::parse_rank_message);
    check_line(line, weft::probes::parse_rank_command);
    weft::launch::id_of_line(line);
  }
  check_probe(lines);
  return 0;
}
