#pragma once

#include <string>

#include "bisect/run.h"
#include "report/style.h"

namespace weft::report {

/// One run as text for a person: the verdict first, then the culprits, what they cost, what to do, what cannot be told
/// yet and the probe that would, findings, rounds, and the counts that add up. No I/O; what came from nodes is
/// printable(). Tables and prose keep to `style.width`; commands to paste stay on one line.
std::string terminal_text(const bisect::RunResult& run, const Style& style);

/// How people write what a run measured: "all_reduce of 64 MiB".
std::string describe(const probes::ProbeSpec& spec);

}  // namespace weft::report
