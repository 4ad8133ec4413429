#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "bisect/verdict.h"
#include "probes/collective/prober.h"

namespace weft::bisect {

/// What makes two bus bandwidths comparable: how many nodes, and whether one rail or all of them.
struct Shape {
  std::size_t nodes = 0;
  bool one_rail = false;
  auto operator<=>(const Shape&) const = default;
};

/// Figures that hold whatever was measured: the user's, the fabric file's, the history's, the model's.
struct AbsoluteExpectation {
  double busbw_gbps = 0;  ///< of the whole set
  Baseline::Source source = Baseline::Source::flag;
};

/// Bus bandwidth of a hierarchical all-reduce over `nodes` nodes against the same over two, on one healthy fabric:
/// the ratio of their topology::hierarchical_factor, which is (n-1)/(k-1)/(2g-1) for k nodes and n = k·g ranks. It
/// falls from 1 towards g/(2g-1); for one GPU a node it stays 1, as for a flat ring.
double hierarchical_share(std::size_t nodes, int gpus_per_node);

/// The bus bandwidth that a healthy group of each shape reaches, learnt from the readings themselves.
///
/// Peers of a shape: the median of those within `tolerance` of its 90th percentile, so that a third of bad nodes does
/// not move it. Across shapes, a smaller group is at least as fast as a larger one, and a larger one falls at most by
/// `hierarchical_share` (not at all for a flat ring). An absolute figure applies to the whole set, and for a flat ring
/// to every group of two nodes or more (a rail carries its share).
class ExpectationModel {
 public:
  struct Options {
    double tolerance = 0.10;
    probes::Scaling scaling = probes::Scaling::unknown;
    int gpus_per_node = 1;
    int rails = 1;
    std::size_t whole_nodes = 0;
    std::optional<AbsoluteExpectation> absolute = std::nullopt;
  };

  explicit ExpectationModel(const Options& options) : options_(options) {}

  void learn(const Shape& shape, std::vector<double> busbw_gbps);
  /// What a healthy group of this shape reaches; nothing when no comparable group was measured.
  std::optional<double> expected_gbps(const Shape& shape) const;
  /// Where the figure for the whole set comes from.
  Baseline::Source source() const;
  /// Robust relative spread (1.4826 · MAD / median) of the readings in their shapes' fast clusters.
  double spread() const;

 private:
  double share(std::size_t from_nodes, std::size_t to_nodes) const;

  Options options_;
  std::map<Shape, double> peers_;
  std::vector<double> relative_deviations_;
};

/// Median of the samples that lie within `tolerance` of their 90th percentile; 0 for none.
double fast_cluster_median(std::vector<double> samples, double tolerance);

}  // namespace weft::bisect
