#include "topology/finding.h"

namespace weft {

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::minor:
      return "minor";
    case Severity::major:
      return "major";
    case Severity::critical:
      return "critical";
  }
  return "note";
}

}  // namespace weft
