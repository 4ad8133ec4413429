#include "topology/host_pattern.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "topology/decimal.h"
#include "topology/error.h"
#include "topology/hostlist.h"

namespace weft::topology {
namespace {

constexpr std::size_t kMoreThanAllowed = kMaxHosts + 1;
constexpr std::int64_t kWidestRange = 10'000'000'000'000'000;
constexpr std::size_t kMostStepDigits = 9;  // kWidestRange in the widest steps is still more than kMaxHosts
constexpr std::size_t kLongestName = 255;   // DNS allows 253 (RFC 1035); bounds what one list can cost

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}
bool is_blank(char character) {
  return std::string_view(" \t\r\n\v\f").find(character) != std::string_view::npos;
}

std::size_t saturating_product(std::size_t a, std::size_t b) {
  return std::min(a * b, kMoreThanAllowed);
}

/// A character as a message shows it: the whole of it where it is a multi-byte one (a dash pasted from a document).
std::string character_at(std::string_view text, std::size_t offset) {
  std::size_t end = offset + 1;
  const auto is_continuation = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U; };
  while (end < text.size() && end - offset < 4 && is_continuation(end))
    ++end;
  return in_quotes(text.substr(offset, end - offset));
}

InputError too_many_hosts(std::string where) {
  return InputError({fmt::format("the list reaches more than {} hosts here", kMaxHosts), std::move(where),
                     fmt::format("at most {} hosts in one list, each repeat counted", kMaxHosts), ""});
}

class Parser {
 public:
  Parser(std::string_view text, const Origin& origin) : text_(text), origin_(origin) {}

  /// Calls `accept(pattern, offset)` for every item in turn.
  template <typename Accept>
  void for_each_item(Accept accept) {
    skip_blanks();
    while (!at_end()) {
      if (peek() == ',') fail(position_, "an empty item", "a host name between the commas");
      const std::size_t start = position_;
      HostPattern pattern = item();
      accept(std::move(pattern), start);
      skip_blanks();
      if (take(',')) {
        skip_blanks();
        if (at_end()) fail(position_ - 1, "nothing after the last comma", "a host name, or no comma");
      }
    }
  }

 private:
  HostPattern item() {
    const std::size_t start = position_;
    HostPattern pattern;
    pattern.excluded = take('!');
    std::size_t literal_start = position_;
    std::size_t longest = 0;
    while (!at_item_end()) {
      if (peek() == '[') {
        Bracket bracket{text_.substr(literal_start, position_ - literal_start), {}};
        longest += bracket.before.size();
        longest += read_bracket(bracket);
        pattern.count = saturating_product(pattern.count, count_of(bracket));
        check_bounds(start, longest, pattern.count);
        pattern.brackets.push_back(std::move(bracket));
        literal_start = position_;
      } else {
        read_name_character();
      }
    }
    pattern.tail = text_.substr(literal_start, position_ - literal_start);
    check_bounds(start, longest + pattern.tail.size(), pattern.count);
    check_name(pattern, start);
    return pattern;
  }

  static std::size_t count_of(const Bracket& bracket) {
    std::size_t count = 0;
    for (const NumberRange& range : bracket.ranges)
      count = std::min(count + range.count, kMoreThanAllowed);
    return count;
  }

  void read_name_character() {
    if (peek() == ']') fail(position_, "`]` without a `[` before it", "brackets in pairs, such as gpu[001-064]");
    if (!is_host_name_character(peek())) {
      fail(position_, "illegal character " + character_at(text_, position_) + " in a host name",
           "letters, digits, `.`, `_`, `-`, and lists such as gpu[001-064,070]");
    }
    ++position_;
  }

  /// Checked after each bracket, so that a hopeless item is not read to its end.
  void check_bounds(std::size_t start, std::size_t longest_name, std::size_t count) const {
    if (longest_name > kLongestName) {
      fail(start, fmt::format("a host name of {} or more characters", longest_name),
           fmt::format("at most {}", kLongestName));
    }
    if (count > kMaxHosts) throw too_many_hosts(origin_.at(start));
  }

  void check_name(const HostPattern& pattern, std::size_t start) const {
    if (pattern.brackets.empty() && pattern.tail.empty()) {
      fail(start, "`!` without a host after it", "a host to exclude, such as !gpu007");
    }
    const std::string_view first = pattern.brackets.empty() ? pattern.tail : pattern.brackets.front().before;
    // `-x` would be read as an option by the commands that are given the name, `.` and `..` are no file names.
    if (!first.empty() && (first.front() == '-' || first.front() == '.')) {
      fail(start, fmt::format("a host name that starts with `{}`", first.front()), "a letter, a digit or `_` first");
    }
  }

  /// Reads `[…]` into `bracket` and returns the digits of its widest number.
  std::size_t read_bracket(Bracket& bracket) {
    const std::size_t open = position_++;
    std::size_t widest = 0;
    do {
      widest = std::max(widest, read_range(bracket, open));
      if (bracket.ranges.size() > kMaxHosts) throw too_many_hosts(origin_.at(open));
    } while (take(','));
    if (take(']')) return widest;
    fail_in_bracket(open);
  }

  std::size_t read_range(Bracket& bracket, std::size_t open) {
    const std::size_t start = position_;
    NumberRange range{number(open, "a number"), 1, 1};
    std::string_view high = range.low;
    if (take('-')) {
      high = number(open, "the end of the range");
      check_ends(range.low, high, start);
      if (take('/')) range.step = step(open);
      range.count = numbers_between(range.low, high, range.step);
    } else if (!at_end() && peek() == '/') {
      fail(position_, "a step without a range", "a range before it, such as [0-10/2]");
    }
    bracket.ranges.push_back(range);
    return high.size();
  }

