#include "launch/injection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "topology/error.h"
#include "topology/hostlist.h"

namespace weft::launch {
namespace {

using probes::RankFaults;

constexpr double kForAWhile_s = 3600;

struct Quantity {
  double value = 0;
  std::string_view unit;
};

/// A positive decimal number and what follows it.
std::optional<Quantity> parse_quantity(std::string_view text) {
  Quantity quantity;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), quantity.value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(quantity.value) || quantity.value <= 0) return std::nullopt;
  quantity.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return quantity;
}

struct NamedUnit {
  std::string_view name;
  double factor;
};

template <std::size_t N>
std::optional<double> in_units(std::string_view text, const std::array<NamedUnit, N>& units, double most) {
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  for (const NamedUnit& unit : units) {
    const double value = quantity->value * unit.factor;
    if (quantity->unit == unit.name && value <= most) return value;
  }
  return std::nullopt;
}

constexpr double kLongest_s = 86400;
constexpr std::array<NamedUnit, 3> kTimes{{{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
constexpr std::array<NamedUnit, 6> kRates{
    {{"kbit", 125}, {"Mbit", 125e3}, {"Gbit", 125e6}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}}};

bool set_delay(std::string_view value, RankFaults& faults) {
  const auto quantity = parse_quantity(value);
  if (quantity && quantity->unit == "%" && quantity->value <= 10'000) {
    faults.delay_share = quantity->value / 100;
    return true;
  }
  const auto seconds = in_units(value, kTimes, kLongest_s);
  faults.delay_s = seconds.value_or(0);
  return seconds.has_value();
}

bool set_rate(std::string_view value, RankFaults& faults) {
  const auto rate = in_units(value, kRates, 1e12);
  faults.rate_bytes_per_s = rate.value_or(0);
  return rate.has_value() && *rate >= 1;
}

bool set_exit(std::string_view value, RankFaults& faults) {
  int code = 1;
  if (!value.empty()) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), code);
    if (error != std::errc{} || end != value.data() + value.size() || code < 0 || code > 255) return false;
  }
  faults.exit_in_init = code;
  return true;
}

bool set_sleep(std::string_view value, RankFaults& faults) {
  const auto seconds = value.empty() ? std::optional(kForAWhile_s) : in_units(value, kTimes, kLongest_s);
  faults.sleep_before_init_s = seconds.value_or(0);
  return seconds.has_value();
}

template <bool RankFaults::*Flag>
bool set_flag(std::string_view value, RankFaults& faults) {
  faults.*Flag = true;
  return value.empty();
}

struct Kind {
  const char* name;
  const char* expected;  ///< as a whole, for a message
  bool (*set)(std::string_view value, RankFaults& faults);
};

constexpr std::array<Kind, 8> kKinds{{
    {"delay", "'delay=30%', 'delay=20ms' or 'delay=1.5s'", set_delay},
    {"rate", "'rate=200Mbit', 'rate=10Gbit' or 'rate=25MB' (a second; kbit, Mbit, Gbit, kB, MB, GB)", set_rate},
    {"exit", "'exit' or 'exit=CODE' with a code from 0 to 255", set_exit},
    {"crash", "'crash' without a value", set_flag<&RankFaults::crash_in_run>},
    {"never_starts", "'never_starts' without a value", set_flag<&RankFaults::never_starts>},
    {"sleep_before_init", "'sleep_before_init' or 'sleep_before_init=90s'", set_sleep},
    {"sigstop", "'sigstop' without a value", set_flag<&RankFaults::stop_in_run>},
    {"corrupt", "'corrupt' without a value", set_flag<&RankFaults::corrupt>},
}};

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds)
    names.emplace_back(kind.name);
  return names;
}

[[noreturn]] void refuse(std::string what, std::string expected, std::string next_step = "") {
  throw InputError({.what = std::move(what),
                    .where = "--inject",
                    .expected = std::move(expected),
                    .next_step = std::move(next_step)});
}

const Kind& kind_named(const std::string& name) {
  for (const Kind& kind : kKinds) {
    if (name == kind.name) return kind;
  }
  const std::string nearest = nearest_name(name, kind_names());
  refuse(fmt::format("unknown kind of fault {}", in_quotes(name)),
         fmt::format("one of {}", fmt::join(kind_names(), ", ")),
         nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
}

/// `faults` with every fault of `added` in the place of what it had of that kind.
void add_faults(RankFaults& faults, const RankFaults& added) {
  const auto take = [](double& value, double other) {
    if (other > 0) value = other;
  };
  take(faults.delay_share, added.delay_share);
  take(faults.delay_s, added.delay_s);
  take(faults.rate_bytes_per_s, added.rate_bytes_per_s);
  take(faults.sleep_before_init_s, added.sleep_before_init_s);
  if (added.exit_in_init) faults.exit_in_init = added.exit_in_init;
  faults.never_starts |= added.never_starts;
  faults.crash_in_run |= added.crash_in_run;
  faults.stop_in_run |= added.stop_in_run;
  faults.corrupt |= added.corrupt;
}

}  // namespace

Injection parse_injection(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    refuse(fmt::format("no ':' in {}", in_quotes(text)), "NODES:KIND or NODES:KIND=VALUE, such as 'node5:delay=30%'");
  }
  Injection injection;
  injection.text = text;
  injection.nodes = topology::expand_hostlist(text.substr(0, colon), "--inject");
  const std::string_view fault = text.substr(colon + 1);
  const std::size_t equals = fault.find('=');
  const Kind& kind = kind_named(std::string(fault.substr(0, equals)));
  const std::string_view value = equals == std::string_view::npos ? std::string_view() : fault.substr(equals + 1);
  if ((equals != std::string_view::npos && value.empty()) || !kind.set(value, injection.faults)) {
    refuse(fmt::format("cannot read the fault {}", in_quotes(fault)), kind.expected);
  }
  return injection;
}

std::map<std::string, RankFaults> faults_by_node(std::span<const Injection> injections,
                                                 std::span<const std::string> hosts) {
  std::map<std::string, RankFaults> faults;
  for (const Injection& injection : injections) {
    for (const std::string& node : injection.nodes) {
      if (std::find(hosts.begin(), hosts.end(), node) == hosts.end()) {
        const std::string nearest = nearest_name(node, hosts);
        refuse(fmt::format("node {} of {} is not in this run", in_quotes(node), in_quotes(injection.text)),
               fmt::format("one of {}", topology::fold_hostlist(hosts)),
               nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
      }
      add_faults(faults[node], injection.faults);
    }
  }
  return faults;
}

}  // namespace weft::launch
