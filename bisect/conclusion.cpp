#include "bisect/conclusion.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "bisect/unresolved.h"
#include "bisect/ways.h"
#include "topology/hostlist.h"

namespace weft::bisect {
namespace {

/// More low readings that a repetition took back than this many healthy fabrics in a thousand would show: unstable.
constexpr double kUnstableRisk = 1e-3;
/// A fabric whose healthy probes read low this often is still called stable.
constexpr double kStableOutlierRate = 0.03;

std::optional<int> rail_or_none(int rail) {
  return rail == kAllRails ? std::nullopt : std::optional<int>(rail);
}

double normal_tail(double z) {
  return 0.5 * std::erfc(z / std::sqrt(2));
}

/// P(X >= hits) for X ~ Binomial(trials, rate).
double binomial_tail(int trials, int hits, double rate) {
  double below = 0;
  for (int k = 0; k < hits; ++k) {
    below += std::exp(std::lgamma(trials + 1) - std::lgamma(k + 1) - std::lgamma(trials - k + 1) + k * std::log(rate) +
                      (trials - k) * std::log1p(-rate));
  }
  return std::max(0.0, 1 - below);
}

/// Chance that the evidence is right: that not every reading was an outlier, and that their mean is truly below
/// expectation.
double confidence_of(const Known& known, const Evidence& evidence) {
  const double all_outliers = 2 * static_cast<double>(known.layout.node_count()) * std::exp(-evidence.against);
  double chance_level = 0;
  if (!evidence.busbw_gbps.empty() && evidence.expected_gbps > 0) {
    const double spread = std::max(0.005, known.inference.expectations().spread());
    const double shortfall = 1 - probes::median_of(evidence.busbw_gbps) / evidence.expected_gbps;
    chance_level = normal_tail(shortfall / spread * std::sqrt(static_cast<double>(evidence.busbw_gbps.size())));
  }
  return std::clamp(1 - all_outliers - chance_level, 0.0, 0.9999);
}

void add_numbers(Culprit& culprit, const Known& known, const Evidence& evidence) {
  if (!evidence.busbw_gbps.empty()) culprit.measured_gbps = probes::median_of(evidence.busbw_gbps);
  if (evidence.expected_gbps > 0) culprit.expected_gbps = evidence.expected_gbps;
  if (culprit.measured_gbps && culprit.expected_gbps && *culprit.measured_gbps > 0) {
    culprit.slowdown = *culprit.expected_gbps / *culprit.measured_gbps;
  }
  culprit.confidence = confidence_of(known, evidence);
}

Culprit culprit_node(const Known& known, NodeIndex node) {
  const Inference& inference = known.inference;
  Culprit culprit;
  culprit.node = known.layout.names[node];
  if (!inference.reachable(node)) {
    culprit.kind = CulpritKind::unreachable;
    culprit.confidence = 0.9999;
    return culprit;
  }
  // Numbers of one shape only: alone, over all rails, or over one rail are different scales.
  Evidence weight = inference.node(node);
  Evidence shown = inference.node(node);
  if (inference.convicted(inference.single(node)) || shown.bad_readings == 0) {
    shown = inference.single(node);
  }
  weight.against += inference.single(node).against;
  for (int rail = 0; rail < known.layout.rails; ++rail) {
    const Evidence& of_rail = inference.rail(node, rail);
    if (of_rail.good) continue;
    weight.against += of_rail.against;
    if (shown.bad_readings == 0) shown = of_rail;
    if (of_rail.failure != probes::Status::ok) shown.failure = of_rail.failure;
  }
  shown.against = weight.against;
  culprit.kind = kind_of_failure(shown.failure);
  add_numbers(culprit, known, shown);
  return culprit;
}

Culprit culprit_rail(const Known& known, NodeIndex node, int rail) {
  Culprit culprit;
  culprit.kind = CulpritKind::rail;
  culprit.node = known.layout.names[node];
  culprit.rail = rail;
  Evidence evidence = known.inference.rail(node, rail);
  evidence.against += known.inference.node(node).against;
  add_numbers(culprit, known, evidence);
  return culprit;
}

void add_node_culprits(const Known& known, std::vector<Culprit>& culprits) {
  for (NodeIndex node = 0; node < known.layout.node_count(); ++node) {
    if (!known.inference.node_bad(node)) continue;
    const std::vector<int> rails = known.inference.bad_rails(node);
    const bool as_a_whole =
        rails.empty() || !known.inference.reachable(node) || known.inference.convicted(known.inference.single(node));
    if (as_a_whole) {
      culprits.push_back(culprit_node(known, node));
      continue;
    }
    for (int rail : rails)
      culprits.push_back(culprit_rail(known, node, rail));
  }
}

void add_leaf_culprits(const Known& known, std::vector<Culprit>& culprits) {
  for (const auto& [leaf, evidence] : known.inference.bad_leaves()) {
    Culprit culprit;
    culprit.kind = CulpritKind::leaf;
    culprit.unit = known.layout.unit_names[leaf.first];
    culprit.rail = rail_or_none(leaf.second);
    add_numbers(culprit, known, evidence);
    culprits.push_back(std::move(culprit));
  }
}

Culprit culprit_way(const Known& known, const SlowWay& way) {
  Culprit culprit;
  culprit.kind = way.uplink ? CulpritKind::uplink : CulpritKind::path;
  if (way.uplink) {
    culprit.unit = known.layout.unit_names[way.first];
  } else {
    culprit.units = {known.layout.unit_names[way.first], known.layout.unit_names[way.second]};
  }
  culprit.rail = rail_or_none(way.rail);
  add_numbers(culprit, known, way.evidence);
  return culprit;
}

void add_pair_culprits(const Known& known, std::vector<Culprit>& culprits) {
  for (const auto& [pair, evidence] : known.inference.pairs()) {
    if (!known.inference.convicted(evidence)) continue;
    Culprit culprit;
    culprit.kind = CulpritKind::pair;
    culprit.nodes = {known.layout.names[pair.first], known.layout.names[pair.second]};
    add_numbers(culprit, known, evidence);
    culprits.push_back(std::move(culprit));
  }
}

/// "node007, and at least 8 nodes" is two culprits: the node, and the size it takes.
void add_combination_culprits(const Known& known, std::vector<Culprit>& culprits) {
  for (const CombinationSearch::Conclusion& combination : known.combinations) {
    const Evidence evidence = evidence_for(known.inference, combination);
    for (NodeIndex node : combination.min_nodes ? combination.together : std::vector<NodeIndex>{}) {
      if (known.inference.node_bad(node)) continue;  // named already
      Culprit culprit;
      culprit.node = known.layout.names[node];
      add_numbers(culprit, known, evidence);
      culprits.push_back(std::move(culprit));
    }
    if (combination.min_nodes && (*combination.min_nodes > 2 || combination.together.empty())) {
      Culprit culprit;
      culprit.kind = CulpritKind::scale;
      culprit.min_nodes = static_cast<int>(*combination.min_nodes);
      add_numbers(culprit, known, evidence);
      culprits.push_back(std::move(culprit));
    }
    const bool pair_known =
        combination.together.size() == 2 &&
        known.inference.pairs().contains({combination.together[0], combination.together[1]}) &&
        known.inference.convicted(known.inference.pairs().at({combination.together[0], combination.together[1]}));
    if (!combination.min_nodes && !pair_known) {
      Culprit culprit;
      culprit.kind = CulpritKind::pair;
      culprit.nodes = known.layout.names_of(combination.together);
      add_numbers(culprit, known, evidence);
      culprits.push_back(std::move(culprit));
    }
  }
}

void sort_culprits(std::vector<Culprit>& culprits) {
  const auto key = [](const Culprit& culprit) {
    return std::tie(culprit.kind, culprit.node, culprit.unit, culprit.units, culprit.nodes, culprit.rail,
                    culprit.min_nodes);
  };
  std::sort(culprits.begin(), culprits.end(), [&](const Culprit& a, const Culprit& b) { return key(a) < key(b); });
}

// ---- the words ------------------------------------------------------------------------------------------------

void add_unresolved(const Known& known, Verdict& verdict) {
  const bool confounded = known.inference.confounded() && verdict.culprits.empty();
  verdict.unresolved = confounded ? unresolved_by_confounding(known.layout, known.inference)
                                  : unresolved_nodes(known.layout, known.inference);
  const std::vector<SlowWay> undecided = slow_ways(known.layout, known.inference).undecided;
  if (undecided.empty()) return;
  Unresolved unresolved;
  for (const SlowWay& way : undecided)
    unresolved.candidates.push_back(culprit_way(known, way));
  verdict.unresolved.push_back(std::move(unresolved));
}

/// Slow groups that nothing explains although every member is well elsewhere, and slow readings taken back.
int contradictions(const Known& known) {
  int count = known.inference.flips();
  for (const Inference::Unexplained& item : known.inference.unexplained()) {
    if (item.candidates.empty()) count += item.group->bad();
  }
  return count;
}

std::string percent(double fraction) {
  return fmt::format("{:.0f} %", 100 * fraction);
}

struct Scatter {
  double variation = 0;  ///< standard deviation over mean
  double high = 0;
  double low = 0;
};

Scatter scatter_of(const Known& known) {
  std::vector<double> samples;
  Scatter scatter;
  double widest = 1;
  for (const Group& group : known.inference.groups()) {
    if (group.rail != kAllRails || group.members.size() < 2 || group.busbw_gbps.empty()) continue;
    samples.insert(samples.end(), group.busbw_gbps.begin(), group.busbw_gbps.end());
    const auto [low, high] = std::minmax_element(group.busbw_gbps.begin(), group.busbw_gbps.end());
    if (*low > 0 && *high / *low > widest) {
      widest = *high / *low;
      scatter.low = *low;
      scatter.high = *high;
    }
  }
  if (samples.size() < 2) return scatter;
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  double squares = 0;
  for (double sample : samples)
    squares += (sample - mean) * (sample - mean);
  scatter.variation = std::sqrt(squares / static_cast<double>(samples.size())) / mean;
  return scatter;
}

Finding unstable_finding(const Known& known, int count) {
  const Scatter scatter = scatter_of(known);
  Finding finding;
  finding.kind = "unstable";
  finding.severity = Severity::minor;
  finding.subject = "run";
  finding.summary = fmt::format("{} of {} measurements were slow without anything that explains it: variation {}",
                                count, known.inference.readings(), percent(scatter.variation));
  if (scatter.high > 0) {
    finding.summary += fmt::format("; the same nodes gave {:.4g} and {:.4g} GB/s", scatter.high, scatter.low);
  }
  finding.likely_cause = "Other traffic on the fabric, too few iterations, or a fault that comes and goes.";
  finding.next_step = "Repeat with more --iterations or another --bytes, at a quiet hour; then compare.";
  return finding;
}

/// Groups by size, each holding the next smaller one: somebody measured how a job scales, not who is slow. Else
/// nothing.
std::vector<const Group*> growing_group(const Inference& inference) {
  std::vector<const Group*> groups;
  for (const Group& group : inference.groups()) {
    if (group.rail == kAllRails && group.members.size() >= 2) groups.push_back(&group);
  }
  std::sort(groups.begin(), groups.end(),
            [](const Group* a, const Group* b) { return a->members.size() < b->members.size(); });
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const std::vector<NodeIndex>& inner = groups[i - 1]->members;
    const std::vector<NodeIndex>& outer = groups[i]->members;
    if (!std::includes(outer.begin(), outer.end(), inner.begin(), inner.end())) return {};
  }
  if (groups.size() < 3) groups.clear();
  return groups;
}

/// The first size that falls further behind the one before it than a hierarchical collective does.
std::optional<Finding> scaling_loss(const Known& known) {
  const std::vector<const Group*> groups = growing_group(known.inference);
  for (std::size_t i = 1; i < groups.size(); ++i) {
    if (groups[i]->busbw_gbps.empty() || groups[i - 1]->busbw_gbps.empty()) continue;
    const int gpus = known.layout.gpus_per_node;
    const double expected_gbps = groups[i - 1]->median_gbps() * hierarchical_share(groups[i]->members.size(), gpus) /
                                 hierarchical_share(groups[i - 1]->members.size(), gpus);
    const double measured_gbps = groups[i]->median_gbps();
    if (measured_gbps >= expected_gbps * (1 - known.inference.margin())) continue;
    Finding finding;
    finding.kind = "scaling-loss";
    finding.severity = Severity::major;
    finding.subject = fmt::format("{} nodes and more", groups[i]->members.size());
    finding.summary = fmt::format(
        "{} nodes reach {:.4g} GB/s where {} reach {:.4g}: {:.4g} were to be expected. Two nodes alone are no measure "
        "for more, they may exceed the wire",
        groups[i]->members.size(), measured_gbps, groups[i - 1]->members.size(), groups[i - 1]->median_gbps(),
        expected_gbps);
    finding.likely_cause = "Oversubscribed or slow links above the leaves, or one of the nodes that were added.";
    finding.next_step = "Measure other groups of that size, and the added nodes with good partners.";
    return finding;
  }
  return std::nullopt;
}

/// Above the figure that was asked for, and far below its like: a floor is no measure of health.
void add_below_peers(const Known& known, Verdict& verdict) {
  if (!known.inference.absolute()) return;
  const double floor_gbps = known.inference.absolute()->busbw_gbps * (1 - known.inference.margin());
  for (const Inference::Unexplained& item : known.inference.unexplained()) {
    const Group& group = *item.group;
    if (group.rail != kAllRails || group.busbw_gbps.empty() || group.median_gbps() < floor_gbps) continue;
    Finding finding;
    finding.kind = "below-peers";
    finding.severity = Severity::major;
    finding.subject = topology::fold_hostlist(known.layout.names_of(group.members));
    finding.summary =
        fmt::format("{:.4g} GB/s passes the figure asked for, {:.4g}, and is {:.0f} % below its peers' {:.4g}",
                    group.median_gbps(), known.inference.absolute()->busbw_gbps,
                    100 * (1 - group.median_gbps() / *group.expected_gbps), *group.expected_gbps);
    finding.suspects = known.layout.names_of(item.candidates);
    finding.next_step =
        "Measure it again, and its members with good partners; raise the figure to what the peers reach.";
    verdict.findings.push_back(std::move(finding));
  }
}

Finding all_slow_finding(const Known& known, double measured_gbps, const Baseline& baseline) {
  Finding finding;
  finding.kind = "all-slow";
  finding.severity = Severity::major;
  finding.subject = fmt::format("all {} nodes", known.layout.node_count());
  finding.summary = fmt::format("Every probe is slow, all alike: {:.4g} of {:.4g} GB/s expected. No node stands out.",
                                measured_gbps, baseline.busbw_gbps);
  finding.likely_cause =
      "Something that all nodes share: driver, library or settings, the transport in use; or the expectation is not "
      "for this shape.";
  finding.next_step = "Check the expectation, then what changed on all nodes since the last good run.";
  return finding;
}

Finding finding_for(const Known& known, const Culprit& culprit) {
  Finding finding;
  finding.kind = culprit.kind == CulpritKind::node ? "slow-node" : to_string(culprit.kind);
  finding.severity = Severity::major;
  finding.subject = describe(culprit);
  if (culprit.measured_gbps && culprit.expected_gbps) {
    finding.summary =
        fmt::format("{:.4g} GB/s measured, {:.4g} GB/s expected", *culprit.measured_gbps, *culprit.expected_gbps);
  } else {
    finding.summary = fmt::format("{} in every probe that it was in",
                                  culprit.kind == CulpritKind::unreachable ? "Not reached" : "No result");
  }
  if (!culprit.node.empty()) finding.suspects = {culprit.node};
  if (!culprit.nodes.empty()) finding.suspects = culprit.nodes;
  const auto node = known.layout.index_of.find(culprit.node);
  if (node == known.layout.index_of.end()) return finding;
  const auto fault = known.touched.faults.find(node->second);
  if (fault != known.touched.faults.end()) finding.evidence.push_back({culprit.node, fault->second.what});
  for (const Group& group : known.inference.groups()) {
    if (group.state != Group::State::low || group.members.size() > 2) continue;
    if (!std::binary_search(group.members.begin(), group.members.end(), node->second)) continue;
    if (culprit.rail && group.rail != *culprit.rail) continue;
    std::string where = topology::fold_hostlist(known.layout.names_of(group.members));
    if (group.rail != kAllRails) where += fmt::format(" rail {}", group.rail);
    finding.evidence.push_back({std::move(where), group.busbw_gbps.empty()
                                                      ? std::string("probe ") + probes::to_string(group.failure)
                                                      : fmt::format("{:.4g} GB/s", group.median_gbps())});
  }
  return finding;
}

std::string list_culprits(const std::vector<Culprit>& culprits) {
  std::string text;
  for (std::size_t i = 0; i < culprits.size() && i < 5; ++i)
    text += (i == 0 ? "" : ", ") + describe(culprits[i]);
  if (culprits.size() > 5) text += fmt::format(" and {} more", culprits.size() - 5);
  return text;
}

void count_nodes(const Known& known, Verdict& verdict) {
  verdict.asked = static_cast<int>(known.layout.node_count());
  verdict.measured = static_cast<int>(known.touched.measured.size());
  verdict.failed = static_cast<int>(known.touched.probed.size() - known.touched.measured.size());
  verdict.skipped = verdict.asked - verdict.measured - verdict.failed;
}

/// Of a group that is well, without the low readings that a repetition took back.
double settled_gbps(const Known& known, const Group& group) {
  std::vector<double> readings = group.busbw_gbps;
  if (group.state == Group::State::good && group.expected_gbps) {
    const double threshold_gbps = *group.expected_gbps * (1 - known.inference.margin());
    std::erase_if(readings, [&](double busbw_gbps) { return busbw_gbps < threshold_gbps; });
  }
  return probes::median_of(std::move(readings));
}

void add_baseline(const Known& known, Verdict& verdict) {
  const double expected = known.inference.expected_or_zero(known.layout.node_count(), false);
  if (expected > 0 && !known.inference.confounded()) {
    verdict.baseline = Baseline{expected, known.inference.expectations().source()};
  }
  std::vector<NodeIndex> all(known.layout.node_count());
  std::iota(all.begin(), all.end(), NodeIndex{0});
  const Group* whole = known.inference.find(all, kAllRails);
  if (whole != nullptr && !whole->busbw_gbps.empty()) verdict.whole_gbps = settled_gbps(known, *whole);
  const Group* rest = known.inference.find(known.rest, kAllRails);
  if (rest != nullptr && !rest->busbw_gbps.empty()) verdict.rest_gbps = settled_gbps(known, *rest);
}

/// Measured, and neither guilty nor under suspicion: every slow group that they were in is explained by somebody else.
void add_cleared(const Known& known, Verdict& verdict) {
  std::set<std::string> suspected;
  for (const Culprit& culprit : verdict.culprits) {
    suspected.insert(culprit.node);
    suspected.insert(culprit.nodes.begin(), culprit.nodes.end());
  }
  for (const Unresolved& unresolved : verdict.unresolved) {
    for (const Culprit& candidate : unresolved.candidates)
      suspected.insert(candidate.node);
  }
  std::vector<bool> in_a_group(known.layout.node_count(), false);
  for (const Group& group : known.inference.groups()) {
    if (group.members.size() < 2 || group.state == Group::State::unknown) continue;
    for (NodeIndex node : group.members)
      in_a_group[node] = true;
  }
  for (NodeIndex node = 0; node < known.layout.node_count(); ++node) {
    const std::string& name = known.layout.names[node];
    if (in_a_group[node] && !suspected.contains(name)) verdict.cleared.push_back(name);
  }
}

/// Every comparable group low, at one speed, and nobody acquitted.
bool all_slow_alike(const Known& known) {
  std::vector<double> busbw_gbps;
  for (const Group& group : known.inference.groups()) {
    if (group.members.size() < 2 || group.rail != kAllRails) continue;
    if (group.state != Group::State::low || group.failed > 0) return false;
    busbw_gbps.push_back(group.median_gbps());
  }
  if (busbw_gbps.size() < 3) return false;
  const auto [low, high] = std::minmax_element(busbw_gbps.begin(), busbw_gbps.end());
  return *low >= 0.8 * *high;
}

void decide(const Known& known, Verdict& verdict) {
  const int odd = contradictions(known);
  const bool unstable = odd > 1 && binomial_tail(known.inference.readings(), odd, kStableOutlierRate) < kUnstableRisk;
  if (!verdict.culprits.empty()) {
    verdict.kind = Verdict::Kind::degraded;
    verdict.why = list_culprits(verdict.culprits) + ".";
    if (known.rest_good) {
      verdict.why += " Without it the rest is well.";
    } else {
      verdict.why += " The rest was not shown to be well.";
    }
    return;
  }
  if (known.touched.finished == 0) {
    const bool refused_only = known.touched.refused == known.touched.probes;
    verdict.kind = refused_only ? Verdict::Kind::inconclusive : Verdict::Kind::failed;
    const std::string& reason = refused_only ? known.touched.first_refusal : known.touched.first_failure;
    verdict.why = "No probe gave a result. The first said: " + (reason.empty() ? "nothing" : reason);
    return;
  }
  if (known.layout.node_count() > 2 && all_slow_alike(known) && verdict.baseline) {
    verdict.kind = Verdict::Kind::degraded;
    verdict.unresolved.clear();
    verdict.findings.push_back(all_slow_finding(known, verdict.whole_gbps.value_or(0), *verdict.baseline));
    verdict.why = verdict.findings.back().summary;
    return;
  }
  if (const std::optional<Finding> loss = scaling_loss(known)) {
    verdict.kind = Verdict::Kind::degraded;
    verdict.findings.push_back(*loss);
    verdict.unresolved.clear();
    verdict.why = loss->summary + ".";
    return;
  }
  if (!unstable) add_below_peers(known, verdict);
  if (!verdict.findings.empty() && verdict.findings.back().kind == "below-peers") {
    verdict.kind = Verdict::Kind::degraded;
    verdict.why = verdict.findings.back().subject + ": " + verdict.findings.back().summary + ".";
    return;
  }
  if (known.rest_good && verdict.unresolved.empty() && !unstable) {
    verdict.kind = Verdict::Kind::healthy;
    verdict.why = "All nodes reach what is expected together.";
    return;
  }
  verdict.kind = Verdict::Kind::inconclusive;
  if (known.inference.confounded()) {
    verdict.why = known.layout.node_count() == 1
                      ? "One node has nothing to be compared with: give --expect-busbw, or more nodes."
                      : "Every probe has a node in common and none stands out, so nobody can be told good from bad: "
                        "give --expect-busbw, or measure without that node.";
    if (verdict.unresolved.empty()) {
      verdict.why = "One measurement has nothing to be compared with: give --expect-busbw, or let it measure more.";
    }
    if (known.layout.node_count() == 2) {
      verdict.why = "Two nodes have nothing to be compared with: give --expect-busbw, or a third node.";
    }
  } else if (unstable) {
    verdict.findings.push_back(unstable_finding(known, odd));
    verdict.why = "Too noisy to tell: " + verdict.findings.back().summary + ".";
  } else if (known.touched.refused > 0 && !verdict.whole_gbps) {
    verdict.why = fmt::format("{} of {} probes gave no figure, the whole set's among them. The first said: {}",
                              known.touched.refused, known.touched.probes, known.touched.first_refusal);
  } else if (!verdict.unresolved.empty()) {
    verdict.why = known.layout.node_count() == 2
                      ? "Two nodes are slow together: which of them it is takes a third node."
                      : "Something is slow and the measurements cannot tell what.";
  } else if (known.out_of_rounds) {
    verdict.why = "The rounds allowed are used up.";
  } else if (!verdict.baseline) {
    verdict.why =
        "Nothing stands out, but nothing says either what all nodes together should reach: give --expect-busbw.";
  } else {
    verdict.why = "The whole set is slow although everything measured in it is well.";
  }
}

}  // namespace

