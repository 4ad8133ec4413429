#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::launch {

/// Text from a node, fit for a terminal and a report: everything but printable ASCII as `\n`, `\t` or `\xNN`, and cut
/// with `…` past `longest` bytes of the input. Nothing that a node says reaches a person in any other way.
std::string printable(std::string_view text, std::size_t longest = 400);

/// The last lines of a program's output that say something, joined by " | ", printable; empty when there are none.
std::string last_words(std::string_view output);

}  // namespace weft::launch
