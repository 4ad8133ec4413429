#include "report/json.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft::report {
namespace {

using json = nlohmann::ordered_json;
using bisect::Culprit;
using bisect::CulpritKind;

json gbps(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return std::stod(fmt::format("{:.6g}", *value));
}

json decimals(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::round(value * 1000) / 1000;
}

json decimals(const std::optional<double>& value) {
  return value ? decimals(*value) : json(nullptr);
}

void add_rail(json& document, const Culprit& culprit) {
  if (culprit.rail) document["rail"] = *culprit.rail;
}

/// The fields that name it, as its kind has them.
json identity_of(const Culprit& culprit) {
  json document = {{"kind", to_string(culprit.kind)}};
  switch (culprit.kind) {
    case CulpritKind::node:
    case CulpritKind::crash:
    case CulpritKind::hang:
    case CulpritKind::corrupt:
    case CulpritKind::unreachable:
      document["node"] = culprit.node;
      break;
    case CulpritKind::rail:
      document["node"] = culprit.node;
      add_rail(document, culprit);
      break;
    case CulpritKind::leaf:
    case CulpritKind::uplink:
      document["unit"] = culprit.unit;
      add_rail(document, culprit);
      break;
    case CulpritKind::path:
      document["units"] = culprit.units;
      add_rail(document, culprit);
      break;
    case CulpritKind::pair:
      document["nodes"] = culprit.nodes;
      break;
    case CulpritKind::scale:
      document["min_nodes"] = culprit.min_nodes ? json(*culprit.min_nodes) : json(nullptr);
      break;
  }
  return document;
}

json convicted(const Culprit& culprit) {
  json document = identity_of(culprit);
  document["measured_gbps"] = gbps(culprit.measured_gbps);
  document["expected_gbps"] = gbps(culprit.expected_gbps);
  document["slowdown"] = decimals(culprit.slowdown);
  document["confidence"] = decimals(culprit.confidence);
  return document;
}

json unresolved_set(const bisect::Unresolved& set) {
  json candidates = json::array();
  for (const Culprit& candidate : set.candidates)
    candidates.push_back(identity_of(candidate));
  json document = {{"candidates", candidates}, {"next_probe", nullptr}};
  if (set.next_probe) document["next_probe"] = set.next_probe->nodes;
  if (set.next_probe && set.next_probe->rail) document["next_probe_rail"] = *set.next_probe->rail;
  return document;
}

json finding_document(const Finding& finding) {
  json evidence = json::array();
  for (const Evidence& line : finding.evidence)
    evidence.push_back({{"where", line.where}, {"what", line.what}});
  return {{"kind", finding.kind},           {"severity", to_string(finding.severity)},
          {"subject", finding.subject},     {"summary", finding.summary},
          {"suspects", finding.suspects},   {"victims", finding.victims},
          {"evidence", evidence},           {"likely_cause", finding.likely_cause},
          {"next_step", finding.next_step}, {"alert", finding.alert}};
}

json baseline_document(const std::optional<bisect::Baseline>& baseline) {
  if (!baseline) return nullptr;
  return {{"busbw_gbps", gbps(baseline->busbw_gbps)}, {"source", to_string(baseline->source)}};
}

template <typename Item, typename Function>
json array_of(const std::vector<Item>& items, Function document_of) {
  json array = json::array();
  for (const Item& item : items)
    array.push_back(document_of(item));
  return array;
}

json document_of(const bisect::RunResult& run, std::string_view schema) {
  const bisect::Verdict& verdict = run.verdict;
  return {{"schema", schema},
          {"run", run.info.id > 0 ? json(run.info.id) : json(nullptr)},
          {"verdict", to_string(verdict.kind)},
          {"why", verdict.why},
          {"culprits", array_of(verdict.culprits, convicted)},
          {"baseline", baseline_document(verdict.baseline)},
          {"whole_gbps", gbps(verdict.whole_gbps)},
          {"rest_gbps", gbps(verdict.rest_gbps)},
          {"unresolved", array_of(verdict.unresolved, unresolved_set)},
          {"cleared", verdict.cleared},
          {"asked", verdict.asked},
          {"measured", verdict.measured},
          {"skipped", verdict.skipped},
          {"failed", verdict.failed},
          {"started_at", run.info.started_at},
          {"prober", run.info.prober},
          {"op", to_string(run.info.spec.op)},
          {"bytes", run.info.spec.bytes},
          {"rounds", run.rounds.size()},
          {"probes", run.probe_count()},
          {"wall_s", decimals(run.wall_s)},
          {"node_seconds", decimals(run.node_seconds())},
          {"interrupted", run.interrupted},
          {"injected", run.info.injected},
          {"notes", run.notes},
          {"findings", array_of(verdict.findings, finding_document)}};
}

}  // namespace

json bisect_json(const bisect::RunResult& run, std::string_view schema) {
  // Texts come from nodes and commands; the way through text is where bytes that are not UTF-8 are replaced.
  return json::parse(document_of(run, schema).dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace weft::report
