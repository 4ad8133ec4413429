#pragma once

#include <map>
#include <string>
#include <vector>

#include "bisect/run.h"
#include "topology/hostlist.h"

namespace weft::report {

inline probes::Measurement measured(const std::string& hosts, double busbw_gbps, double wall_s = 1.5) {
  probes::Measurement measurement;
  measurement.group.nodes = topology::expand_hostlist(hosts);
  measurement.bytes = std::uint64_t{1} << 30;
  measurement.ranks = static_cast<int>(measurement.group.nodes.size()) * 8;
  measurement.status = probes::Status::ok;
  measurement.busbw_gbps = busbw_gbps;
  measurement.wall_s = wall_s;
  return measurement;
}

inline probes::Measurement without_figure(const std::string& hosts, probes::Status status) {
  probes::Measurement measurement;
  measurement.group.nodes = topology::expand_hostlist(hosts);
  measurement.status = status;
  measurement.stage = probes::Stage::rendezvous;
  measurement.reason = "no answer for 20 s";
  measurement.node_faults = {{measurement.group.nodes[0], 0, probes::Stage::init, "killed by signal 11"}};
  measurement.wall_s = 20;
  return measurement;
}

inline bisect::RoundResult round_of(int number, const std::string& purpose,
                                    std::vector<probes::Measurement> measurements, double wall_s) {
  bisect::RoundResult round;
  round.round = {number, purpose, {}};
  for (const probes::Measurement& measurement : measurements)
    round.round.groups.push_back(measurement.group);
  round.measurements = std::move(measurements);
  round.wall_s = wall_s;
  return round;
}

inline bisect::Culprit slow(bisect::CulpritKind kind, double measured_gbps, double expected_gbps) {
  bisect::Culprit culprit;
  culprit.kind = kind;
  culprit.measured_gbps = measured_gbps;
  culprit.expected_gbps = expected_gbps;
  culprit.slowdown = expected_gbps / measured_gbps;
  culprit.confidence = 0.99;
  return culprit;
}

inline bisect::Culprit slow_node(const std::string& node) {
  bisect::Culprit culprit = slow(bisect::CulpritKind::node, 152, 372);
  culprit.node = node;
  return culprit;
}

inline bisect::RunResult run_over(const std::string& hosts) {
  bisect::RunResult run;
  run.info.id = 42;
  run.info.started_at = "2026-03-01T02:03:04Z";
  run.info.command_line = {"weft", "bisect", "--hosts", hosts, "--fabric", "fabric.yaml", "--probe", "nccl"};
  run.info.prober = "nccl";
  run.info.launcher = "ssh";
  run.info.fabric_file = "fabric.yaml";
  run.info.hosts = topology::expand_hostlist(hosts);
  run.info.spec.bytes = std::uint64_t{1} << 30;
  run.info.spec.gpus_per_node = 8;
  run.verdict.asked = static_cast<int>(run.info.hosts.size());
  run.verdict.measured = run.verdict.asked;
  run.wall_s = 38.24;
  return run;
}

/// One slow node of 64.
inline bisect::RunResult degraded_run() {
  bisect::RunResult run = run_over("gpu[001-064]");
  run.rounds = {
      round_of(1, "whole set", {measured("gpu[001-064]", 152, 4.1)}, 4.1),
      round_of(2, "pairs",
               {measured("gpu[001-002]", 371), measured("gpu[003-004]", 373), measured("gpu[007-008]", 153.2)}, 2.5),
      round_of(3, "partners", {measured("gpu[001,007]", 151.8), measured("gpu[002,008]", 372)}, 1.75),
      round_of(4, "rest alone", {measured("gpu[001-006,008-064]", 370.6)}, 4.3)};
  run.verdict.kind = bisect::Verdict::Kind::degraded;
  run.verdict.why = "gpu007 is slow with each of 2 partners, both of which are well with others.";
  run.verdict.culprits = {slow_node("gpu007")};
  run.verdict.baseline = bisect::Baseline{372, bisect::Baseline::Source::fabric};
  run.verdict.whole_gbps = 152;
  run.verdict.rest_gbps = 370.6;
  return run;
}

inline bisect::RunResult healthy_run() {
  bisect::RunResult run = run_over("gpu[001-004]");
  run.rounds = {round_of(1, "whole set", {measured("gpu[001-004]", 371, 4.1)}, 4.1)};
  run.verdict.kind = bisect::Verdict::Kind::healthy;
  run.verdict.why = "All 4 nodes together reach what is expected.";
  run.verdict.baseline = bisect::Baseline{372, bisect::Baseline::Source::history};
  run.verdict.whole_gbps = 371;
  run.wall_s = 4.2;
  return run;
}

/// Two nodes, one of them bad, and nobody to ask.
inline bisect::RunResult inconclusive_run() {
  bisect::RunResult run = run_over("node[1-2]");
  run.info.id = 0;
  run.info.prober = "gloo";
  run.info.launcher = "local";
  run.info.fabric_file.clear();
  run.info.command_line = {"weft", "bisect", "--nodes", "2", "--bytes", "4M", "--inject", "node2:delay=30%"};
  run.info.spec.bytes = 4 << 20;
  run.info.spec.gpus_per_node = 1;
  run.info.injected = {"node2:delay=30%"};
  run.rounds = {round_of(1, "whole set", {measured("node[1-2]", 0.0248, 0.3)}, 0.35)};
  run.verdict.kind = bisect::Verdict::Kind::inconclusive;
  run.verdict.why = "node1 and node2 are slow together, and two nodes cannot tell which. A third node would.";
  bisect::Culprit first;
  first.node = "node1";
  bisect::Culprit second;
  second.node = "node2";
  run.verdict.unresolved = {{{first, second}, probes::Group{{"node1", "node3"}, std::nullopt}}};
  run.verdict.whole_gbps = 0.0248;
  run.wall_s = 0.4;
  run.notes = {"there is no fabric file: every node counts as being in one unit"};
  return run;
}

inline bisect::RunResult failed_run() {
  bisect::RunResult run = run_over("gpu[1-3]");
  run.rounds = {round_of(1, "whole set", {without_figure("gpu[1-3]", probes::Status::hung)}, 20)};
  run.interrupted = true;
  run.verdict.kind = bisect::Verdict::Kind::failed;
  run.verdict.why = "No probe gave a figure.";
  run.verdict.measured = 0;
  run.verdict.skipped = 2;
  run.verdict.failed = 1;
  run.wall_s = 20.1;
  return run;
}

/// Every kind of culprit, unresolved sets with and without a probe, findings, and text that wants to drive a terminal.
inline bisect::RunResult crowded_run() {
  using bisect::CulpritKind;
  bisect::RunResult run = degraded_run();
  std::vector<bisect::Culprit> culprits = {slow_node("gpu007"), slow_node("gpu009")};
  bisect::Culprit rail = slow(CulpritKind::rail, 20.1, 46.4);
  rail.node = "gpu011";
  rail.rail = 3;
  bisect::Culprit leaf = slow(CulpritKind::leaf, 24, 46.4);
  leaf.unit = "su1";
  leaf.rail = 2;
  bisect::Culprit uplink = slow(CulpritKind::uplink, 24, 46.4);
  uplink.unit = "su2";
  uplink.rail = 2;
  bisect::Culprit path = slow(CulpritKind::path, 24, 46.4);
  path.units = {"su1", "su2"};
  bisect::Culprit pair = slow(CulpritKind::pair, 24, 46.4);
  pair.nodes = {"gpu001", "gpu013"};
  bisect::Culprit scale = slow(CulpritKind::scale, 110, 372);
  scale.min_nodes = 48;
  culprits.insert(culprits.end(), {rail, leaf, uplink, path, pair, scale});
  for (const CulpritKind kind :
       {CulpritKind::crash, CulpritKind::hang, CulpritKind::corrupt, CulpritKind::unreachable}) {
    bisect::Culprit broken;
    broken.kind = kind;
    broken.node = "gpu05" + std::to_string(static_cast<int>(kind) - static_cast<int>(CulpritKind::crash));
    broken.confidence = 0.999;
    culprits.push_back(broken);
  }
  run.rounds.push_back(round_of(
      5, "rails",
      {without_figure("gpu[050-051]", probes::Status::hung), without_figure("gpu[052-053]", probes::Status::failed),
       without_figure("gpu[054-055]", probes::Status::failed)},
      20));
  run.verdict.culprits = culprits;
  run.verdict.unresolved = {{{pair, rail}, probes::Group{{"gpu001", "gpu011"}, 3}}, {{scale}, std::nullopt}};
  Finding finding;
  finding.kind = "split-launch";
  finding.severity = Severity::major;
  finding.subject = "gpu011";
  finding.summary = "said \x1b[2J\x07 and \"\xff\"";
  finding.evidence = {{"round 5", "line\none"}, {"a", "b"}, {"c", "d"}, {"e", "not shown"}};
  finding.likely_cause = "a stale build";
  finding.next_step = "build again";
  run.verdict.findings = {finding};
  run.verdict.measured = 62;
  run.verdict.skipped = 1;
  run.verdict.failed = 1;
  return run;
}

inline std::map<std::string, bisect::RunResult> sample_runs() {
  return {{"degraded", degraded_run()}, {"healthy", healthy_run()}, {"inconclusive", inconclusive_run()},
          {"failed", failed_run()},     {"crowded", crowded_run()}, {"empty", {}}};
}

}  // namespace weft::report
