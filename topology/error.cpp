#include "topology/error.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace weft {
namespace {

std::string message_of(const ErrorDetail& detail) {
  std::string message;
  if (!detail.where.empty()) message += detail.where + ": ";
  message += detail.what;
  if (!detail.expected.empty()) message += "; expected " + detail.expected;
  if (!detail.next_step.empty()) message += "; " + detail.next_step;
  return message;
}

std::string escaped(char byte) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (byte) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    default:
      break;
  }
  if (byte >= ' ' && byte <= '~') return {byte};
  const auto value = static_cast<unsigned char>(byte);
  return {'\\', 'x', kHex[value / 16], kHex[value % 16]};
}

}  // namespace

Error::Error(ErrorDetail detail) : std::runtime_error(message_of(detail)), detail_(std::move(detail)) {}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = "\"";
  for (const char byte : text.substr(0, kLongest))
    result += escaped(byte);
  if (text.size() > kLongest) result += "…";
  return result + '"';
}

std::size_t edit_distance(const std::string& a, const std::string& b, std::size_t limit) {
  const std::size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (gap > limit) return limit + 1;
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    std::size_t row_minimum = row[0];
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substituted}));
      row_minimum = std::min(row_minimum, row[j]);
    }
    if (row_minimum > limit) return limit + 1;
  }
  return row[b.size()];
}

}  // namespace weft