void Touched::note(const Layout& layout, const probes::Measurement& measurement) {
  ++probes;
  if (measurement.status == probes::Status::refused) {
    ++refused;
    if (first_refusal.empty()) first_refusal = measurement.reason;
    return;
  }
  const bool ended = measurement.status == probes::Status::ok || measurement.status == probes::Status::corrupt;
  finished += ended;
  if (!ended && first_failure.empty()) first_failure = measurement.reason;
  for (const std::string& name : measurement.group.nodes) {
    const NodeIndex node = layout.index_of.at(name);
    probed.insert(node);
    if (ended) measured.insert(node);
  }
  for (const probes::NodeFault& fault : measurement.node_faults) {
    const auto node = layout.index_of.find(fault.node);
    if (node != layout.index_of.end()) faults.try_emplace(node->second, fault);
  }
}

Evidence evidence_for(const Inference& inference, const CombinationSearch::Conclusion& combination) {
  Evidence evidence;
  for (const Group& group : inference.groups()) {
    if (group.rail != kAllRails || group.state != Group::State::low || inference.explained(group)) continue;
    if (group.members.size() < combination.min_nodes.value_or(2)) continue;
    if (!std::includes(group.members.begin(), group.members.end(), combination.together.begin(),
                       combination.together.end())) {
      continue;
    }
    evidence.against +=
        group.failed * std::log(1 / Inference::kFailureRate) + group.low * std::log(1 / Inference::kOutlierRate);
    evidence.bad_readings += group.bad();
    if (group.members != combination.witness) continue;
    evidence.busbw_gbps = group.busbw_gbps;
    evidence.expected_gbps = group.expected_gbps.value_or(0);
  }
  return evidence;
}

Verdict conclude(const Known& known) {
  Verdict verdict;
  count_nodes(known, verdict);
  add_baseline(known, verdict);
  add_node_culprits(known, verdict.culprits);
  add_leaf_culprits(known, verdict.culprits);
  for (const SlowWay& way : slow_ways(known.layout, known.inference).convicted) {
    verdict.culprits.push_back(culprit_way(known, way));
  }
  add_pair_culprits(known, verdict.culprits);
  add_combination_culprits(known, verdict.culprits);
  sort_culprits(verdict.culprits);
  for (const Culprit& culprit : verdict.culprits)
    verdict.findings.push_back(finding_for(known, culprit));
  add_unresolved(known, verdict);
  add_cleared(known, verdict);
  decide(known, verdict);
  return verdict;
}

}  // namespace weft::bisect
