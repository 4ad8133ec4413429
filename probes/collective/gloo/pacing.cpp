#include "probes/collective/gloo/pacing.h"

#include <algorithm>
#include <thread>

namespace weft::probes {

void pace_iteration(std::chrono::steady_clock::time_point begin, double bytes_per_rank, const RankFaults& faults) {
  using Seconds = std::chrono::duration<double>;
  double wanted_s = Seconds(std::chrono::steady_clock::now() - begin).count();
  if (faults.rate_bytes_per_s > 0) wanted_s = std::max(wanted_s, bytes_per_rank / faults.rate_bytes_per_s);
  wanted_s += wanted_s * faults.delay_share + faults.delay_s;
  std::this_thread::sleep_until(begin +
                                std::chrono::duration_cast<std::chrono::steady_clock::duration>(Seconds(wanted_s)));
}

}  // namespace weft::probes
