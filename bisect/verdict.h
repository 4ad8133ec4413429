#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/collective/measurement.h"
#include "topology/finding.h"

namespace weft::bisect {

enum class CulpritKind { node, rail, leaf, uplink, path, pair, scale, crash, hang, corrupt, unreachable };

/// One guilty thing, at the most specific level that was measured. Which fields name it depends on `kind`: `node` for
/// node, rail, crash, hang, corrupt and unreachable; `unit` for leaf and uplink; `units` (two) for path; `nodes` (two)
/// for pair; `min_nodes` for scale. `rail` is set for rail, and for leaf, uplink and path where rails were probed
/// apart.
struct Culprit {
  CulpritKind kind = CulpritKind::node;
  std::string node;
  std::optional<int> rail;
  std::string unit;
  std::vector<std::string> units;
  std::vector<std::string> nodes;
  std::optional<int> min_nodes;
  std::optional<double>
      measured_gbps;  ///< bus bandwidth of the probes that convicted it; none when they gave no number
  std::optional<double> expected_gbps;  ///< what like probes reach without it
  std::optional<double> slowdown;       ///< expected / measured, so 1.5 means that a job takes 1.5 times as long
  double confidence = 0;  ///< 0–1, from the number of probes that agree and their spread (docs/search.md)
};

/// The figure that the whole set is judged by. `source` says where it comes from.
struct Baseline {
  enum class Source { flag, fabric, history, peers, model };
  double busbw_gbps = 0;
  Source source = Source::peers;
};

/// A set of which at least one is bad, and the measurements cannot tell which; with the cheapest probe that would.
struct Unresolved {
  std::vector<Culprit> candidates;
  std::optional<probes::Group> next_probe;
};

struct Verdict {
  enum class Kind {
    healthy,       ///< exit 0
    degraded,      ///< exit 1: culprits or findings
    inconclusive,  ///< exit 3: cannot tell, `why` says why and what would settle it
    failed,        ///< exit 4: nothing could be measured
  };
  Kind kind = Kind::inconclusive;
  std::string why;                ///< one or two sentences for a person; always set
  std::vector<Culprit> culprits;  ///< in a fixed order: kind, then name
  std::vector<Unresolved> unresolved;
  std::vector<std::string> cleared;  ///< nodes that the measurements acquit, in the order asked
  std::optional<Baseline> baseline;  ///< none when nothing could be compared
  /// Of the whole set, first and last: what the job gets and what it would get without the culprits. GB/s.
  std::optional<double> whole_gbps;
  std::optional<double> rest_gbps;
  int asked = 0;     ///< nodes; asked = measured + skipped + failed
  int measured = 0;  ///< nodes in at least one probe that ran to its end
  int skipped = 0;   ///< nodes never probed (refused, cancelled)
  int failed = 0;    ///< nodes whose every probe crashed, hung or found them unreachable
  std::vector<Finding> findings;
};

const char* to_string(CulpritKind kind);
const char* to_string(Baseline::Source source);
const char* to_string(Verdict::Kind kind);

/// What a thing is guilty of whose probes end with this status.
CulpritKind kind_of_failure(probes::Status failure);

/// How people write it: "node gpu007", "gpu007 rail 3", "leaf of su1 rail 2", "path su1 <-> su2 rail 2", "pair gpu001 +
/// gpu009", "from 48 nodes on".
std::string describe(const Culprit& culprit);

}  // namespace weft::bisect
