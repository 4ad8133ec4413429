#include "bisect/verdict.h"

#include <fmt/format.h>

namespace weft::bisect {
namespace {

std::string with_rail(std::string name, const std::optional<int>& rail) {
  if (rail) name += fmt::format(" rail {}", *rail);
  return name;
}

std::string joined(const std::vector<std::string>& names, const char* separator) {
  return fmt::format("{}", fmt::join(names, separator));
}

}  // namespace

const char* to_string(CulpritKind kind) {
  switch (kind) {
    case CulpritKind::node:
      return "node";
    case CulpritKind::rail:
      return "rail";
    case CulpritKind::leaf:
      return "leaf";
    case CulpritKind::uplink:
      return "uplink";
    case CulpritKind::path:
      return "path";
    case CulpritKind::pair:
      return "pair";
    case CulpritKind::scale:
      return "scale";
    case CulpritKind::crash:
      return "crash";
    case CulpritKind::hang:
      return "hang";
    case CulpritKind::corrupt:
      return "corrupt";
    case CulpritKind::unreachable:
      return "unreachable";
  }
  return "node";
}

const char* to_string(Baseline::Source source) {
  switch (source) {
    case Baseline::Source::flag:
      return "flag";
    case Baseline::Source::fabric:
      return "fabric";
    case Baseline::Source::history:
      return "history";
    case Baseline::Source::peers:
      return "peers";
    case Baseline::Source::model:
      return "model";
  }
  return "peers";
}

const char* to_string(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::healthy:
      return "healthy";
    case Verdict::Kind::degraded:
      return "degraded";
    case Verdict::Kind::inconclusive:
      return "inconclusive";
    case Verdict::Kind::failed:
      return "failed";
  }
  return "inconclusive";
}

std::string describe(const Culprit& culprit) {
  switch (culprit.kind) {
    case CulpritKind::node:
      return "node " + culprit.node;
    case CulpritKind::rail:
      return with_rail(culprit.node, culprit.rail);
    case CulpritKind::leaf:
      return with_rail("leaf of " + culprit.unit, culprit.rail);
    case CulpritKind::uplink:
      return with_rail("uplink of " + culprit.unit, culprit.rail);
    case CulpritKind::path:
      return with_rail("path " + joined(culprit.units, " <-> "), culprit.rail);
    case CulpritKind::pair:
      return "pair " + joined(culprit.nodes, " + ");
    case CulpritKind::scale:
      return culprit.min_nodes ? fmt::format("from {} nodes on", *culprit.min_nodes) : "from some size on";
    case CulpritKind::crash:
      return "crash on " + culprit.node;
    case CulpritKind::hang:
      return "hang on " + culprit.node;
    case CulpritKind::corrupt:
      return "wrong data from " + culprit.node;
    case CulpritKind::unreachable:
      return culprit.node + " unreachable";
  }
  return culprit.node;
}

CulpritKind kind_of_failure(probes::Status failure) {
  switch (failure) {
    case probes::Status::failed:
      return CulpritKind::crash;
    case probes::Status::hung:
      return CulpritKind::hang;
    case probes::Status::corrupt:
      return CulpritKind::corrupt;
    default:
      return CulpritKind::node;
  }
}

}  // namespace weft::bisect
