#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::topology::decimal {

/// Arithmetic on the numbers inside host names. They are kept as strings of digits because that is what they are in a
/// name: `08` is not `8`, and a number may have more digits than any integer type. Every argument is one or more of
/// the digits 0-9; nothing here can overflow.

/// A leading zero that is not the number 0 itself: the writer fixed the width.
bool is_padded(std::string_view digits);

/// `high - low`, clamped to -1 below and to `limit` (1 to 10^17) above.
std::int64_t difference(std::string_view low, std::string_view high, std::int64_t limit);

/// Adds `amount` in place. The width grows only when the sum no longer fits.
void add(std::string& digits, std::uint64_t amount);

}  // namespace weft::topology::decimal
