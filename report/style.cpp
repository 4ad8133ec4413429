#include "report/style.h"

#include <fmt/format.h>

namespace weft::report {
namespace {

const char* code_of(Ink ink) {
  switch (ink) {
    case Ink::plain:
      return "0";
    case Ink::bold:
      return "1";
    case Ink::red:
      return "1;31";
    case Ink::green:
      return "1;32";
    case Ink::yellow:
      return "1;33";
  }
  return "0";
}

}  // namespace

std::string inked(const Style& style, Ink ink, std::string_view text) {
  if (!style.color || ink == Ink::plain || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(ink), text);
}

}  // namespace weft::report
