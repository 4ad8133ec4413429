#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "probes/collective/nccl_tests_output.h"

namespace weft::probes {

/// Collects the JSON document that nccl-tests writes with -J (JSON_FILE_VERSION 2, src/util.cu) from pieces of text,
/// whether it stands on one line, was pretty-printed, or ends in the middle.
class NcclTestsJsonCollector {
 public:
  /// Whether a line opens such a document: a lone brace, or one with a first key.
  static bool opens(std::string_view line);

  /// Takes a line; true once the document is complete (or has grown past kMaxBytes and is given up).
  bool feed(std::string_view line);

  /// What the document says, even if it was cut: rows that were complete are kept. The collector is empty afterwards.
  NcclTestsOutput take();

  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

 private:
  void feed_structure(char byte);

  std::string text_;
  std::vector<char> open_;        ///< brackets not closed yet
  std::size_t last_row_end_ = 0;  ///< where the last complete row of `results` ends
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace weft::probes
