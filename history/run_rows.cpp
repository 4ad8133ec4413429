#include "history/run_rows.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "history/enum_names.h"
#include "history/record_json.h"
#include "topology/error.h"
#include "topology/hostlist.h"

namespace weft::history {
namespace {

using json = nlohmann::ordered_json;

/// Gives each node name its number, once per transaction and name.
class NodeNumbers {
 public:
  explicit NodeNumbers(Database& database)
      : insert_(database.prepare("INSERT INTO node (name) VALUES (?) ON CONFLICT DO NOTHING")),
        select_(database.prepare("SELECT id FROM node WHERE name = ?")) {}

  std::int64_t of(const std::string& name) {
    if (select_.bind(name).step()) return select_.integer(0);
    insert_.run(name);
    select_.bind(name).step();
    return select_.integer(0);
  }

 private:
  Statement insert_;
  Statement select_;
};

struct ProbeStatements {
  explicit ProbeStatements(Database& database)
      : probe(database.prepare(
            "INSERT INTO probe (run, round, position, hosts, node_count, rail, op, bytes, ranks, status, stage, "
            "reason, "
            "time_s, algbw_gbps, busbw_gbps, wall_s, notes) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")),
        member(database.prepare("INSERT INTO probe_node (probe, position, node) VALUES (?,?,?)")),
        sample(database.prepare("INSERT INTO sample (probe, iteration, seconds) VALUES (?,?,?)")),
        fault(database.prepare("INSERT INTO node_fault (probe, position, node, rank, stage, what) "
                               "VALUES (?,?,?,?,?,?)")),
        nodes(database) {}

  Statement probe;
  Statement member;
  Statement sample;
  Statement fault;
  NodeNumbers nodes;
};

void insert_probe(Database& database, ProbeStatements& statements, std::int64_t run, int round, std::size_t position,
                  const probes::Measurement& measurement) {
  statements.probe.run(run, round, position, topology::fold_hostlist(measurement.group.nodes),
                       measurement.group.nodes.size(), measurement.group.rail, to_string(measurement.op),
                       measurement.bytes, measurement.ranks, to_string(measurement.status),
                       to_string(measurement.stage), measurement.reason, measurement.time_s, measurement.algbw_gbps,
                       measurement.busbw_gbps, measurement.wall_s, strings_to_line(measurement.notes));
  const std::int64_t probe = database.last_insert_id();
  for (std::size_t i = 0; i < measurement.group.nodes.size(); ++i)
    statements.member.run(probe, i, statements.nodes.of(measurement.group.nodes[i]));
  for (std::size_t i = 0; i < measurement.iteration_s.size(); ++i)
    statements.sample.run(probe, i, measurement.iteration_s[i]);
  for (std::size_t i = 0; i < measurement.node_faults.size(); ++i) {
    const probes::NodeFault& fault = measurement.node_faults[i];
    statements.fault.run(probe, i, fault.node, fault.rank, to_string(fault.stage), fault.what);
  }
}

void insert_culprits(Database& database, std::int64_t run, const std::vector<bisect::Culprit>& culprits) {
  Statement insert = database.prepare(
      "INSERT INTO culprit (run, position, kind, label, node, rail, unit, units, nodes, min_nodes, measured_gbps, "
      "expected_gbps, slowdown, confidence) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (std::size_t i = 0; i < culprits.size(); ++i) {
    const bisect::Culprit& culprit = culprits[i];
    insert.run(run, i, to_string(culprit.kind), describe(culprit), culprit.node, culprit.rail, culprit.unit,
               strings_to_line(culprit.units), strings_to_line(culprit.nodes), culprit.min_nodes, culprit.measured_gbps,
               culprit.expected_gbps, culprit.slowdown, culprit.confidence);
  }
}

void insert_findings(Database& database, std::int64_t run, const std::vector<Finding>& findings) {
  Statement insert = database.prepare(
      "INSERT INTO finding (run, position, kind, severity, subject, summary, suspects, victims, evidence, "
      "likely_cause, next_step, alert) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)");
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i];
    insert.run(run, i, finding.kind, to_string(finding.severity), finding.subject, finding.summary,
               strings_to_line(finding.suspects), strings_to_line(finding.victims), to_line(encode(finding.evidence)),
               finding.likely_cause, finding.next_step, finding.alert);
  }
}

// ---- reading

template <typename Enum>
Enum required(const std::optional<Enum>& value, const std::string& name) {
  if (!value) throw std::invalid_argument("unknown name " + in_quotes(name));
  return *value;
}

std::optional<int> small(const std::optional<std::int64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<int>(*value);
}

