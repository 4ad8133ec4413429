#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::launch {

/// Lines that wait to be written to a pipe that takes only so much at a time. Not thread safe.
class PendingOutput {
 public:
  void add_line(std::string_view line) {
    buffer_ += line;
    buffer_ += '\n';
  }
  bool empty() const { return written_ == buffer_.size(); }
  std::size_t size() const { return buffer_.size() - written_; }

  /// Writes what fits now through `write`, which takes bytes and gives how many it took (0 when the pipe is full), or
  /// nothing when nobody reads any more; then this returns false.
  template <typename Write>
  bool flush(Write write) {
    while (!empty()) {
      const auto taken = write(std::string_view(buffer_).substr(written_));
      if (!taken) return false;
      if (*taken == 0) break;
      written_ += *taken;
    }
    if (written_ > buffer_.size() / 2) {
      buffer_.erase(0, written_);
      written_ = 0;
    }
    return true;
  }

 private:
  std::string buffer_;
  std::size_t written_ = 0;
};

}  // namespace weft::launch
