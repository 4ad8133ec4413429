#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include <unistd.h>

namespace weft::launch {

/// Gives what a non-blocking descriptor has now to `take`, in pieces, and at most `most` bytes so that one talkative
/// program does not starve the others. Returns false at the end of the stream.
template <typename Take>
bool read_available(int fd, std::size_t most, Take take) {
  std::array<char, 65536> bytes{};
  std::size_t total = 0;
  while (total < most) {
    const ssize_t got = read(fd, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (got == 0) return false;
    total += static_cast<std::size_t>(got);
    take(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
    if (static_cast<std::size_t>(got) < bytes.size()) return true;
  }
  return true;
}

}  // namespace weft::launch
