#include <algorithm>
#include <array>
#include <cstddef>
#include <iostream>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/error.h"
#include "topology/host_pattern.h"
#include "topology/hostlist.h"
#include "topology/text_file.h"

namespace weft::topology {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::array<std::string_view, 3> kSlotKeys = {"slots", "max_slots", "max-slots"};

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}
bool is_blank(char character) {
  return character == ' ' || character == '\t' || character == '\r';
}

/// One line of a host file, in which what is not host list (comments and slots) is overwritten with blanks: the columns
/// of the host list that remains are those of the file.
class Line {
 public:
  Line(std::span<char> text, const Origin& origin) : text_(text), view_(text.data(), text.size()), origin_(origin) {}

  std::string_view view() const { return view_; }

  void blank_annotations() {
    blank(std::min(view_.find('#'), view_.size()), view_.size());
    bool has_host = false;
    for (std::size_t start = next_word(0); start < view_.size(); start = next_word(start)) {
      const std::size_t end = word_end(start);
      if (const auto equals = slots_equals(start, end)) {
        if (!has_host) fail(start, "slots without a host before them", "a host name first, such as gpu001 slots=8");
        start = blank_slots(start, *equals);
      } else {
        has_host = true;
        blank_counts(start, end);
        start = end;
      }
    }
  }

 private:
  std::size_t next_word(std::size_t from) const {
    while (from < view_.size() && (is_blank(view_[from]) || view_[from] == ','))
      ++from;
    return from;
  }

  /// Words end at blanks only: commas between hosts and inside brackets are the host list's business.
  std::size_t word_end(std::size_t from) const {
    while (from < view_.size() && !is_blank(view_[from]))
      ++from;
    return from;
  }

  std::size_t skip_blanks(std::size_t from) const {
    while (from < view_.size() && is_blank(view_[from]))
      ++from;
    return from;
  }

  std::size_t skip_digits(std::size_t from) const {
    while (from < view_.size() && is_digit(view_[from]))
      ++from;
    return from;
  }

  bool ends_number(std::size_t offset) const {
    return offset == view_.size() || is_blank(view_[offset]) || view_[offset] == ',';
  }

  /// Where the `=` of `slots=8` or `slots = 8` is, if that is what stands at `start`.
  std::optional<std::size_t> slots_equals(std::size_t start, std::size_t end) const {
    for (const std::string_view key : kSlotKeys) {
      if (!view_.substr(start, end - start).starts_with(key)) continue;
      const std::size_t equals = skip_blanks(start + key.size());
      if (equals < view_.size() && view_[equals] == '=') return equals;
    }
    return std::nullopt;
  }

  /// Returns the offset behind the number.
  std::size_t blank_slots(std::size_t start, std::size_t equals) {
    const std::size_t number = skip_blanks(equals + 1);
    const std::size_t end = skip_digits(number);
    if (end == number || !ends_number(end)) fail(number, "not a number of slots", "a number, such as slots=8");
    blank(start, end);
    return end;
  }

  /// `gpu001:8`, also as one of several in `gpu001:8,gpu002:8`.
  void blank_counts(std::size_t start, std::size_t end) {
    const std::string_view until_end = view_.substr(0, end);
    for (auto colon = until_end.find(':', start); colon < end; colon = until_end.find(':', colon + 1)) {
      const std::size_t behind = skip_digits(colon + 1);
      const bool follows_a_host = colon > start && view_[colon - 1] != ',';
      if (!follows_a_host || behind == colon + 1 || !ends_number(behind)) {
        fail(colon, "`:` that is not between a host and a number", "a host, or a host and its slots: gpu001:8");
      }
      blank(colon, behind);
    }
  }

  void blank(std::size_t from, std::size_t to) { std::ranges::fill(text_.subspan(from, to - from), ' '); }

  [[noreturn]] void fail(std::size_t offset, const char* what, const char* expected) const {
    throw InputError({what, origin_.at(offset), expected, ""});
  }

  std::span<char> text_;
  std::string_view view_;  ///< the same characters, for searching
  const Origin& origin_;
};

std::vector<std::string> parse_hostfile_text(std::string text, std::string_view origin) {
  std::span<char> rest(text);
  if (text.starts_with(kByteOrderMark)) rest = rest.subspan(kByteOrderMark.size());
  HostPatterns patterns;  // refers into `text`
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const auto length = static_cast<std::size_t>(std::ranges::find(rest, '\n') - rest.begin());
    const Origin line_origin{origin, number};
    Line line(rest.first(length), line_origin);
    line.blank_annotations();
    patterns.append(line.view(), line_origin);
    rest = rest.subspan(std::min(length + 1, rest.size()));
  }
  std::vector<std::string> hosts = without_repeats(patterns.expand());
  if (hosts.empty()) {
    throw InputError({"names no host", std::string(origin), "one or more hosts, such as gpu[001-064]", ""});
  }
  return hosts;
}

}  // namespace

std::vector<std::string> parse_hostfile(std::istream& input, std::string_view origin) {
  return parse_hostfile_text(read_text(input, origin, kMaxHostfileBytes), origin);
}

std::vector<std::string> read_hostfile(const std::string& path) {
  if (path == "-") return parse_hostfile(std::cin, "standard input");
  return parse_hostfile_text(read_text_file(path, kMaxHostfileBytes), path);
}

}  // namespace weft::topology
