#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "probes/collective/measurement.h"

namespace weft::probes {

/// Measurements that someone already has.
struct MeasurementTable {
  std::vector<Measurement> measurements;
  std::vector<int> rounds;  ///< of each measurement, by the column `round`; 0 without one
  /// Columns that only hold 0, 1 or nothing (`crosses_rack`): a property of each measurement, by name.
  std::map<std::string, std::vector<bool>> properties;
  std::vector<std::string> nodes;  ///< in order of appearance
  std::vector<std::string> notes;  ///< such as columns that were ignored
};

/// Reads a table: comma, semicolon or tab separated with a header that has `members,busbw` (a host list) or
/// `a,b,busbw`, and may have `rail`, `round`, `bytes`, `ranks` and `status`; further columns that only hold 0 and 1 are
/// properties of the measurements, and others are ignored with a note. Or, without a header, lines of hosts and a
/// bandwidth separated by blanks (`n01 n03 n04 479.89`). Quoted fields, `#` comments, CRLF and a byte order mark are
/// read. Bandwidths are bus bandwidths in GB/s. A row whose status is not ok, or without a bandwidth, is a failed
/// probe. Throws InputError with file:line and what was expected, for everything else, and for a table without rows.
MeasurementTable parse_measurement_table(std::string_view text, const std::string& file);

/// A table, or a log of nccl-tests whose device lines name the hosts; for a folder, every file in it, in the order of
/// their names. A log that is no measurement becomes a note. Throws InputError.
MeasurementTable load_measurements(const std::vector<std::string>& paths);

}  // namespace weft::probes
