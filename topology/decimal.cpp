#include "topology/decimal.h"

#include <algorithm>
#include <cstddef>

namespace weft::topology::decimal {

bool is_padded(std::string_view digits) {
  return digits.size() > 1 && digits.front() == '0';
}

std::int64_t difference(std::string_view low, std::string_view high, std::int64_t limit) {
  const std::size_t width = std::max(low.size(), high.size());
  const auto digit = [width](std::string_view digits, std::size_t place) {
    const std::size_t missing = width - digits.size();
    return place < missing ? 0 : digits[place - missing] - '0';
  };
  // From the most significant digit on, a difference that is once past either bound can never come back.
  std::int64_t gap = 0;
  for (std::size_t place = 0; place < width; ++place) {
    gap = gap * 10 + digit(high, place) - digit(low, place);
    if (gap < 0) return -1;
    if (gap > limit) return limit;
  }
  return gap;
}

void add(std::string& digits, std::uint64_t amount) {
  for (std::size_t place = digits.size(); place > 0 && amount > 0; --place) {
    char& digit = digits[place - 1];
    amount += static_cast<std::uint64_t>(digit - '0');
    digit = static_cast<char>('0' + amount % 10);
    amount /= 10;
  }
  if (amount > 0) digits.insert(0, std::to_string(amount));
}

}  // namespace weft::topology::decimal
