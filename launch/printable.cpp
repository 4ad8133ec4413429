#include "launch/printable.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace weft::launch {
namespace {

constexpr std::size_t kMostLines = 3;
constexpr std::size_t kLongestLine = 200;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace

std::string printable(std::string_view text, std::size_t longest) {
  std::string result;
  for (const char c : text.substr(0, longest)) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > longest) result += "…";
  return result;
}

std::string last_words(std::string_view output) {
  std::vector<std::string> lines;
  while (!output.empty() && lines.size() < kMostLines) {
    const std::size_t newline = output.find_last_of('\n');
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view line = trimmed(output.substr(begin));
    if (!line.empty()) lines.push_back(printable(line, kLongestLine));
    output = output.substr(0, newline == std::string_view::npos ? 0 : newline);
  }
  std::reverse(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, " | "));
}

}  // namespace weft::launch
