#include "probes/collective/line_reader.h"

namespace weft::probes {

std::optional<std::string> LineReader::next() {
  if (overflowed()) return std::nullopt;
  const std::size_t end = buffer_.find('\n', start_ + scanned_);
  const std::size_t length = (end == std::string::npos ? buffer_.size() : end) - start_;
  if (end == std::string::npos || length > longest_) {
    scanned_ = length;
    buffer_.erase(0, start_);
    start_ = 0;
    return std::nullopt;
  }
  std::string line = buffer_.substr(start_, length);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  start_ = end + 1;
  scanned_ = 0;
  return line;
}

}  // namespace weft::probes