  static std::size_t numbers_between(std::string_view low, std::string_view high, std::uint64_t step) {
    const auto width = static_cast<std::uint64_t>(decimal::difference(low, high, kWidestRange));
    return std::min<std::uint64_t>(width / step + 1, kMoreThanAllowed);
  }

  void check_ends(std::string_view low, std::string_view high, std::size_t start) const {
    const std::string range = in_quotes(fmt::format("{}-{}", low, high));
    if ((decimal::is_padded(low) || decimal::is_padded(high)) && low.size() != high.size()) {
      fail(start, "the width changes inside the range " + range,
           "both ends padded to one width, such as [0541-0570], or several ranges, such as [08-99,100-120]");
    }
    if (decimal::difference(low, high, 1) < 0) {
      fail(start, "the range " + range + " runs backwards", "the lower number first");
    }
  }

  std::uint64_t step(std::size_t open) {
    const std::size_t start = position_;
    const std::string_view digits = number(open, "the step");
    const std::string_view significant = digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
    std::uint64_t value = 0;
    if (significant.size() <= kMostStepDigits) {
      for (const char digit : significant)
        value = value * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    if (value == 0) fail(start, "a step of " + in_quotes(digits), "a step from 1 to 999999999");
    return value;
  }

  std::string_view number(std::size_t open, std::string_view meaning) {
    const std::size_t start = position_;
    while (!at_end() && is_digit(peek()))
      ++position_;
    if (position_ > start) return text_.substr(start, position_ - start);
    if (!at_end() && (peek() == ',' || peek() == ']' || peek() == '/' || peek() == '-')) {
      fail(position_, fmt::format("{} is missing before {}", meaning, character_at(text_, position_)),
           "numbers and ranges, such as [1-3,7]");
    }
    fail_in_bracket(open);
  }

  /// What may stand in a bracket has ended, but the bracket has not.
  [[noreturn]] void fail_in_bracket(std::size_t open) const {
    if (at_end() || is_blank(peek())) fail(open, "`[` is not closed", "`]` before the next blank or the end");
    if (peek() == '[') fail(position_, "a bracket inside a bracket", "`]` before the next `[`");
    fail(position_, "illegal character " + character_at(text_, position_) + " inside brackets",
         "numbers and ranges, such as [1-3,7] or [0-10/2]");
  }

  [[noreturn]] void fail(std::size_t offset, std::string what, std::string expected) const {
    throw InputError({std::move(what), origin_.at(offset), std::move(expected), ""});
  }

  bool at_end() const { return position_ == text_.size(); }
  bool at_item_end() const {
    if (at_end()) return true;
    const bool starts_an_exclusion = peek() == '!';  // ClusterShell writes node[1-9]!node3 without a comma
    return peek() == ',' || is_blank(peek()) || starts_an_exclusion;
  }
  char peek() const { return text_[position_]; }
  bool take(char character) {
    if (at_end() || peek() != character) return false;
    ++position_;
    return true;
  }
  void skip_blanks() {
    while (!at_end() && is_blank(peek()))
      ++position_;
  }

  std::string_view text_;
  const Origin& origin_;
  std::size_t position_ = 0;
};

/// Appends to `names` every name that starts with `name` and goes on as `pattern` does from bracket `index` on.
void append_names(const HostPattern& pattern, std::size_t index, std::string& name, std::vector<std::string>& names) {
  const std::size_t length = name.size();
  if (index == pattern.brackets.size()) {
    names.push_back(name.append(pattern.tail));
    name.resize(length);
    return;
  }
  const Bracket& bracket = pattern.brackets[index];
  name.append(bracket.before);
  const std::size_t length_before_number = name.size();
  for (const NumberRange& range : bracket.ranges) {
    std::string number(range.low);
    for (std::size_t i = 0; i < range.count; ++i) {
      if (i > 0) decimal::add(number, range.step);
      append_names(pattern, index + 1, name.append(number), names);
      name.resize(length_before_number);
    }
  }
  name.resize(length);
}

}  // namespace

std::string Origin::at(std::size_t offset) const {
  if (line == 0) return fmt::format("{}:column {}", name, offset + 1);
  return fmt::format("{}:{}:{}", name, line, offset + 1);
}

bool is_host_name_character(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') || is_digit(character) ||
         character == '.' || character == '_' || character == '-';
}

void HostPatterns::append(std::string_view text, const Origin& origin) {
  Parser(text, origin).for_each_item([&](HostPattern pattern, std::size_t offset) {
    count(pattern, origin, offset);
    patterns_.push_back(std::move(pattern));
  });
}

void HostPatterns::count(const HostPattern& pattern, const Origin& origin, std::size_t offset) {
  std::size_t& total = pattern.excluded ? excluded_ : named_;
  total += pattern.count;
  if (total > kMaxHosts) throw too_many_hosts(origin.at(offset));
}

std::vector<std::string> HostPatterns::expand() const {
  std::vector<std::string> names;
  std::vector<std::string> excluded;
  names.reserve(named_);
  excluded.reserve(excluded_);
  std::string name;
  for (const HostPattern& pattern : patterns_)
    append_names(pattern, 0, name, pattern.excluded ? excluded : names);
  return excluded.empty() ? names : exclude_hosts(names, excluded);
}

}  // namespace weft::topology
