#include "bisect/run.h"

namespace weft::bisect {

int RunResult::probe_count() const {
  std::size_t count = 0;
  for (const RoundResult& round : rounds)
    count += round.measurements.size();
  return static_cast<int>(count);
}

double RunResult::node_seconds() const {
  double sum = 0;
  for (const RoundResult& round : rounds)
    for (const probes::Measurement& measurement : round.measurements)
      sum += static_cast<double>(measurement.group.nodes.size()) * measurement.wall_s;
  return sum;
}

}  // namespace weft::bisect
