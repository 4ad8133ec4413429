#include "topology/platform.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "topology/error.h"

namespace weft::topology {
namespace {

// H100 and H200 have the same NVLink; with NVLS its switch does the sums, so a node exceeds the wire.
constexpr auto kPlatforms = std::to_array<Platform>({
    {"a100", 300, 235},
    {"h100", 450, 480},
    {"h200", 450, 480},
    {"b200", 900, std::nullopt},
});

}  // namespace

std::span<const Platform> platforms() {
  return kPlatforms;
}

const Platform& platform_named(std::string_view name, std::string_view flag) {
  const auto found = std::ranges::find(kPlatforms, name, &Platform::name);
  if (found != kPlatforms.end()) return *found;
  std::vector<std::string> names;
  for (const Platform& platform : kPlatforms)
    names.emplace_back(platform.name);
  const std::string nearest = nearest_name(std::string(name), names);
  throw InputError({fmt::format("no platform is called {}", in_quotes(name)), std::string(flag),
                    fmt::format("one of {}", fmt::join(names, ", ")),
                    nearest.empty() ? "or give --nvlink-gbps" : fmt::format("did you mean {}?", nearest)});
}

}  // namespace weft::topology
