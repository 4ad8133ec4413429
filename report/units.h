#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::report {

/// Bandwidth with three significant digits: "372 GB/s", "24.8 MB/s" (10^9 and 10^6 bytes). "-" for none.
std::string format_bandwidth(double gbps);
std::string format_bandwidth(const std::optional<double>& gbps);

/// Three significant digits and never an exponent: "0.25", "24.8", "1904".
std::string format_amount(double value);

/// "0.42 s", "38.2 s", "2 min 5 s", "1 h 3 min".
std::string format_seconds(double seconds);

/// Of a buffer, as nccl-tests users write it: "64 MiB", "1.5 GiB", "1000 bytes".
std::string format_bytes(std::uint64_t bytes);

/// Of a share from 0 to 1: "41 %". Never "100 %" or "0 %" for what is not: "> 99 %", "< 1 %".
std::string format_percent(double share);

/// "2.4 times", "1.04 times".
std::string format_times(double factor);

/// "1 node", "64 nodes".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace weft::report
