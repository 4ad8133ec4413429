#pragma once

#include "launch/protocol.h"

namespace weft::launch {

/// Facts of the host that this runs on. What cannot be read stays empty or 0.
HostFacts read_host_facts();

/// State letter of a process by /proc/PID/stat (`T` is stopped, `D` stuck in the kernel); `?` when there is none.
char read_process_state(std::int64_t pid);

/// Folder of the program that runs, without a trailing slash; empty when the kernel does not say.
std::string own_program_folder();

}  // namespace weft::launch
