#include "cli/quantity.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "topology/error.h"

namespace weft::cli {
namespace {

struct Number {
  double value = 0;
  std::string_view unit;
};

std::optional<Number> number_with_unit(std::string_view text) {
  Number number;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number.value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(number.value)) return std::nullopt;
  number.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return number;
}

[[noreturn]] void refuse(const std::string& flag, const std::string& text, const std::string& expected) {
  throw InputError({"'" + text + "' will not do", flag, expected, ""});
}

std::optional<double> scale_of(std::string_view unit, const std::pair<std::string_view, double>* table,
                               std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (table[i].first == unit) return table[i].second;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t parse_bytes(const std::string& flag, const std::string& text) {
  constexpr double kKibi = 1024;
  static constexpr std::pair<std::string_view, double> units[] = {{"", 1},
                                                                  {"B", 1},
                                                                  {"K", kKibi},
                                                                  {"KB", kKibi},
                                                                  {"KiB", kKibi},
                                                                  {"k", kKibi},
                                                                  {"M", kKibi * kKibi},
                                                                  {"MB", kKibi * kKibi},
                                                                  {"MiB", kKibi * kKibi},
                                                                  {"G", 1073741824},
                                                                  {"GB", 1073741824},
                                                                  {"GiB", 1073741824},
                                                                  {"T", 1099511627776},
                                                                  {"TiB", 1099511627776}};
  const std::string expected = "a size from 4 bytes to 1T, such as 8M (8 x 1024 x 1024 bytes)";
  const auto number = number_with_unit(text);
  if (!number) refuse(flag, text, expected);
  const auto scale = scale_of(number->unit, units, std::size(units));
  if (!scale) refuse(flag, text, expected);
  const double bytes = number->value * *scale;
  if (bytes < 4 || bytes > 1099511627776.0) refuse(flag, text, expected);
  return static_cast<std::uint64_t>(bytes);
}

double parse_percent(const std::string& flag, const std::string& text) {
  const std::string expected = "a percentage above 0 and below 100, such as 10%";
  const auto number = number_with_unit(text);
  if (!number || (number->unit != "%" && !number->unit.empty())) refuse(flag, text, expected);
  if (number->value <= 0 || number->value >= 100) refuse(flag, text, expected);
  return number->value / 100;
}

double require_bandwidth(const std::string& flag, double busbw_gbps) {
  if (!std::isfinite(busbw_gbps) || busbw_gbps <= 0) refuse(flag, fmt::format("{}", busbw_gbps), "GB/s above 0");
  return busbw_gbps;
}

double parse_duration_s(const std::string& flag, const std::string& text) {
  static constexpr std::pair<std::string_view, double> units[] = {
      {"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}};
  const std::string expected = "a duration of at most a week, such as 90s, 10m or 1h";
  const auto number = number_with_unit(text);
  if (!number) refuse(flag, text, expected);
  const auto scale = scale_of(number->unit, units, std::size(units));
  if (!scale) refuse(flag, text, expected);
  const double seconds = number->value * *scale;
  if (seconds <= 0 || seconds > 7 * 86400.0) refuse(flag, text, expected);
  return seconds;
}

}  // namespace weft::cli