/// Columns are taken one after the other, in the order of the SELECT.
class Columns {
 public:
  explicit Columns(const Statement& row) : row_(row) {}
  std::string text() { return row_.text(next_++); }
  std::int64_t integer() { return row_.integer(next_++); }
  int small_integer() { return row_.small_integer(next_++); }
  double real() { return row_.real(next_++); }
  std::optional<double> optional_real() { return row_.optional_real(next_++); }
  std::optional<int> optional_small_integer() { return small(row_.optional_integer(next_++)); }
  std::vector<std::string> strings() {
    const std::string line = text();
    return line.empty() ? std::vector<std::string>{} : strings_from_line(line);
  }

 private:
  const Statement& row_;
  int next_ = 0;
};

probes::ProbeSpec read_spec(Columns& columns) {
  probes::ProbeSpec spec;
  const std::string op = columns.text();
  spec.op = required(probes::op_from_string(op), op);
  spec.bytes = static_cast<std::uint64_t>(columns.integer());
  spec.iterations = columns.small_integer();
  spec.warm_up_iterations = columns.small_integer();
  spec.gpus_per_node = columns.small_integer();
  spec.timeouts.start_s = columns.real();
  spec.timeouts.rendezvous_s = columns.real();
  spec.timeouts.init_s = columns.real();
  spec.timeouts.warm_up_s = columns.real();
  spec.timeouts.run_s = columns.real();
  return spec;
}

bisect::RunInfo read_info(Columns& columns) {
  bisect::RunInfo info;
  info.id = columns.integer();
  info.started_at = columns.text();
  info.version = columns.text();
  info.user = columns.text();
  info.controller_host = columns.text();
  info.command_line = columns.strings();
  info.prober = columns.text();
  info.launcher = columns.text();
  info.fabric_file = columns.text();
  info.fabric_text = columns.text();
  info.spec = read_spec(columns);
  info.injected = columns.strings();
  return info;
}

std::optional<bisect::Baseline> read_baseline(Columns& columns) {
  const double busbw_gbps = columns.real();
  const std::string source = columns.text();
  if (source.empty()) return std::nullopt;
  return bisect::Baseline{busbw_gbps, required(baseline_source_from_string(source), source)};
}

bisect::Verdict read_verdict(Columns& columns) {
  bisect::Verdict verdict;
  const std::string kind = columns.text();
  if (!kind.empty()) verdict.kind = required(verdict_kind_from_string(kind), kind);
  verdict.why = columns.text();
  verdict.baseline = read_baseline(columns);
  verdict.whole_gbps = columns.optional_real();
  verdict.rest_gbps = columns.optional_real();
  verdict.asked = columns.small_integer();
  verdict.measured = columns.small_integer();
  verdict.skipped = columns.small_integer();
  verdict.failed = columns.small_integer();
  verdict.cleared = columns.strings();
  const std::string unresolved = columns.text();
  if (!unresolved.empty()) verdict.unresolved = decode_unresolved(json::parse(unresolved));
  return verdict;
}

std::vector<bisect::Culprit> select_culprits(Database& database, std::int64_t run) {
  Statement select = database.prepare(
      "SELECT kind, node, rail, unit, units, nodes, min_nodes, measured_gbps, expected_gbps, slowdown, confidence "
      "FROM culprit WHERE run = ? ORDER BY position");
  std::vector<bisect::Culprit> culprits;
  select.bind(run);
  while (select.step()) {
    Columns columns(select);
    bisect::Culprit culprit;
    const std::string kind = columns.text();
    culprit.kind = required(culprit_kind_from_string(kind), kind);
    culprit.node = columns.text();
    culprit.rail = columns.optional_small_integer();
    culprit.unit = columns.text();
    culprit.units = columns.strings();
    culprit.nodes = columns.strings();
    culprit.min_nodes = columns.optional_small_integer();
    culprit.measured_gbps = columns.optional_real();
    culprit.expected_gbps = columns.optional_real();
    culprit.slowdown = columns.optional_real();
    culprit.confidence = columns.real();
    culprits.push_back(std::move(culprit));
  }
  return culprits;
}

std::vector<Finding> select_findings(Database& database, std::int64_t run) {
  Statement select = database.prepare(
      "SELECT kind, severity, subject, summary, suspects, victims, evidence, likely_cause, next_step, alert "
      "FROM finding WHERE run = ? ORDER BY position");
  std::vector<Finding> findings;
  select.bind(run);
  while (select.step()) {
    Columns columns(select);
    Finding finding;
    finding.kind = columns.text();
    const std::string severity = columns.text();
    finding.severity = required(severity_from_string(severity), severity);
    finding.subject = columns.text();
    finding.summary = columns.text();
    finding.suspects = columns.strings();
    finding.victims = columns.strings();
    finding.evidence = decode_evidence(json::parse(columns.text()));
    finding.likely_cause = columns.text();
    finding.next_step = columns.text();
    finding.alert = columns.text();
    findings.push_back(std::move(finding));
  }
  return findings;
}

