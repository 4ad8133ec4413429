#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "bisect/run.h"

namespace weft::report {

inline constexpr std::string_view kBisectSchema = "weft.bisect/1";
inline constexpr std::string_view kAnalyzeSchema = "weft.analyze/1";

/// One run as the document that `--json` prints (docs/bisect.schema.json). Bandwidths have six significant digits,
/// seconds three decimals; what is not known is null, and so is every number that is not finite. Bytes that are not
/// UTF-8 become U+FFFD, so dump() never throws.
nlohmann::ordered_json bisect_json(const bisect::RunResult& run, std::string_view schema = kBisectSchema);

}  // namespace weft::report
