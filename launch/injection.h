#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/collective/rank_protocol.h"

namespace weft::launch {

/// One fault on purpose, for demonstrations and tests: `NODES:KIND[=VALUE]`, such as `node5:delay=30%`,
/// `node[1-8]:rate=200Mbit` or `node3:crash`.
///
/// | kind              | value                          | what the node's ranks do                            |
/// | ----------------- | ------------------------------ | --------------------------------------------------- |
/// | delay             | `30%`, `20ms`, `1.5s`          | every iteration takes that much longer              |
/// | rate              | `200Mbit`, `10Gbit`, `25MB`, … | an emulated link, per second; bits or bytes         |
/// | exit              | exit code, 1 when left out     | exit when they are about to connect                 |
/// | crash             |                                | SIGSEGV in the middle of the timed iterations       |
/// | never_starts      |                                | are never started                                   |
/// | sleep_before_init | `90s`, one hour when left out  | start, and sleep before they say where they are     |
/// | sigstop           |                                | SIGSTOP in the middle of the timed iterations       |
/// | corrupt           |                                | one wrong element in the result                     |
struct Injection {
  std::string text;  ///< as it was written, for every output of the run
  std::vector<std::string> nodes;
  probes::RankFaults faults;
};

/// Throws InputError with what was expected and the nearest kind.
Injection parse_injection(std::string_view text);

/// The faults of each node; those of several injections add up, and of one kind the last wins. Throws InputError for a
/// node that is not among `hosts`.
std::map<std::string, probes::RankFaults> faults_by_node(std::span<const Injection> injections,
                                                         std::span<const std::string> hosts);

}  // namespace weft::launch
