#include "bisect/small_effects.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace weft::bisect {
namespace {

struct Trial {
  std::set<std::string> nodes;
  double busbw_gbps = 0;
};

struct Sample {
  int count = 0;
  double mean = 0;
  double variance = 0;  ///< unbiased
};

Sample sample_of(const std::vector<double>& values) {
  Sample sample;
  sample.count = static_cast<int>(values.size());
  if (values.empty()) return sample;
  sample.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  if (values.size() < 2) return sample;
  for (double value : values)
    sample.variance += (value - sample.mean) * (value - sample.mean);
  sample.variance /= static_cast<double>(values.size() - 1);
  return sample;
}

/// Continued fraction of the regularised incomplete beta function (Lentz). Source: Numerical Recipes, 6.4.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double result = d;
  for (int m = 1; m <= 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 + even * d;
    c = 1 + even / c;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    if (std::abs(c) < kTiny) c = kTiny;
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 + odd * d;
    c = 1 + odd / c;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    if (std::abs(c) < kTiny) c = kTiny;
    result *= d * c;
    if (std::abs(d * c - 1) < 1e-12) break;
  }
  return result;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// P(|T| >= t) for Student's distribution.
double two_sided_p(double t, double degrees_of_freedom) {
  return incomplete_beta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / (degrees_of_freedom + t * t));
}

NodeEffect effect_of(const std::string& node, const std::vector<Trial>& trials, std::size_t looked_at) {
  std::vector<double> with;
  std::vector<double> without;
  for (const Trial& trial : trials)
    (trial.nodes.contains(node) ? with : without).push_back(trial.busbw_gbps);
  const Sample a = sample_of(with);
  const Sample b = sample_of(without);
  NodeEffect effect{.node = node, .with = a.count, .without = b.count};
  if (a.count < 2 || b.count < 2) return effect;
  effect.effect_gbps = a.mean - b.mean;
  effect.relative = effect.effect_gbps / b.mean;
  const double error_a = a.variance / a.count;
  const double error_b = b.variance / b.count;
  if (error_a + error_b <= 0) return effect;
  effect.t = effect.effect_gbps / std::sqrt(error_a + error_b);
  const double freedom = (error_a + error_b) * (error_a + error_b) /
                         (error_a * error_a / (a.count - 1) + error_b * error_b / (b.count - 1));
  effect.confidence = std::max(0.0, 1 - static_cast<double>(looked_at) * two_sided_p(effect.t, freedom));
  return effect;
}

/// Those of the most common number of nodes; like is compared with like.
std::vector<Trial> comparable_trials(std::span<const probes::Measurement> measurements) {
  std::map<std::size_t, std::vector<Trial>> by_size;
  for (const probes::Measurement& measurement : measurements) {
    if (measurement.status != probes::Status::ok || measurement.group.rail) continue;
    by_size[measurement.group.nodes.size()].push_back(
        {{measurement.group.nodes.begin(), measurement.group.nodes.end()}, measurement.busbw_gbps});
  }
  std::vector<Trial> most;
  for (auto& [size, trials] : by_size) {
    if (trials.size() > most.size()) most = std::move(trials);
  }
  return most;
}

bool stronger(const NodeEffect& a, const NodeEffect& b) {
  return std::abs(a.t) != std::abs(b.t) ? std::abs(a.t) > std::abs(b.t) : a.node < b.node;
}

}  // namespace

SmallEffects small_effects(std::span<const probes::Measurement> measurements) {
  std::vector<Trial> trials = comparable_trials(measurements);
  SmallEffects result;
  result.trials = static_cast<int>(trials.size());
  std::set<std::string> nodes;
  for (const Trial& trial : trials)
    nodes.insert(trial.nodes.begin(), trial.nodes.end());
  const std::size_t looked_at = nodes.size();
  while (true) {
    result.others.clear();
    for (const std::string& node : nodes)
      result.others.push_back(effect_of(node, trials, looked_at));
    std::sort(result.others.begin(), result.others.end(), stronger);
    if (result.others.empty()) return result;
    const NodeEffect& strongest = result.others.front();
    // A node that makes groups faster is the shadow of slow ones elsewhere.
    if (strongest.confidence < kSmallEffectConfidence || strongest.effect_gbps >= 0) return result;
    for (Trial& trial : trials) {
      if (trial.nodes.contains(strongest.node)) trial.busbw_gbps -= strongest.effect_gbps;
    }
    nodes.erase(strongest.node);
    result.selected.push_back(strongest);
  }
}

}  // namespace weft::bisect
