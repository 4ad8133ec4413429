#include "bisect/combination.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace weft::bisect {
namespace {

using Nodes = std::vector<NodeIndex>;

constexpr std::size_t kMostTogether = 4;

/// Thrown by a walk at the first questions that have no answer yet, and caught by `next`.
struct Questions {
  std::vector<Nodes> sets;
};

bool has(const Nodes& nodes, NodeIndex node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

Nodes joined(const Nodes& a, const Nodes& b) {
  Nodes result = a;
  result.insert(result.end(), b.begin(), b.end());
  std::sort(result.begin(), result.end());
  return result;
}

Nodes first(const Nodes& nodes, std::size_t count) {
  return {nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count)};
}

Nodes from(const Nodes& nodes, std::size_t begin) {
  return {nodes.begin() + static_cast<std::ptrdiff_t>(begin), nodes.end()};
}

}  // namespace

class CombinationSearch::Walk {
 public:
  Walk(const Nodes& slow_set, const Oracle& oracle, const Options& options)
      : all_(slow_set), oracle_(oracle), options_(options) {}

  /// A pair, by halves; nothing when it is not one.
  std::optional<Conclusion> pair_by_halves() const {
    Nodes set = all_;
    while (set.size() > 2) {
      const Nodes left = first(set, set.size() / 2);
      const Nodes right = from(set, set.size() / 2);
      const std::vector<bool> is_slow = all_slow({left, right});
      if (is_slow[0] && is_slow[1]) {
        require_sure({left, right});
        return std::nullopt;
      }
      if (!is_slow[0] && !is_slow[1]) return pair_across(left, right);
      set = is_slow[0] ? left : right;
    }
    return Conclusion{set, std::nullopt, set};
  }

  std::optional<Conclusion> by_prefixes() {
    Nodes order = all_;
    while (together_.size() < kMostTogether) {
      const std::size_t count = smallest_slow_prefix(order);
      const NodeIndex last = order[count - 1];
      const Nodes base = joined(together_, first(order, count - 1));
      const Nodes witness = joined(base, {last});
      if (const auto other = same_size_without(last, witness, order)) {
        if (slow(*other)) {
          require_sure({*other});
          require_sure({witness});
          const std::optional<NodeIndex> needed = needed_in_common(witness, *other);
          if (!needed) return Conclusion{together_, witness.size(), witness};
          together_.push_back(*needed);
          order = without(together_);
          continue;
        }
      }
      require_sure({witness});
      const Nodes outsiders = without(witness);
      if (!outsiders.empty() && together_.empty() && slow(joined(base, {outsiders.front()}))) {
        // Neither the last node nor the size alone: somebody in the base matters, and enough others.
        const std::optional<NodeIndex> needed = needed_in(base, base, witness.size());
        if (!needed) return std::nullopt;
        together_.push_back(*needed);
        order = without(together_);
        continue;
      }
      together_.push_back(last);
      order = first(order, count - 1);
      if (together_.size() >= 2 && slow(joined(together_, {}))) {
        return Conclusion{joined(together_, {}), std::nullopt, joined(together_, {})};
      }
      if (order.empty()) break;
      if (outsiders.empty() && together_.size() == 1) {
        // Slow only with every node in it: a pair would stay slow without some other node.
        const Nodes fewer = without({order.front()});
        if (!slow(fewer) && !slow(joined(together_, {order.front()}))) return Conclusion{{}, all_.size(), all_};
      }
    }
    return std::nullopt;
  }

 private:
  Answer answer(const Nodes& members) const { return members.size() < 2 ? Answer::well : oracle_(members); }

  bool slow(const Nodes& members) const { return all_slow({members}).front(); }

  /// Whether each is slow; asks for all that are not known at once.
  std::vector<bool> all_slow(const std::vector<Nodes>& sets) const {
    Questions questions;
    std::vector<bool> result;
    for (const Nodes& members : sets) {
      const Answer known = answer(members);
      if (known == Answer::unknown) questions.sets.push_back(members);
      result.push_back(known != Answer::well);
    }
    if (!questions.sets.empty()) throw questions;
    return result;
  }

  void require_sure(const std::vector<Nodes>& sets) const {
    Questions questions;
    for (const Nodes& members : sets) {
      if (answer(members) == Answer::slow_once) questions.sets.push_back(members);
    }
    if (!questions.sets.empty()) throw questions;
  }

  bool known_well(const Nodes& members) const { return answer(members) == Answer::well; }

  /// Both sides are well and slow together.
  std::optional<Conclusion> pair_across(Nodes a, Nodes b) const {
    std::vector<Nodes> path = {joined(a, b)};
    bool certain = false;  // that it is a pair: one half of one side was slow with the other side
    while (a.size() > 1 || b.size() > 1) {
      if (a.size() < b.size()) std::swap(a, b);
      const Nodes a1 = first(a, (a.size() + 1) / 2);
      const Nodes a2 = from(a, a1.size());
      const Nodes b1 = first(b, (b.size() + 1) / 2);
      const Nodes b2 = from(b, b1.size());
      std::optional<std::pair<Nodes, Nodes>> next;
      if (!b2.empty() && options_.at_once(joined(a1, b1), joined(a2, b2))) {
        next = slow_one({{a1, b1}, {a2, b2}});
        if (!next) next = slow_one({{a1, b2}, {a2, b1}});
      } else {
        next = slow_one({{a1, b}});
        if (!next && certain) next.emplace(a2, b);
        if (!next) next = slow_one({{a2, b}});
      }
      if (!next) return not_a_pair(path);
      certain = true;
      std::tie(a, b) = std::move(*next);
      path.push_back(joined(a, b));
    }
    if (!slow(joined(a, b))) return not_a_pair(path);
    return Conclusion{joined(a, b), std::nullopt, joined(a, b)};
  }

