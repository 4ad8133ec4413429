#pragma once

#include <string>

namespace weft::history {

std::string host_name();

/// UTC now, ISO 8601 to the second.
std::string utc_now();

/// Whether a process of that number exists on this host (its number may have been given to another one since).
bool process_lives(long pid);

}  // namespace weft::history
