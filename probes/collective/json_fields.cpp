#include "probes/collective/json_fields.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft::probes {
namespace {

using nlohmann::json;

constexpr int kDeepest = 8;

/// Deep nesting costs a hundred times its bytes in memory, so it is found before anything is built.
bool is_nested_too_deeply(std::string_view line) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      if (++depth > kDeepest) return true;
    } else if (!in_string && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return false;
}

std::optional<double> finite_within(const json& value, double lowest, double highest) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  if (!std::isfinite(number) || number < lowest || number > highest) return std::nullopt;
  return number;
}

std::optional<std::int64_t> integer_within(const json& value, std::int64_t lowest, std::int64_t highest) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    return std::nullopt;
  }
  const auto number = value.get<std::int64_t>();
  if (number < lowest || number > highest) return std::nullopt;
  return number;
}

}  // namespace

std::optional<json> parse_json_line(std::string_view line, std::string& error) {
  if (is_nested_too_deeply(line)) {
    error = fmt::format("nested more than {} deep", kDeepest);
    return std::nullopt;
  }
  json value = json::parse(line, nullptr, false);
  if (value.is_discarded()) {
    error = "not JSON";
    return std::nullopt;
  }
  if (!value.is_object()) {
    error = "not a JSON object";
    return std::nullopt;
  }
  return value;
}

std::string to_json_line(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool JsonFields::has(const char* key) const {
  return value_.contains(key);
}

const json* JsonFields::member(const char* key) {
  const auto found = value_.find(key);
  if (found == value_.end()) {
    fail(fmt::format("'{}' is missing", key));
    return nullptr;
  }
  return &*found;
}

std::int64_t JsonFields::integer(const char* key, std::int64_t lowest, std::int64_t highest) {
  const json* value = member(key);
  if (value == nullptr) return lowest;
  const auto number = integer_within(*value, lowest, highest);
  if (!number) fail(fmt::format("'{}' is not an integer from {} to {}", key, lowest, highest));
  return number.value_or(lowest);
}

double JsonFields::number(const char* key, double lowest, double highest) {
  const json* value = member(key);
  if (value == nullptr) return lowest;
  const auto number = finite_within(*value, lowest, highest);
  if (!number) fail(fmt::format("'{}' is not a number from {} to {}", key, lowest, highest));
  return number.value_or(lowest);
}

bool JsonFields::boolean(const char* key) {
  const json* value = member(key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) fail(fmt::format("'{}' is neither true nor false", key));
  return value->is_boolean() && value->get<bool>();
}

std::string JsonFields::text(const char* key, std::size_t longest) {
  const json* value = member(key);
  if (value == nullptr) return {};
  if (!value->is_string() || value->get_ref<const std::string&>().size() > longest) {
    fail(fmt::format("'{}' is not a string of at most {} bytes", key, longest));
    return {};
  }
  return value->get<std::string>();
}

std::vector<double> JsonFields::numbers(const char* key, std::size_t most, double lowest, double highest) {
  const json* value = member(key);
  if (value == nullptr) return {};
  if (!value->is_array() || value->size() > most) {
    fail(fmt::format("'{}' is not an array of at most {} numbers", key, most));
    return {};
  }
  std::vector<double> result;
  for (const json& element : *value) {
    const auto number = finite_within(element, lowest, highest);
    if (!number) {
      fail(fmt::format("'{}' has an element that is not a number from {} to {}", key, lowest, highest));
      return {};
    }
    result.push_back(*number);
  }
  return result;
}

std::vector<std::string> JsonFields::texts(const char* key, std::size_t most, std::size_t longest) {
  const json* value = member(key);
  if (value == nullptr) return {};
  const auto fits = [&](const json& element) {
    return element.is_string() && element.get_ref<const std::string&>().size() <= longest;
  };
  if (!value->is_array() || value->size() > most || !std::all_of(value->begin(), value->end(), fits)) {
    fail(fmt::format("'{}' is not an array of at most {} strings of at most {} bytes", key, most, longest));
    return {};
  }
  return value->get<std::vector<std::string>>();
}

const json* JsonFields::object(const char* key) {
  const json* value = member(key);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) {
    fail(fmt::format("'{}' is not an object", key));
    return nullptr;
  }
  return value;
}

void JsonFields::fail(std::string reason) {
  if (error_.empty()) error_ = std::move(reason);
}

}  // namespace weft::probes
