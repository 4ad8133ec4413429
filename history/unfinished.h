#pragma once

#include <string>
#include <vector>

#include "bisect/run.h"

namespace weft::history {

/// The verdict on a run that nobody concluded: inconclusive for the reason `why`, with its nodes counted by what its
/// rounds so far say, so that the counts add up.
bisect::Verdict unfinished_verdict(const bisect::RunInfo& info, const std::vector<bisect::RoundResult>& rounds,
                                   std::string why);

}  // namespace weft::history
