#pragma once

#include <string>
#include <vector>

#include "bisect/run.h"

namespace weft::report {

/// What to do about all culprits of one kind.
struct Advice {
  std::string subject;             ///< "gpu[007,009]", "gpu007 rail 3", "leaf of su1 rail 2"
  std::vector<std::string> steps;  ///< sentences, the cheapest and safest first
  std::string command;             ///< to paste, which does the first step under Slurm; empty where there is none
};

/// In the order of the culprits, one for each kind. Bounded however many culprits there are.
std::vector<Advice> advice_for(const bisect::RunResult& run);

/// A command to paste that measures the group which would tell the candidates apart: this run's own command line over
/// that group's nodes, where this was a bisect.
std::string next_probe_command(const bisect::RunInfo& info, const probes::Group& group);

/// A word as a POSIX shell needs it to be written.
std::string shell_quoted(const std::string& word);

}  // namespace weft::report
