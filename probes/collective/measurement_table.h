#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "probes/collective/measurement.h"

namespace weft::probes {

/// More rows, or more members of all groups together, is no table of measurements.
inline constexpr std::size_t kMostTableRows = 1'000'000;
inline constexpr std::size_t kMostTableMembers = 4'000'000;

/// Measurements that someone already has. One entry a measurement in `rounds` and in each of `properties`.
struct MeasurementTable {
  std::vector<Measurement> measurements;
  std::vector<int> rounds;  ///< by the column `round`; 0 without one
  /// Columns that only hold 0, 1 or nothing (`crosses_rack`): a property of each measurement, by name.
  std::map<std::string, std::vector<bool>> properties;
  std::vector<std::string> nodes;  ///< in order of appearance
  std::vector<std::string> notes;  ///< such as columns that were ignored
};

/// Reads a table of bus bandwidths in GB/s. Two forms:
///
/// - With a header, separated by commas, semicolons or tabs. Who was measured is a host list in `members`, or a node
///   each in `a` and `b`; `busbw` is required; `rail`, `round`, `bytes`, `ranks` and `status` may be there. Further
///   columns that only hold 0 and 1 are properties of the measurements, others are ignored with a note. Names of
///   columns in any case; fields may be in double quotes, and a host list with commas has to be, in a table separated
///   by them. A row whose status is not ok, or without a bandwidth, is a probe that gave none.
/// - Without, lines of hosts and a bandwidth separated by blanks: `n01 n03 n04 n08 479.89`.
///
/// `#` begins a comment line; blank lines, CRLF and a byte order mark are read over. Throws InputError with
/// file:line:column and what was expected for everything else: rows that do not fit their header, bandwidths that are
/// not above 0 and below kAbsurdGbps, a node twice in a group, and a table without rows.
MeasurementTable parse_measurement_table(std::string_view text, const std::string& file);

/// Whether the text begins as either form does: its first line that says something ends in a number, or names `busbw`.
bool begins_as_table(std::string_view text);

}  // namespace weft::probes
