#include "topology/hostlist.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "topology/decimal.h"
#include "topology/error.h"
#include "topology/host_pattern.h"

namespace weft::topology {
namespace {

/// The first of each name, in order. The views refer into `names`.
std::vector<std::string_view> distinct(std::span<const std::string> names) {
  std::vector<std::string_view> result;
  std::unordered_set<std::string_view> seen;
  result.reserve(names.size());
  seen.reserve(names.size());
  for (const std::string& name : names) {
    if (seen.insert(name).second) result.push_back(name);
  }
  return result;
}

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

/// A host name around one of its numbers.
struct SplitName {
  std::string_view before;
  std::string_view digits;
  std::string_view after;
};

/// Splits around the number that is `from_last` numbers before the last one; nothing if there are not as many.
std::optional<SplitName> split_at_number(std::string_view name, std::size_t from_last) {
  std::size_t end = name.size();
  while (end > 0) {
    if (!is_digit(name[end - 1])) {
      --end;
      continue;
    }
    std::size_t begin = end;
    while (begin > 0 && is_digit(name[begin - 1]))
      --begin;
    if (from_last == 0) return SplitName{name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
    --from_last;
    end = begin;
  }
  return std::nullopt;
}

/// What names that may share a bracket have in common.
struct Frame {
  std::string_view before;
  std::string_view after;
  bool operator==(const Frame&) const = default;
};

struct FrameHash {
  std::size_t operator()(const Frame& frame) const {
    const std::hash<std::string_view> hash;
    return hash(frame.before) * 31 + hash(frame.after);
  }
};

/// One number in a bracket, and where in the list its host stands.
struct Member {
  std::string_view digits;
  std::size_t index;
};

using Members = std::vector<Member>;

/// Orders by value those that may share a bracket: of one width when padded, without leading zeros when not.
bool precedes(const Member& a, const Member& b) {
  if (a.digits.size() != b.digits.size()) return a.digits.size() < b.digits.size();
  return a.digits < b.digits;
}

/// `001-003,007` for members that are sorted.
std::string ranges_text(const Members& sorted) {
  std::string text;
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t last = first;
    const auto next_follows = [&] { return decimal::difference(sorted[last].digits, sorted[last + 1].digits, 2) == 1; };
    while (last + 1 < sorted.size() && next_follows())
      ++last;
    if (!text.empty()) text += ',';
    text += sorted[first].digits;
    if (last > first) text.append("-").append(sorted[last].digits);
    first = last + 1;
  }
  return text;
}

/// Splits members into those that may share a bracket. A number without leading zero, such as 10, goes with the padded
/// ones of its width (08, 09) where there are any, else with the other unpadded ones (8, 9, 100).
std::vector<Members> split_by_padding(Members members) {
  constexpr std::size_t kUnpadded = 0;
  std::unordered_map<std::size_t, Members> by_width;
  for (const Member& member : members) {
    if (decimal::is_padded(member.digits)) by_width[member.digits.size()];
  }
  if (by_width.empty()) return {std::move(members)};
  for (const Member& member : members) {
    const bool has_padded_peers = by_width.contains(member.digits.size());
    by_width[has_padded_peers ? member.digits.size() : kUnpadded].push_back(member);
  }
  std::vector<Members> result;
  result.reserve(by_width.size());
  for (auto& [width, peers] : by_width)
    result.push_back(std::move(peers));
  return result;
}

/// Folds in passes: by the last number of each name, then what is left by the last but one, and so on.
class Folding {
 public:
  explicit Folding(std::span<const std::string> hosts) : names_(distinct(hosts)) {}

  std::string text() {
    std::vector<std::size_t> left(names_.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    for (std::size_t from_last = 0; !left.empty(); ++from_last)
      left = fold_by_number(from_last, left);
    std::sort(groups_.begin(), groups_.end());
    std::string text;
    for (const auto& [first, group] : groups_)
      text.append(text.empty() ? "" : ",").append(group);
    return text;
  }

 private:
  /// Moves what joins on this number, and names without such a number, to `groups_`; returns the others.
  std::vector<std::size_t> fold_by_number(std::size_t from_last, const std::vector<std::size_t>& indices) {
    std::unordered_map<Frame, Members, FrameHash> members_by_frame;
    for (const std::size_t index : indices) {
      if (const auto split = split_at_number(names_[index], from_last)) {
        members_by_frame[{split->before, split->after}].push_back({split->digits, index});
      } else {
        groups_.emplace_back(index, names_[index]);
      }
    }
    std::vector<std::size_t> left;
    for (auto& [frame, members] : members_by_frame) {
      if (members.size() == 1) {
        left.push_back(members.front().index);
        continue;
      }
      for (Members& peers : split_by_padding(std::move(members)))
        fold(frame, std::move(peers), left);
    }
    return left;
  }

  void fold(const Frame& frame, Members members, std::vector<std::size_t>& left) {
    if (members.size() == 1) {
      left.push_back(members.front().index);
      return;
    }
    std::size_t first = names_.size();
    for (const Member& member : members)
      first = std::min(first, member.index);
    if (!std::is_sorted(members.begin(), members.end(), precedes)) {
      std::sort(members.begin(), members.end(), precedes);
    }
    groups_.emplace_back(first, fmt::format("{}[{}]{}", frame.before, ranges_text(members), frame.after));
  }

  std::vector<std::string_view> names_;
  std::vector<std::pair<std::size_t, std::string>> groups_;  ///< index of the first host, and the text
};

[[noreturn]] void fail_without_hosts(std::string_view expression, const Origin& origin) {
  const bool is_blank = expression.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
  throw InputError({is_blank ? "the host list is empty" : "the host list names no host: all are excluded", origin.at(0),
                    "at least one host, such as gpu[001-064]", ""});
}

}  // namespace

std::vector<std::string> expand_hostlist_keeping_repeats(std::string_view expression, std::string_view origin_name) {
  const Origin origin{origin_name};
  HostPatterns patterns;
  patterns.append(expression, origin);
  std::vector<std::string> hosts = patterns.expand();
  if (hosts.empty()) fail_without_hosts(expression, origin);
  return hosts;
}

std::vector<std::string> expand_hostlist(std::string_view expression, std::string_view origin) {
  return without_repeats(expand_hostlist_keeping_repeats(expression, origin));
}

std::string fold_hostlist(std::span<const std::string> hosts) {
  return Folding(hosts).text();
}

std::vector<std::string> without_repeats(std::vector<std::string> hosts) {
  const std::vector<std::string_view> first_ones = distinct(hosts);
  if (first_ones.size() == hosts.size()) return hosts;
  return {first_ones.begin(), first_ones.end()};
}

std::vector<std::string> exclude_hosts(std::span<const std::string> hosts, std::span<const std::string> excluded) {
  const std::unordered_set<std::string_view> out(excluded.begin(), excluded.end());
  std::vector<std::string> kept;
  kept.reserve(hosts.size());
  std::copy_if(hosts.begin(), hosts.end(), std::back_inserter(kept),
               [&](const std::string& host) { return !out.contains(host); });
  return kept;
}

}  // namespace weft::topology
