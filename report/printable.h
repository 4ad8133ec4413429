#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::report {

/// Text that came from a node, a command or a file, fit for a terminal: control characters (also the C1 ones and those
/// that turn the writing direction around) and bytes that are not UTF-8 appear as `\n`, `\t` or `\xNN`; all else stays.
std::string printable(std::string_view text);

/// Columns that printable text takes on a terminal, one a code point.
std::size_t columns_of(std::string_view text);

/// The first `columns` columns, the last of them `…` where something was cut.
std::string elided(std::string_view text, std::size_t columns);

}  // namespace weft::report
