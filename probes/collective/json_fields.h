#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace weft::probes {

/// One line of a JSON-lines protocol as an object. Nothing when it is not JSON, not an object, or nested deeper than
/// any message of ours; `error` then says which. Costs memory in proportion to the line, which the caller has bounded.
std::optional<nlohmann::json> parse_json_line(std::string_view line, std::string& error);

/// A message as one line, without the line's end. Bytes that are not UTF-8 become U+FFFD.
std::string to_json_line(const nlohmann::json& message);

/// Reads the members of a JSON object that comes from the other side of a pipe and is not trusted. The first thing that
/// is wrong is kept in error(), and every reading after it gives a harmless value, so that a message is read in one go
/// and judged once at the end. `value` must outlive this object.
class JsonFields {
 public:
  explicit JsonFields(const nlohmann::json& value) : value_(value) {}

  bool has(const char* key) const;
  std::int64_t integer(const char* key, std::int64_t lowest, std::int64_t highest);
  /// Finite and within the bounds.
  double number(const char* key, double lowest, double highest);
  bool boolean(const char* key);
  std::string text(const char* key, std::size_t longest);
  std::vector<double> numbers(const char* key, std::size_t most, double lowest, double highest);
  std::vector<std::string> texts(const char* key, std::size_t most, std::size_t longest);
  /// The member itself, an object; null when there is none.
  const nlohmann::json* object(const char* key);

  void fail(std::string reason);
  const std::string& error() const { return error_; }

 private:
  const nlohmann::json* member(const char* key);

  const nlohmann::json& value_;
  std::string error_;
};

}  // namespace weft::probes
