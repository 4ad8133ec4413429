#pragma once

#include <cstdint>
#include <string>

namespace weft::cli {

/// "8M" is 8·1024² bytes, as in nccl-tests; suffixes K, M, G, T with or without B or iB. At least 4 bytes, at most 1
/// TiB. All three throw InputError with the flag, the value and what was expected.
std::uint64_t parse_bytes(const std::string& flag, const std::string& text);

/// "10%" or "10": a percentage above 0 and below 100, returned as a fraction.
double parse_percent(const std::string& flag, const std::string& text);

/// A bandwidth that was given: finite and above 0. Throws as the others do.
double require_bandwidth(const std::string& flag, double busbw_gbps);

/// "90s", "10m", "1h" or plain seconds: more than 0, at most a week.
double parse_duration_s(const std::string& flag, const std::string& text);

}  // namespace weft::cli
