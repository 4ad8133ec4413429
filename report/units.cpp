#include "report/units.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace weft::report {
namespace {

/// Three significant digits, never an exponent: 0.0248, 2.48, 24.8, 248, 2480.
std::string three_digits(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  if (value >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

}  // namespace

std::string format_bandwidth(double gbps) {
  if (!std::isfinite(gbps)) return "-";
  if (gbps == 0) return "0 GB/s";
  if (gbps >= 0.9995) return three_digits(gbps) + " GB/s";
  if (gbps >= 0.9995e-3) return three_digits(gbps * 1e3) + " MB/s";
  return three_digits(gbps * 1e6) + " kB/s";
}

std::string format_bandwidth(const std::optional<double>& gbps) {
  return gbps ? format_bandwidth(*gbps) : "-";
}

std::string format_amount(double value) {
  return std::isfinite(value) ? three_digits(value) : "-";
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit + 1 < kUnits.size(); value /= 1024)
    ++unit;
  // A size that no short figure gives exactly is written out: another one would be another measurement.
  if (value * 4 != std::floor(value * 4)) return fmt::format("{} bytes", bytes);
  return fmt::format("{:g} {}", value, kUnits.at(unit));
}

std::string format_percent(double share) {
  if (!std::isfinite(share)) return "-";
  const double percent = share * 100;
  if (share < 1 && percent >= 99.5) return "> 99 %";
  if (share > 0 && percent < 0.5) return "< 1 %";
  return fmt::format("{:.0f} %", percent);
}

std::string format_times(double factor) {
  if (factor >= 9.95) return fmt::format("{:.0f} times", factor);
  if (factor >= 1.095) return fmt::format("{:.1f} times", factor);
  return fmt::format("{:.3g} times", factor);
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace weft::report