  /// Three nodes or more, a size, or a reading on the way here was an outlier: the last one is the first to doubt.
  std::optional<Conclusion> not_a_pair(const std::vector<Nodes>& path) const {
    for (auto set = path.rbegin(); set != path.rend(); ++set) {
      if (answer(*set) != Answer::well) require_sure({*set});
    }
    return std::nullopt;
  }

  std::optional<std::pair<Nodes, Nodes>> slow_one(const std::vector<std::pair<Nodes, Nodes>>& sides) const {
    std::vector<Nodes> sets;
    for (const auto& [a, b] : sides)
      sets.push_back(joined(a, b));
    const std::vector<bool> is_slow = all_slow(sets);
    for (std::size_t i = 0; i < sides.size(); ++i) {
      if (is_slow[i]) return sides[i];
    }
    return std::nullopt;
  }

  /// Smallest count for which `together_` and the first `count` of `order` are slow; all of them are.
  std::size_t smallest_slow_prefix(const Nodes& order) const {
    std::size_t well = 0;
    std::size_t unproven = order.size();
    while (unproven - well > 1) {  // what earlier rounds have shown costs no question
      const std::size_t middle = (well + unproven) / 2;
      (known_well(joined(together_, first(order, middle))) ? well : unproven) = middle;
    }
    std::size_t slow_count = order.size();
    while (slow_count - well > 1) {
      const std::size_t middle = (well + slow_count) / 2;
      (slow(joined(together_, first(order, middle))) ? slow_count : well) = middle;
    }
    return slow_count;
  }

  Nodes without(const Nodes& nodes) const {
    Nodes result;
    std::copy_if(all_.begin(), all_.end(), std::back_inserter(result),
                 [&](NodeIndex node) { return !has(nodes, node); });
    return result;
  }

  /// A set of the witness's size without its last node, and otherwise as different from it as can be.
  std::optional<Nodes> same_size_without(NodeIndex last, const Nodes& witness, const Nodes& order) const {
    Nodes pool = without(witness);
    std::reverse(pool.begin(), pool.end());
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      if (*node != last && has(witness, *node)) pool.push_back(*node);
    }
    const std::size_t count = witness.size() - together_.size();
    if (pool.size() < count) return std::nullopt;
    return joined(together_, first(pool, count));
  }

  /// Sets of one size that are slow may still need a node that they have in common: leaves those out, a part at a time,
  /// where a few questions are enough.
  std::optional<NodeIndex> needed_in_common(const Nodes& witness, const Nodes& other) const {
    constexpr std::size_t kMostQuestions = 2;
    Nodes common;
    std::copy_if(witness.begin(), witness.end(), std::back_inserter(common),
                 [&](NodeIndex node) { return has(other, node) && !has(together_, node); });
    const std::size_t spare = all_.size() - witness.size();
    if (common.empty() || common.size() > spare * kMostQuestions) return std::nullopt;
    for (std::size_t begin = 0; begin < common.size(); begin += spare) {
      const Nodes part = first(from(common, begin), std::min(spare, common.size() - begin));
      const Nodes pool = without(joined(together_, part));
      if (!slow(joined(together_, first(pool, witness.size() - together_.size())))) {
        return needed_in(witness, part, witness.size());
      }
    }
    return std::nullopt;
  }

  /// The one of `in_question`, members of the slow `base`, that is needed: half of them at a time are replaced by nodes
  /// from outside, up to `size`, as far as there are enough. Nothing when there are not.
  std::optional<NodeIndex> needed_in(const Nodes& base, Nodes in_question, std::size_t size) const {
    const Nodes outsiders = without(base);
    const std::size_t missing = size - base.size();
    if (outsiders.size() <= missing) return std::nullopt;
    while (in_question.size() > 1) {
      const Nodes dropped = first(in_question, std::min(in_question.size() / 2, outsiders.size() - missing));
      Nodes kept;
      std::copy_if(base.begin(), base.end(), std::back_inserter(kept),
                   [&](NodeIndex node) { return !has(dropped, node); });
      if (slow(joined(kept, first(outsiders, dropped.size() + missing)))) {
        in_question.erase(in_question.begin(), in_question.begin() + static_cast<std::ptrdiff_t>(dropped.size()));
      } else {
        in_question = dropped;
      }
    }
    return in_question.front();
  }

  const Nodes& all_;
  const Oracle& oracle_;
  const Options& options_;
  Nodes together_;
};

CombinationSearch::Step CombinationSearch::next() const {
  Step step;
  try {
    if (options_.by_halves) step.conclusion = Walk(slow_set_, oracle_, options_).pair_by_halves();
    if (!step.conclusion) step.conclusion = Walk(slow_set_, oracle_, options_).by_prefixes();
  } catch (Questions& questions) {
    step.ask = std::move(questions.sets);
  }
  return step;
}

}  // namespace weft::bisect
