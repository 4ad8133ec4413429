#include "history/unfinished.h"

#include <set>
#include <utility>

namespace weft::history {
namespace {

bool ran_to_its_end(probes::Status status) {
  return status == probes::Status::ok || status == probes::Status::corrupt;
}

}  // namespace

bisect::Verdict unfinished_verdict(const bisect::RunInfo& info, const std::vector<bisect::RoundResult>& rounds,
                                   std::string why) {
  std::set<std::string> measured;
  std::set<std::string> tried;
  for (const bisect::RoundResult& round : rounds)
    for (const probes::Measurement& measurement : round.measurements) {
      if (measurement.status == probes::Status::refused) continue;
      tried.insert(measurement.group.nodes.begin(), measurement.group.nodes.end());
      if (ran_to_its_end(measurement.status))
        measured.insert(measurement.group.nodes.begin(), measurement.group.nodes.end());
    }
  bisect::Verdict verdict;
  verdict.kind = bisect::Verdict::Kind::inconclusive;
  verdict.why = std::move(why);
  for (const std::string& host : info.hosts) {
    ++verdict.asked;
    ++(measured.contains(host) ? verdict.measured : tried.contains(host) ? verdict.failed : verdict.skipped);
  }
  return verdict;
}

}  // namespace weft::history
