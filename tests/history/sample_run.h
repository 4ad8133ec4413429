#pragma once

#include <limits>
#include <string>
#include <vector>

#include "bisect/run.h"

namespace weft::history {

/// A run that uses every field there is, with doubles that no short decimal gives exactly.
inline bisect::RunInfo sample_info() {
  bisect::RunInfo info;
  info.started_at = "2026-03-01T02:03:04Z";
  info.command_line = {"weft", "bisect", "--hosts", "gpu[001-003]", "--command", "all_reduce_perf 'a b'"};
  info.version = "0.1.0";
  info.user = "oncall";
  info.controller_host = "bastion.example";
  info.prober = "gloo";
  info.launcher = "ssh";
  info.fabric_file = "fabric.yaml";
  info.fabric_text = "fabric: a\nunits: []\n";
  info.hosts = {"gpu003", "gpu001", "gpu002"};  // an order that folding would lose
  info.spec.op = probes::Op::all_gather;
  info.spec.bytes = std::uint64_t{1} << 40;
  info.spec.iterations = 7;
  info.spec.warm_up_iterations = 2;
  info.spec.gpus_per_node = 8;
  info.spec.timeouts = {0.1, 0.2, 0.3, 1.0 / 3, 120};
  info.injected = {"gpu002:delay=30%"};
  return info;
}

inline probes::Measurement sample_ok(std::vector<std::string> nodes, double busbw_gbps) {
  probes::Measurement measurement;
  measurement.group.nodes = std::move(nodes);
  measurement.op = probes::Op::all_gather;
  measurement.bytes = std::uint64_t{1} << 40;
  measurement.ranks = static_cast<int>(measurement.group.nodes.size()) * 8;
  measurement.status = probes::Status::ok;
  measurement.iteration_s = {0.1, 1.0 / 3, std::numeric_limits<double>::denorm_min(), 1e300};
  measurement.time_s = 2.0 / 3;
  measurement.algbw_gbps = 0.1 + 0.2;
  measurement.busbw_gbps = busbw_gbps;
  measurement.wall_s = 1.1;
  measurement.notes = {"data not verified", "naïve “quotes”"};
  return measurement;
}

inline bisect::RoundResult sample_round(int number, std::vector<probes::Measurement> measurements) {
  bisect::RoundResult round;
  round.round.number = number;
  round.round.purpose = "pairs";
  for (const probes::Measurement& measurement : measurements)
    round.round.groups.push_back(measurement.group);
  round.measurements = std::move(measurements);
  round.wall_s = 4.2;
  return round;
}

inline bisect::RoundResult sample_failed_round(int number) {
  probes::Measurement hung;
  hung.group = {{"gpu002", "gpu001"}, 3};
  hung.status = probes::Status::hung;
  hung.stage = probes::Stage::rendezvous;
  hung.reason = "gpu002 did not arrive\nwithin 20 s";
  hung.node_faults = {{"gpu002", 8, probes::Stage::init, "killed by signal 11"},
                      {"gpu002", -1, probes::Stage::none, ""}};
  probes::Measurement refused;
  refused.group.nodes = {"gpu003"};
  refused.reason = "cancelled";
  return sample_round(number, {hung, refused});
}

inline bisect::Verdict sample_verdict() {
  bisect::Culprit rail;
  rail.kind = bisect::CulpritKind::rail;
  rail.node = "gpu002";
  rail.rail = 3;
  rail.measured_gbps = 152.1;
  rail.expected_gbps = 372.0;
  rail.slowdown = 372.0 / 152.1;
  rail.confidence = 0.99;
  bisect::Culprit path;
  path.kind = bisect::CulpritKind::path;
  path.units = {"su1", "su2"};
  bisect::Culprit scale;
  scale.kind = bisect::CulpritKind::scale;
  scale.min_nodes = 48;
  bisect::Culprit pair;
  pair.kind = bisect::CulpritKind::pair;
  pair.nodes = {"gpu001", "gpu003"};

  bisect::Verdict verdict;
  verdict.kind = bisect::Verdict::Kind::degraded;
  verdict.why = "gpu002 is slow on rail 3 with each of 2 partners";
  verdict.culprits = {rail, path, scale};
  verdict.unresolved = {{{pair, path}, probes::Group{{"gpu001", "gpu009"}, 1}}, {{scale}, std::nullopt}};
  verdict.cleared = {"gpu001", "gpu003"};
  verdict.baseline = bisect::Baseline{371.9, bisect::Baseline::Source::fabric};
  verdict.whole_gbps = 152.0;
  verdict.asked = 3;
  verdict.measured = 2;
  verdict.skipped = 1;
  Finding finding;
  finding.kind = "slow-rail";
  finding.severity = Severity::major;
  finding.subject = "gpu002 rail 3";
  finding.summary = "152 GB/s, expected 372 GB/s.";
  finding.suspects = {"gpu002"};
  finding.victims = {"gpu001"};
  finding.evidence = {{"round 3", "152 GB/s"}, {"counters:12", "symbol errors 17"}};
  finding.likely_cause = "a cable";
  finding.next_step = "reseat it";
  finding.alert = "rate(x[5m]) > 1";
  verdict.findings = {finding, Finding{}};
  return verdict;
}

inline bisect::RunResult sample_run() {
  bisect::RunResult run;
  run.info = sample_info();
  run.rounds = {sample_round(1, {sample_ok({"gpu003", "gpu001", "gpu002"}, 152.1)}), sample_failed_round(2)};
  run.verdict = sample_verdict();
  run.wall_s = 38.2;
  run.notes = {"a note"};
  return run;
}

/// A healthy run over `hosts`, whose whole set reached `busbw_gbps`.
inline bisect::RunResult healthy_run(std::vector<std::string> hosts, double busbw_gbps) {
  bisect::RunResult run;
  run.info = sample_info();
  run.info.hosts = std::move(hosts);
  run.info.injected.clear();
  run.verdict.kind = bisect::Verdict::Kind::healthy;
  run.verdict.why = "every node keeps up";
  run.verdict.whole_gbps = busbw_gbps;
  return run;
}

}  // namespace weft::history
