#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weft::probes {

/// Cuts a stream of bytes into lines, in bounded memory. A final `\r` belongs to the line's end. Not thread safe.
class LineReader {
 public:
  explicit LineReader(std::size_t longest) : longest_(longest) {}

  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next whole line without its end.
  std::optional<std::string> next();
  /// Whether a line has outgrown the limit: nothing that follows can be trusted. True only once next() has nothing
  /// more.
  bool overflowed() const { return scanned_ > longest_; }
  /// What has come since the last line's end.
  std::string_view unfinished() const { return std::string_view(buffer_).substr(start_); }

 private:
  std::size_t longest_;
  std::string buffer_;
  std::size_t start_ = 0;    ///< of the line that is being read
  std::size_t scanned_ = 0;  ///< bytes of that line already searched for its end
};

}  // namespace weft::probes
