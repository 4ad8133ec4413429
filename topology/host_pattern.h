#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::topology {

/// Where a piece of host list was written: a named text, or one line of a file.
struct Origin {
  std::string_view name;
  std::size_t line = 0;  ///< from 1; 0 where the text has no lines to count

  /// `name:line:column`, or `name:column N` without lines; `offset` in bytes from the start of the text.
  std::string at(std::size_t offset) const;
};

/// `low`, `low + step`, …: `count` numbers, each at least as wide as `low` is written.
struct NumberRange {
  std::string_view low;
  std::uint64_t step = 1;
  std::size_t count = 1;
};

/// One bracket and the text between it and the bracket before.
struct Bracket {
  std::string_view before;
  std::vector<NumberRange> ranges;
};

/// One item of a host list as it was written, not yet expanded: `r[1-2]n[01-16]-ib0`. Refers into the text it was
/// parsed from.
struct HostPattern {
  bool excluded = false;  ///< written with `!`
  std::vector<Bracket> brackets;
  std::string_view tail;  ///< after the last bracket; the whole name where there is none
  std::size_t count = 1;  ///< names it stands for, clamped to kMaxHosts + 1
};

/// The items of one host list, gathered from one text or many. Their number is known, and bounded by kMaxHosts for
/// those named and for those excluded, before a single name is built.
class HostPatterns {
 public:
  /// Parses `text` and appends its items; a text without any item is fine. Throws InputError at its column (see
  /// expand_hostlist). `text` has to outlive this object.
  void append(std::string_view text, const Origin& origin);

  /// Every name in the order written, repeats included, without the excluded ones.
  std::vector<std::string> expand() const;

 private:
  void count(const HostPattern& pattern, const Origin& origin, std::size_t offset);

  std::vector<HostPattern> patterns_;
  std::size_t named_ = 0;
  std::size_t excluded_ = 0;
};

/// The characters host names are made of.
bool is_host_name_character(char character);

}  // namespace weft::topology
