#include "report/printable.h"

#include <cstdint>

#include <fmt/format.h>

namespace weft::report {
namespace {

struct Character {
  std::uint32_t code_point = 0;
  std::size_t size = 0;  ///< bytes; 0 when it is not UTF-8
};

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  std::uint32_t code_point = lead & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if (!is_continuation(text[i])) return {};
    code_point = (code_point << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < kSmallest[size] || code_point > 0x10FFFF || surrogate) return {};
  return {code_point, size};
}

bool drives_a_terminal(std::uint32_t code_point) {
  const bool control = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
  const bool line_end = code_point == 0x2028 || code_point == 0x2029;
  const bool direction = (code_point >= 0x202A && code_point <= 0x202E) ||
                         (code_point >= 0x2066 && code_point <= 0x2069) || code_point == 0x200E ||
                         code_point == 0x200F || code_point == 0x061C;
  return control || line_end || direction;
}

std::string escaped(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  if (bytes == "\r") return "\\r";
  if (bytes == "\t") return "\\t";
  std::string result;
  for (const char byte : bytes)
    result += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  return result;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t size = character.size == 0 ? 1 : character.size;
    const std::string_view bytes = text.substr(0, size);
    if (character.size == 0 || drives_a_terminal(character.code_point))
      result += escaped(bytes);
    else
      result += bytes;
    text.remove_prefix(size);
  }
  return result;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (const char byte : text)
    if (!is_continuation(byte)) ++columns;
  return columns;
}

std::string elided(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t end = 0;
  for (std::size_t kept = 0; kept < columns - 1; ++kept) {
    ++end;
    while (end < text.size() && is_continuation(text[end]))
      ++end;
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace weft::report
