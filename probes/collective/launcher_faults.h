#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/collective/measurement.h"

namespace weft::probes {

/// What a launcher says about who crashed, in the order of its lines: mpirun's "process rank 3 with PID 811 on node
/// node003 exited on signal 11 (Segmentation fault)" and srun's "error: node003: task 3: Segmentation fault". Only
/// crashes count: exit codes, "Killed" and "Terminated" are what the ranks that merely waited end with. Only `nodes`
/// (compared without domain and case) can be named, each once.
std::vector<NodeFault> launcher_faults(std::string_view log, std::span<const std::string> nodes);

}  // namespace weft::probes
