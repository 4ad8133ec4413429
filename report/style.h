#pragma once

#include <string>
#include <string_view>

namespace weft::report {

/// How text is to look where it goes.
struct Style {
  bool color = false;
  int width = 100;  ///< columns
};

enum class Ink { plain, bold, red, green, yellow };

/// `text` in that ink by ANSI escapes, unchanged without colour.
std::string inked(const Style& style, Ink ink, std::string_view text);

}  // namespace weft::report
