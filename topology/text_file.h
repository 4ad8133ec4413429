#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace weft::topology {

/// The whole of a file that a person wrote. Throws InputError with `path` for one that is missing, a directory, not
/// readable, or longer than `limit_bytes` (also when it has no end, such as /dev/zero).
std::string read_text_file(const std::string& path, std::size_t limit_bytes);

/// The rest of `input`, with the same bound; `origin` is how messages call it.
std::string read_text(std::istream& input, std::string_view origin, std::size_t limit_bytes);

}  // namespace weft::topology