/// The small tables that hang on a probe.
struct ProbeParts {
  explicit ProbeParts(Database& database)
      : members(database.prepare("SELECT node.name FROM probe_node JOIN node ON node.id = probe_node.node "
                                 "WHERE probe = ? ORDER BY position")),
        samples(database.prepare("SELECT seconds FROM sample WHERE probe = ? ORDER BY iteration")),
        faults(database.prepare("SELECT node, rank, stage, what FROM node_fault WHERE probe = ? ORDER BY position")) {}

  void read(std::int64_t probe, probes::Measurement& measurement) {
    members.bind(probe);
    while (members.step())
      measurement.group.nodes.push_back(members.text(0));
    samples.bind(probe);
    while (samples.step())
      measurement.iteration_s.push_back(samples.real(0));
    faults.bind(probe);
    while (faults.step()) {
      const std::string stage = faults.text(2);
      measurement.node_faults.push_back(
          {faults.text(0), faults.small_integer(1), required(probes::stage_from_string(stage), stage), faults.text(3)});
    }
  }

  Statement members;
  Statement samples;
  Statement faults;
};

std::vector<probes::Measurement> select_measurements(Database& database, ProbeParts& parts, std::int64_t run,
                                                     int round) {
  Statement select = database.prepare(
      "SELECT id, rail, op, bytes, ranks, status, stage, reason, time_s, algbw_gbps, busbw_gbps, wall_s, notes "
      "FROM probe WHERE run = ? AND round = ? ORDER BY position");
  std::vector<probes::Measurement> measurements;
  select.bind(run, round);
  while (select.step()) {
    Columns columns(select);
    probes::Measurement measurement;
    const std::int64_t probe = columns.integer();
    measurement.group.rail = columns.optional_small_integer();
    const std::string op = columns.text();
    measurement.op = required(probes::op_from_string(op), op);
    measurement.bytes = static_cast<std::uint64_t>(columns.integer());
    measurement.ranks = columns.small_integer();
    const std::string status = columns.text();
    measurement.status = required(probes::status_from_string(status), status);
    const std::string stage = columns.text();
    measurement.stage = required(probes::stage_from_string(stage), stage);
    measurement.reason = columns.text();
    measurement.time_s = columns.real();
    measurement.algbw_gbps = columns.real();
    measurement.busbw_gbps = columns.real();
    measurement.wall_s = columns.real();
    measurement.notes = columns.strings();
    parts.read(probe, measurement);
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

std::vector<bisect::RoundResult> select_rounds(Database& database, std::int64_t run) {
  Statement select = database.prepare("SELECT number, purpose, wall_s FROM round WHERE run = ? ORDER BY number");
  ProbeParts parts(database);
  std::vector<bisect::RoundResult> rounds;
  select.bind(run);
  while (select.step()) {
    bisect::RoundResult result;
    result.round.number = select.small_integer(0);
    result.round.purpose = select.text(1);
    result.wall_s = select.real(2);
    result.measurements = select_measurements(database, parts, run, result.round.number);
    for (const probes::Measurement& measurement : result.measurements)
      result.round.groups.push_back(measurement.group);
    rounds.push_back(std::move(result));
  }
  return rounds;
}

std::vector<std::string> select_hosts(Database& database, std::int64_t run) {
  Statement select = database.prepare(
      "SELECT node.name FROM run_node JOIN node ON node.id = run_node.node WHERE run = ? ORDER BY position");
  std::vector<std::string> hosts;
  select.bind(run);
  while (select.step())
    hosts.push_back(select.text(0));
  return hosts;
}

}  // namespace

std::string host_set_key(std::vector<std::string> hosts) {
  std::ranges::sort(hosts);
  return topology::fold_hostlist(hosts);
}

std::int64_t insert_run(Database& database, const bisect::RunInfo& info) {
  const probes::ProbeSpec& spec = info.spec;
  database
      .prepare(
          "INSERT INTO run (state, started_at, version, user, controller_host, controller_pid, command_line, prober, "
          "launcher, fabric_file, fabric_text, hosts, host_set, node_count, op, bytes, iterations, warm_up_iterations, "
          "gpus_per_node, start_timeout_s, rendezvous_timeout_s, init_timeout_s, warm_up_timeout_s, run_timeout_s, "
          "injected) VALUES ('running',?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
      .run(info.started_at, info.version, info.user, info.controller_host, ::getpid(),
           strings_to_line(info.command_line), info.prober, info.launcher, info.fabric_file, info.fabric_text,
           topology::fold_hostlist(info.hosts), host_set_key(info.hosts), info.hosts.size(), to_string(spec.op),
           spec.bytes, spec.iterations, spec.warm_up_iterations, spec.gpus_per_node, spec.timeouts.start_s,
           spec.timeouts.rendezvous_s, spec.timeouts.init_s, spec.timeouts.warm_up_s, spec.timeouts.run_s,
           strings_to_line(info.injected));
  const std::int64_t run = database.last_insert_id();
  NodeNumbers nodes(database);
  Statement member = database.prepare("INSERT INTO run_node (run, position, node) VALUES (?,?,?)");
  for (std::size_t i = 0; i < info.hosts.size(); ++i)
    member.run(run, i, nodes.of(info.hosts[i]));
  return run;
}

void insert_round(Database& database, std::int64_t run, const bisect::RoundResult& round) {
  database.prepare("INSERT INTO round (run, number, purpose, wall_s) VALUES (?,?,?,?)")
      .run(run, round.round.number, round.round.purpose, round.wall_s);
  ProbeStatements statements(database);
  for (std::size_t i = 0; i < round.measurements.size(); ++i)
    insert_probe(database, statements, run, round.round.number, i, round.measurements[i]);
}

void write_conclusion(Database& database, std::int64_t run, const bisect::RunResult& result) {
  const bisect::Verdict& verdict = result.verdict;
  const auto baseline_gbps = verdict.baseline ? std::optional(verdict.baseline->busbw_gbps) : std::nullopt;
  const auto source = verdict.baseline ? std::optional(to_string(verdict.baseline->source)) : std::nullopt;
  database
      .prepare(
          "UPDATE run SET state = ?, wall_s = ?, notes = ?, verdict = ?, why = ?, baseline_gbps = ?, "
          "baseline_source = ?, whole_gbps = ?, rest_gbps = ?, asked = ?, measured = ?, skipped = ?, failed = ?, "
          "cleared = ?, unresolved = ? WHERE id = ?")
      .run(result.interrupted ? "interrupted" : "finished", result.wall_s, strings_to_line(result.notes),
           to_string(verdict.kind), verdict.why, baseline_gbps, source, verdict.whole_gbps, verdict.rest_gbps,
           verdict.asked, verdict.measured, verdict.skipped, verdict.failed, strings_to_line(verdict.cleared),
           to_line(encode(verdict.unresolved)), run);
  insert_culprits(database, run, verdict.culprits);
  insert_findings(database, run, verdict.findings);
}

std::optional<RunRows> select_run(Database& database, std::int64_t run) {
  Statement select = database.prepare(
      "SELECT state, controller_pid, wall_s, notes, id, started_at, version, user, controller_host, command_line, "
      "prober, "
      "launcher, fabric_file, fabric_text, op, bytes, iterations, warm_up_iterations, gpus_per_node, start_timeout_s, "
      "rendezvous_timeout_s, init_timeout_s, warm_up_timeout_s, run_timeout_s, injected, verdict, why, baseline_gbps, "
      "baseline_source, whole_gbps, rest_gbps, asked, measured, skipped, failed, cleared, unresolved "
      "FROM run WHERE id = ?");
  constexpr int kVerdictColumn = 25;
  if (!select.bind(run).step()) return std::nullopt;
  try {
    RunRows rows;
    Columns columns(select);
    rows.state = columns.text();
    rows.controller_pid = static_cast<long>(columns.integer());
    rows.result.wall_s = columns.real();
    rows.result.notes = columns.strings();
    rows.result.info = read_info(columns);
    rows.result.info.hosts = select_hosts(database, run);
    rows.result.verdict = read_verdict(columns);
    rows.result.verdict.culprits = select_culprits(database, run);
    rows.result.verdict.findings = select_findings(database, run);
    rows.result.rounds = select_rounds(database, run);
    rows.concluded = !select.is_null(kVerdictColumn);
    rows.result.interrupted = rows.state == "interrupted";
    return rows;
  } catch (const nlohmann::json::exception& error) {
    throw RunError({std::string("the history is damaged: ") + error.what(), database.path(), "", ""});
  } catch (const std::invalid_argument& error) {
    throw RunError({std::string("the history is damaged: ") + error.what(), database.path(), "", ""});
  }
}

}  // namespace weft::history
