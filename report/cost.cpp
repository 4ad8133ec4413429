#include "report/cost.h"

#include <algorithm>

namespace weft::report {
namespace {

using bisect::CulpritKind;

bool any_of_kind(const bisect::Verdict& verdict, std::initializer_list<CulpritKind> kinds) {
  return std::ranges::any_of(verdict.culprits, [&](const bisect::Culprit& culprit) {
    return std::ranges::find(kinds, culprit.kind) != kinds.end();
  });
}

std::optional<double> speed_with_culprits(const bisect::Verdict& verdict) {
  if (verdict.whole_gbps && verdict.rest_gbps && *verdict.whole_gbps > 0 && *verdict.rest_gbps > *verdict.whole_gbps)
    return *verdict.whole_gbps / *verdict.rest_gbps;
  double worst = 1;
  for (const bisect::Culprit& culprit : verdict.culprits)
    worst = std::max(worst, culprit.slowdown.value_or(1));
  if (worst <= 1) return std::nullopt;
  return 1 / worst;
}

}  // namespace

std::optional<Cost> cost_of(const bisect::RunResult& run) {
  if (run.verdict.culprits.empty()) return std::nullopt;
  Cost cost;
  cost.nodes = static_cast<std::int64_t>(run.info.hosts.size());
  cost.gpus = cost.nodes * run.info.spec.gpus_per_node;
  if (any_of_kind(run.verdict, {CulpritKind::crash, CulpritKind::hang, CulpritKind::unreachable})) {
    cost.kind = Cost::Kind::stops;
    cost.speed = 0;
  } else if (any_of_kind(run.verdict, {CulpritKind::corrupt})) {
    cost.kind = Cost::Kind::wrong;
    cost.speed = 0;
  } else if (const auto speed = speed_with_culprits(run.verdict)) {
    cost.speed = *speed;
  } else {
    return std::nullopt;
  }
  cost.lost_gpu_hours_per_hour = (1 - cost.speed) * static_cast<double>(cost.gpus);
  return cost;
}

}  // namespace weft::report
