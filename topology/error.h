#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

/// What a person needs at three in the morning: what went wrong, where, what was expected, what to do next.
/// `what` is required; the others may be empty and are then left out of the message.
struct ErrorDetail {
  std::string what;
  std::string where;     ///< `file:line:column`, a flag, a host
  std::string expected;  ///< what would have been right
  std::string next_step;
};

/// Thrown at a boundary where nothing can go on. Outcomes that are expected (a probe that failed, a counter that
/// is not there) are values, never exceptions.
class Error : public std::runtime_error {
 public:
  explicit Error(ErrorDetail detail);
  const ErrorDetail& detail() const { return detail_; }

 private:
  ErrorDetail detail_;
};

/// The user's words or files are wrong. Nothing was run, nothing was changed. Exit status 2.
class InputError : public Error {
 public:
  using Error::Error;
};

/// The world does not let us: nodes unreachable, a database not writable. Exit status 4.
class RunError : public Error {
 public:
  using Error::Error;
};

/// What a user wrote, fit for a message: in double quotes, everything but printable ASCII as `\n`, `\t` or `\xNN` (a
/// terminal must not be driven by a damaged file), and cut with `…` past 60 bytes.
std::string in_quotes(std::string_view text);

/// The known name nearest to `name`, or an empty string when none is within an edit distance of a third of its length
/// plus one (so that two swapped letters are found in short names too). `known` is any range of strings; the first of
/// equally near ones wins.
template <typename Range>
std::string nearest_name(const std::string& name, const Range& known);

/// Levenshtein distance in bytes, given up (returning `limit + 1`) once it is certain to exceed `limit`.
std::size_t edit_distance(const std::string& a, const std::string& b, std::size_t limit);

template <typename Range>
std::string nearest_name(const std::string& name, const Range& known) {
  std::size_t best_distance = name.size() / 3 + 1;
  std::string best;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate, best_distance);
    if (distance < best_distance || (distance == best_distance && best.empty())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace weft
