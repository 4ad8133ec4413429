#include "topology/text_file.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "topology/error.h"

namespace weft::topology {

std::string read_text_file(const std::string& path, std::size_t limit_bytes) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw InputError({"is a directory", path, "a file", ""});
  errno = 0;
  std::ifstream input(path, std::ios::binary);
  if (!input) {
    throw InputError({"cannot be read: " + std::generic_category().message(errno), path, "a readable file", ""});
  }
  return read_text(input, path, limit_bytes);
}

std::string read_text(std::istream& input, std::string_view origin, std::size_t limit_bytes) {
  std::string text;
  std::array<char, 65536> chunk{};
  while (input.read(chunk.data(), chunk.size()), input.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(input.gcount()));
    if (text.size() > limit_bytes) {
      throw InputError({fmt::format("goes on past {} MiB", limit_bytes >> 20), std::string(origin),
                        "a text file that a person could have written", ""});
    }
  }
  if (input.bad()) throw InputError({"could not be read to its end", std::string(origin), "a readable file", ""});
  return text;
}

}  // namespace weft::topology
