#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::report {

struct Column {
  std::string title;
  bool right = false;    ///< numbers
  bool elastic = false;  ///< gives way, with `…`, when the table is too wide
};

/// Rows under their titles, two blanks between columns, no line wider than `width` (which must hold the columns that
/// are not elastic) and none with blanks at its end. Cells are printable text without escapes.
std::string format_table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                         std::size_t width, std::size_t indent = 0);

/// Words in lines of at most `width` columns, each after `indent` blanks; a word that is longer has a line of its own.
/// Line ends in `text` count as blanks. Ends with a line end.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

/// The same, with `head` (a bullet, a name) in front of the first line's words and the others below them.
std::string wrapped_after(std::string_view head, std::string_view text, std::size_t width);

}  // namespace weft::report
