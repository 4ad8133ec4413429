#pragma once

#include <optional>
#include <string_view>

#include "bisect/verdict.h"
#include "topology/finding.h"

namespace weft::history {

/// The enumerator that `to_string` calls `name`, looking from the first (0) to `last`.
template <typename Enum>
std::optional<Enum> enumerator_named(std::string_view name, Enum last) {
  for (int value = 0; value <= static_cast<int>(last); ++value)
    if (to_string(static_cast<Enum>(value)) == name) return static_cast<Enum>(value);
  return std::nullopt;
}

inline auto culprit_kind_from_string(std::string_view name) {
  return enumerator_named(name, bisect::CulpritKind::unreachable);
}
inline auto baseline_source_from_string(std::string_view name) {
  return enumerator_named(name, bisect::Baseline::Source::model);
}
inline auto verdict_kind_from_string(std::string_view name) {
  return enumerator_named(name, bisect::Verdict::Kind::failed);
}
inline auto severity_from_string(std::string_view name) {
  return enumerator_named(name, Severity::critical);
}

}  // namespace weft::history
