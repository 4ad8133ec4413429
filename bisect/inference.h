#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bisect/expectation.h"
#include "bisect/layout.h"

namespace weft::bisect {

/// All readings of one set of nodes over one rail (or all), and what they say together.
struct Group {
  enum class State { good, low, unknown };

  std::vector<NodeIndex> members;  ///< sorted
  int rail = kAllRails;
  bool crosses_units = false;
  std::vector<double> busbw_gbps;  ///< of the readings that gave a number
  std::optional<double> expected_gbps;
  int good = 0;    ///< readings that clearly reached what is expected
  int near = 0;    ///< readings so little above the threshold that a bad group might give them too
  int low = 0;     ///< readings that did not, with a number
  int failed = 0;  ///< readings without a number: crashed, hung, corrupt
  probes::Status failure = probes::Status::ok;  ///< of the last failed reading
  State state = State::unknown;

  double median_gbps() const { return probes::median_of(busbw_gbps); }
  int bad() const { return low + failed; }
};

/// A rail of the way between two units, both of them in the ring order of the layout (first < second).
struct CrossingKey {
  UnitIndex first = 0;
  UnitIndex second = 0;
  int rail = kAllRails;
  auto operator<=>(const CrossingKey&) const = default;
};

/// Evidence about one suspect thing: how much weighs against it, in nats, and whether it was acquitted.
struct Evidence {
  double against = 0;
  int bad_readings = 0;
  bool good = false;  ///< a group that depends on it reached what is expected
  std::vector<double> busbw_gbps;
  double expected_gbps = 0;
  probes::Status failure = probes::Status::ok;  ///< when what weighs against it are failures, their status
};

/// What all readings of a run say, solved together: order never matters.
///
/// A good group acquits everything it depends on. A low group in which one thing only is not acquitted is evidence
/// against that thing. Evidence is weighed as in Wald's sequential probability ratio test: a healthy group reads
/// low with probability kOutlierRate, so each independent low reading adds ln(1/kOutlierRate) nats, and a thing is
/// convicted when ln(candidates/kFalseConvictionRate) is reached (docs/search.md).
class Inference {
 public:
  /// A healthy probe reads low this often (a heavy tail is normal on shared fabrics); it fails outright less often.
  static constexpr double kOutlierRate = 0.01;
  static constexpr double kFailureRate = 0.001;

  struct Options {
    double tolerance = 0.10;
    probes::Scaling scaling = probes::Scaling::unknown;
    std::optional<AbsoluteExpectation> absolute = std::nullopt;
    double false_conviction_rate = 1e-3;  ///< accepted for the whole run
  };

  Inference(const Layout& layout, const Options& options);

  /// Refused readings are ignored.
  void add(Reading reading);
  /// Draws the conclusions anew from all readings; call after the last add.
  void solve();

  const std::vector<Group>& groups() const { return groups_; }
  const Group* find(std::vector<NodeIndex> members, int rail) const;
  double expected_or_zero(std::size_t nodes, bool one_rail) const;
  const ExpectationModel& expectations() const { return expectations_; }

  /// Nats at which a suspect is convicted.
  double conviction_weight() const;
  bool convicted(const Evidence& evidence) const { return !evidence.good && evidence.against >= conviction_weight(); }

  bool reachable(NodeIndex node) const { return !unreachable_[node]; }
  /// The node as a whole: good in a group over all rails.
  bool node_good(NodeIndex node) const { return node_[node].good; }
  bool rail_good(NodeIndex node, int rail) const;
  const Evidence& node(NodeIndex node) const { return node_[node]; }
  const Evidence& single(NodeIndex node) const { return single_[node]; }
  const Evidence& rail(NodeIndex node, int rail) const;

  /// Convicted as a whole, by one of its rails, alone, or unreachable.
  bool node_bad(NodeIndex node) const;
  /// Rails that convict the node; empty when it is bad as a whole, or good.
  std::vector<int> bad_rails(NodeIndex node) const;
  /// Each of its bad rails was slow often enough to be named.
  bool rails_confirmed(NodeIndex node) const;

  bool leaf_bad(UnitIndex unit, int rail) const { return leaf_bad_.contains({unit, rail}); }
  const std::map<std::pair<UnitIndex, int>, Evidence>& bad_leaves() const { return leaf_bad_; }
  const std::map<CrossingKey, Evidence>& crossings() const { return crossings_; }
  const std::map<std::pair<NodeIndex, NodeIndex>, Evidence>& pairs() const { return pairs_; }

  /// Something convicted is in the group, on a rail that it uses.
  bool explained(const Group& group) const;

  /// Low groups that nothing convicted explains, with the members that are not acquitted (none of them: a fault that
  /// only shows in combination).
  struct Unexplained {
    const Group* group = nullptr;
    std::vector<NodeIndex> candidates;
  };
  std::vector<Unexplained> unexplained() const;

  /// Low readings of groups whose repetition was good, among all readings: how noisy the fabric is.
  int flips() const { return flips_; }
  int readings() const { return readings_; }
  const std::optional<AbsoluteExpectation>& absolute() const { return options_.absolute; }
  /// How far below its expectation a reading is low: the tolerance, or more where the fabric scatters.
  double margin() const;
  /// One node is in every comparable group and none stands out: nothing can be told good from bad.
  bool confounded() const { return confounded_; }

 private:
  void learn_expectations();
  void judge_groups();
  void detect_confounding();
  void acquit();
  void acquit_group(const Group& group);
  void convict_leaves();
  void convict_nodes();
  void weigh_crossings_and_pairs();
  std::vector<NodeIndex> candidates(const Group& group) const;
  void accuse(Evidence& evidence, const Group& group) const;

  const Layout& layout_;
  Options options_;
  ExpectationModel expectations_;
  std::vector<Group> groups_;
  std::map<std::pair<int, std::vector<NodeIndex>>, std::size_t> group_index_;
  std::vector<bool> unreachable_;
  std::vector<Evidence> node_;
  std::vector<Evidence> single_;
  std::vector<Evidence> rail_;  ///< node-major
  std::map<std::pair<UnitIndex, int>, bool> leaf_good_;
  std::map<std::pair<UnitIndex, int>, Evidence> leaf_bad_;
  std::map<CrossingKey, Evidence> crossings_;
  std::map<std::pair<NodeIndex, NodeIndex>, Evidence> pairs_;
  int flips_ = 0;
  int readings_ = 0;
  bool confounded_ = false;
};

}  // namespace weft::bisect
