#include "probes/collective/measurement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace weft::probes {
namespace {

template <typename Enum, std::size_t N>
using Names = std::array<std::pair<Enum, const char*>, N>;

constexpr Names<Op, 5> kOps{{{Op::all_reduce, "all_reduce"},
                             {Op::all_gather, "all_gather"},
                             {Op::reduce_scatter, "reduce_scatter"},
                             {Op::broadcast, "broadcast"},
                             {Op::sendrecv, "sendrecv"}}};

constexpr Names<Status, 6> kStatuses{{{Status::ok, "ok"},
                                      {Status::failed, "failed"},
                                      {Status::hung, "hung"},
                                      {Status::corrupt, "corrupt"},
                                      {Status::unreachable, "unreachable"},
                                      {Status::refused, "refused"}}};

constexpr Names<Stage, 8> kStages{{{Stage::none, "none"},
                                   {Stage::login, "login"},
                                   {Stage::start, "start"},
                                   {Stage::rendezvous, "rendezvous"},
                                   {Stage::init, "init"},
                                   {Stage::warm_up, "warm_up"},
                                   {Stage::run, "run"},
                                   {Stage::check, "check"}}};

template <typename Enum, std::size_t N>
const char* name_of(const Names<Enum, N>& names, Enum value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "?";
}

template <typename Enum, std::size_t N>
std::optional<Enum> value_of(const Names<Enum, N>& names, std::string_view wanted) {
  for (const auto& [value, name] : names) {
    if (name == wanted) return value;
  }
  return std::nullopt;
}

}  // namespace

const char* to_string(Op op) {
  return name_of(kOps, op);
}
const char* to_string(Status status) {
  return name_of(kStatuses, status);
}
const char* to_string(Stage stage) {
  return name_of(kStages, stage);
}

std::optional<Op> op_from_string(std::string_view name) {
  return value_of(kOps, name);
}
std::optional<Status> status_from_string(std::string_view name) {
  return value_of(kStatuses, name);
}
std::optional<Stage> stage_from_string(std::string_view name) {
  return value_of(kStages, name);
}

double bus_factor(Op op, int ranks) {
  if (ranks <= 1) return 0;
  const double n = ranks;
  switch (op) {
    case Op::all_reduce:
      return 2 * (n - 1) / n;
    case Op::all_gather:
    case Op::reduce_scatter:
      return (n - 1) / n;
    case Op::broadcast:
    case Op::sendrecv:
      return 1;
  }
  return 0;
}

double median_of(std::vector<double> samples) {
  return quantile_of(std::move(samples), 0.5);
}

double quantile_of(std::vector<double> samples, double q) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  const double share = position - static_cast<double>(below);
  return samples[below] + share * (samples[above] - samples[below]);
}

}  // namespace weft::probes
