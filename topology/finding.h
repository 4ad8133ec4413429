#pragma once

#include <string>
#include <vector>

namespace weft {

enum class Severity { note, minor, major, critical };

/// One line of proof: where it was seen (a probe, `file:line`, a counter of a host) and what was seen there.
struct Evidence {
  std::string where;
  std::string what;
  bool operator==(const Evidence&) const = default;
};

/// The one currency of every command. `kind` is a stable lower-case class name such as `slow-node`, `split-launch`
/// or `wrong-data`; texts are complete sentences for a person.
struct Finding {
  std::string kind;
  Severity severity = Severity::note;
  std::string subject;                ///< who it is about: a node, `gpu007 rail 3`, `su1 <-> su2`, or the run
  std::string summary;                ///< measured against expected, in one sentence
  std::vector<std::string> suspects;  ///< who may be guilty
  std::vector<std::string> victims;   ///< who only waited
  std::vector<Evidence> evidence;
  std::string likely_cause;
  std::string next_step;
  std::string alert;  ///< the PromQL alert that would have caught it; empty where there is none
  bool operator==(const Finding&) const = default;
};

const char* to_string(Severity severity);

}  // namespace weft
