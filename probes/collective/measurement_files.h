#pragma once

#include <string>
#include <vector>

#include "probes/collective/measurement_table.h"

namespace weft::probes {

/// Reads files that hold measurements: tables, and logs of nccl-tests whose device lines name the hosts. A folder
/// stands for the files in it (hidden ones and folders inside it left out), `-` for standard input. A file named
/// twice is read once: a measurement must not count as two.
///
/// The result does not depend on the order of the files, nor on that of rows in them: everything in it is sorted.
/// A log that is no measurement (refused by judge(), or of hosts that it does not name) becomes a note with the reason,
/// and so does a file of a folder that is neither table nor log. Throws InputError for a file that cannot be read, a
/// table with an error in it, and a folder without files.
MeasurementTable load_measurements(const std::vector<std::string>& paths);

}  // namespace weft::probes
