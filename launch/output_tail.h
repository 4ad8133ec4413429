#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::launch {

/// The end of what a program wrote, in bounded memory.
class OutputTail {
 public:
  static constexpr std::size_t kKept = 4096;

  void add(std::string_view bytes) {
    text_ += bytes;
    if (text_.size() > kKept) text_.erase(0, text_.size() - kKept);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace weft::launch
