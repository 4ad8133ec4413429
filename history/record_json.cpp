#include "history/record_json.h"

#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "history/enum_names.h"
#include "topology/error.h"

namespace weft::history {
namespace {

using json = nlohmann::ordered_json;

json number(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

template <typename T>
json optional(const std::optional<T>& value) {
  if (!value) return nullptr;
  if constexpr (std::is_same_v<T, double>)
    return number(*value);
  else
    return *value;
}

double number_in(const json& document) {
  return document.is_null() ? 0.0 : document.get<double>();
}

template <typename T>
std::optional<T> optional_in(const json& document) {
  if (document.is_null()) return std::nullopt;
  return document.get<T>();
}

template <typename Enum>
Enum required(const std::optional<Enum>& value, const json& document) {
  if (!value) throw RunError({"a record holds an unknown name, " + document.dump(), "", "", ""});
  return *value;
}

std::vector<std::string> strings_in(const json& document) {
  return document.get<std::vector<std::string>>();
}

json encode_group(const probes::Group& group) {
  return {{"nodes", group.nodes}, {"rail", optional(group.rail)}};
}

probes::Group decode_group(const json& document) {
  return {strings_in(document.at("nodes")), optional_in<int>(document.at("rail"))};
}

json encode_fault(const probes::NodeFault& fault) {
  return {{"node", fault.node}, {"rank", fault.rank}, {"stage", to_string(fault.stage)}, {"what", fault.what}};
}

probes::NodeFault decode_fault(const json& document) {
  const auto stage = document.at("stage").get<std::string>();
  return {document.at("node"), document.at("rank"), required(probes::stage_from_string(stage), document.at("stage")),
          document.at("what")};
}

json encode_measurement(const probes::Measurement& measurement) {
  json faults = json::array();
  for (const probes::NodeFault& fault : measurement.node_faults)
    faults.push_back(encode_fault(fault));
  json seconds = json::array();
  for (const double value : measurement.iteration_s)
    seconds.push_back(number(value));
  return {{"group", encode_group(measurement.group)},
          {"op", to_string(measurement.op)},
          {"bytes", measurement.bytes},
          {"ranks", measurement.ranks},
          {"status", to_string(measurement.status)},
          {"stage", to_string(measurement.stage)},
          {"reason", measurement.reason},
          {"node_faults", faults},
          {"iteration_s", seconds},
          {"time_s", number(measurement.time_s)},
          {"algbw_gbps", number(measurement.algbw_gbps)},
          {"busbw_gbps", number(measurement.busbw_gbps)},
          {"wall_s", number(measurement.wall_s)},
          {"notes", measurement.notes}};
}

probes::Measurement decode_measurement(const json& document) {
  probes::Measurement measurement;
  measurement.group = decode_group(document.at("group"));
  measurement.op = required(probes::op_from_string(document.at("op").get<std::string>()), document.at("op"));
  measurement.bytes = document.at("bytes");
  measurement.ranks = document.at("ranks");
  measurement.status =
      required(probes::status_from_string(document.at("status").get<std::string>()), document.at("status"));
  measurement.stage =
      required(probes::stage_from_string(document.at("stage").get<std::string>()), document.at("stage"));
  measurement.reason = document.at("reason");
  for (const json& fault : document.at("node_faults"))
    measurement.node_faults.push_back(decode_fault(fault));
  for (const json& value : document.at("iteration_s"))
    measurement.iteration_s.push_back(number_in(value));
  measurement.time_s = number_in(document.at("time_s"));
  measurement.algbw_gbps = number_in(document.at("algbw_gbps"));
  measurement.busbw_gbps = number_in(document.at("busbw_gbps"));
  measurement.wall_s = number_in(document.at("wall_s"));
  measurement.notes = strings_in(document.at("notes"));
  return measurement;
}

json encode_spec(const probes::ProbeSpec& spec) {
  return {{"op", to_string(spec.op)},
          {"bytes", spec.bytes},
          {"iterations", spec.iterations},
          {"warm_up_iterations", spec.warm_up_iterations},
          {"gpus_per_node", spec.gpus_per_node},
          {"start_s", number(spec.timeouts.start_s)},
          {"rendezvous_s", number(spec.timeouts.rendezvous_s)},
          {"init_s", number(spec.timeouts.init_s)},
          {"warm_up_s", number(spec.timeouts.warm_up_s)},
          {"run_s", number(spec.timeouts.run_s)}};
}

probes::ProbeSpec decode_spec(const json& document) {
  probes::ProbeSpec spec;
  spec.op = required(probes::op_from_string(document.at("op").get<std::string>()), document.at("op"));
  spec.bytes = document.at("bytes");
  spec.iterations = document.at("iterations");
  spec.warm_up_iterations = document.at("warm_up_iterations");
  spec.gpus_per_node = document.at("gpus_per_node");
  spec.timeouts.start_s = number_in(document.at("start_s"));
  spec.timeouts.rendezvous_s = number_in(document.at("rendezvous_s"));
  spec.timeouts.init_s = number_in(document.at("init_s"));
  spec.timeouts.warm_up_s = number_in(document.at("warm_up_s"));
  spec.timeouts.run_s = number_in(document.at("run_s"));
  return spec;
}

bisect::Culprit decode_culprit(const json& document) {
  bisect::Culprit culprit;
  culprit.kind = required(culprit_kind_from_string(document.at("kind").get<std::string>()), document.at("kind"));
  culprit.node = document.at("node");
  culprit.rail = optional_in<int>(document.at("rail"));
  culprit.unit = document.at("unit");
  culprit.units = strings_in(document.at("units"));
  culprit.nodes = strings_in(document.at("nodes"));
  culprit.min_nodes = optional_in<int>(document.at("min_nodes"));
  culprit.measured_gbps = optional_in<double>(document.at("measured_gbps"));
  culprit.expected_gbps = optional_in<double>(document.at("expected_gbps"));
  culprit.slowdown = optional_in<double>(document.at("slowdown"));
  culprit.confidence = number_in(document.at("confidence"));
  return culprit;
}

json encode_finding(const Finding& finding) {
  return {{"kind", finding.kind},
          {"severity", to_string(finding.severity)},
          {"subject", finding.subject},
          {"summary", finding.summary},
          {"suspects", finding.suspects},
          {"victims", finding.victims},
          {"evidence", encode(finding.evidence)},
          {"likely_cause", finding.likely_cause},
          {"next_step", finding.next_step},
          {"alert", finding.alert}};
}

Finding decode_finding(const json& document) {
  Finding finding;
  finding.kind = document.at("kind");
  finding.severity =
      required(severity_from_string(document.at("severity").get<std::string>()), document.at("severity"));
  finding.subject = document.at("subject");
  finding.summary = document.at("summary");
  finding.suspects = strings_in(document.at("suspects"));
  finding.victims = strings_in(document.at("victims"));
  finding.evidence = decode_evidence(document.at("evidence"));
  finding.likely_cause = document.at("likely_cause");
  finding.next_step = document.at("next_step");
  finding.alert = document.at("alert");
  return finding;
}

json encode_baseline(const std::optional<bisect::Baseline>& baseline) {
  if (!baseline) return nullptr;
  return {{"busbw_gbps", number(baseline->busbw_gbps)}, {"source", to_string(baseline->source)}};
}

std::optional<bisect::Baseline> decode_baseline(const json& document) {
  if (document.is_null()) return std::nullopt;
  const auto source = document.at("source").get<std::string>();
  return bisect::Baseline{number_in(document.at("busbw_gbps")),
                          required(baseline_source_from_string(source), document.at("source"))};
}

}  // namespace

json encode(const bisect::RunInfo& info) {
  return {{"id", info.id},
          {"started_at", info.started_at},
          {"command_line", info.command_line},
          {"version", info.version},
          {"user", info.user},
          {"controller_host", info.controller_host},
          {"prober", info.prober},
          {"launcher", info.launcher},
          {"fabric_file", info.fabric_file},
          {"fabric_text", info.fabric_text},
          {"hosts", info.hosts},
          {"spec", encode_spec(info.spec)},
          {"injected", info.injected}};
}

bisect::RunInfo decode_run_info(const json& document) {
  bisect::RunInfo info;
  info.id = document.at("id");
  info.started_at = document.at("started_at");
  info.command_line = strings_in(document.at("command_line"));
  info.version = document.at("version");
  info.user = document.at("user");
  info.controller_host = document.at("controller_host");
  info.prober = document.at("prober");
  info.launcher = document.at("launcher");
  info.fabric_file = document.at("fabric_file");
  info.fabric_text = document.at("fabric_text");
  info.hosts = strings_in(document.at("hosts"));
  info.spec = decode_spec(document.at("spec"));
  info.injected = strings_in(document.at("injected"));
  return info;
}

json encode(const bisect::RoundResult& round) {
  json groups = json::array();
  for (const probes::Group& group : round.round.groups)
    groups.push_back(encode_group(group));
  json measurements = json::array();
  for (const probes::Measurement& measurement : round.measurements)
    measurements.push_back(encode_measurement(measurement));
  return {{"number", round.round.number},
          {"purpose", round.round.purpose},
          {"wall_s", number(round.wall_s)},
          {"groups", groups},
          {"measurements", measurements}};
}

bisect::RoundResult decode_round(const json& document) {
  bisect::RoundResult round;
  round.round.number = document.at("number");
  round.round.purpose = document.at("purpose");
  round.wall_s = number_in(document.at("wall_s"));
  for (const json& group : document.at("groups"))
    round.round.groups.push_back(decode_group(group));
  for (const json& measurement : document.at("measurements"))
    round.measurements.push_back(decode_measurement(measurement));
  return round;
}

json encode(const bisect::Culprit& culprit) {
  return {{"kind", to_string(culprit.kind)},
          {"node", culprit.node},
          {"rail", optional(culprit.rail)},
          {"unit", culprit.unit},
          {"units", culprit.units},
          {"nodes", culprit.nodes},
          {"min_nodes", optional(culprit.min_nodes)},
          {"measured_gbps", optional(culprit.measured_gbps)},
          {"expected_gbps", optional(culprit.expected_gbps)},
          {"slowdown", optional(culprit.slowdown)},
          {"confidence", number(culprit.confidence)}};
}

json encode(const std::vector<bisect::Unresolved>& unresolved) {
  json sets = json::array();
  for (const bisect::Unresolved& set : unresolved) {
    json candidates = json::array();
    for (const bisect::Culprit& candidate : set.candidates)
      candidates.push_back(encode(candidate));
    sets.push_back(
        {{"candidates", candidates}, {"next_probe", set.next_probe ? encode_group(*set.next_probe) : json(nullptr)}});
  }
  return sets;
}

std::vector<bisect::Unresolved> decode_unresolved(const json& document) {
  std::vector<bisect::Unresolved> sets;
  for (const json& entry : document) {
    bisect::Unresolved set;
    for (const json& candidate : entry.at("candidates"))
      set.candidates.push_back(decode_culprit(candidate));
    if (!entry.at("next_probe").is_null()) set.next_probe = decode_group(entry.at("next_probe"));
    sets.push_back(std::move(set));
  }
  return sets;
}

json encode(const std::vector<Evidence>& evidence) {
  json lines = json::array();
  for (const Evidence& line : evidence)
    lines.push_back({{"where", line.where}, {"what", line.what}});
  return lines;
}

std::vector<Evidence> decode_evidence(const json& document) {
  std::vector<Evidence> evidence;
  for (const json& line : document)
    evidence.push_back({line.at("where"), line.at("what")});
  return evidence;
}

json encode(const bisect::Verdict& verdict) {
  json culprits = json::array();
  for (const bisect::Culprit& culprit : verdict.culprits)
    culprits.push_back(encode(culprit));
  json findings = json::array();
  for (const Finding& finding : verdict.findings)
    findings.push_back(encode_finding(finding));
  return {{"kind", to_string(verdict.kind)},
          {"why", verdict.why},
          {"culprits", culprits},
          {"unresolved", encode(verdict.unresolved)},
          {"cleared", verdict.cleared},
          {"baseline", encode_baseline(verdict.baseline)},
          {"whole_gbps", optional(verdict.whole_gbps)},
          {"rest_gbps", optional(verdict.rest_gbps)},
          {"asked", verdict.asked},
          {"measured", verdict.measured},
          {"skipped", verdict.skipped},
          {"failed", verdict.failed},
          {"findings", findings}};
}

bisect::Verdict decode_verdict(const json& document) {
  bisect::Verdict verdict;
  verdict.kind = required(verdict_kind_from_string(document.at("kind").get<std::string>()), document.at("kind"));
  verdict.why = document.at("why");
  for (const json& culprit : document.at("culprits"))
    verdict.culprits.push_back(decode_culprit(culprit));
  verdict.unresolved = decode_unresolved(document.at("unresolved"));
  verdict.cleared = strings_in(document.at("cleared"));
  verdict.baseline = decode_baseline(document.at("baseline"));
  verdict.whole_gbps = optional_in<double>(document.at("whole_gbps"));
  verdict.rest_gbps = optional_in<double>(document.at("rest_gbps"));
  verdict.asked = document.at("asked");
  verdict.measured = document.at("measured");
  verdict.skipped = document.at("skipped");
  verdict.failed = document.at("failed");
  for (const json& finding : document.at("findings"))
    verdict.findings.push_back(decode_finding(finding));
  return verdict;
}

std::string to_line(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string strings_to_line(const std::vector<std::string>& strings) {
  return to_line(json(strings));
}

std::vector<std::string> strings_from_line(const std::string& line) {
  return strings_in(json::parse(line));
}

}  // namespace weft::history
