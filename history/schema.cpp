#include "history/schema.h"

#include <array>

#include <fmt/format.h>

#include "topology/error.h"

namespace weft::history {
namespace {

/// "weft" in ASCII: tells our files from those of other programs
/// (https://www.sqlite.org/pragma.html#pragma_application_id).
constexpr int kApplicationId = 0x77656674;

constexpr const char* kVersion1 = R"sql(
CREATE TABLE node (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

-- AUTOINCREMENT: the number of a run that was pruned is never given to another one.
CREATE TABLE run (
  id                   INTEGER PRIMARY KEY AUTOINCREMENT,
  state                TEXT NOT NULL CHECK (state IN ('running', 'finished', 'interrupted')),
  started_at           TEXT NOT NULL,
  version              TEXT NOT NULL,
  user                 TEXT NOT NULL,
  controller_host      TEXT NOT NULL,
  controller_pid       INTEGER NOT NULL,
  command_line         TEXT NOT NULL,
  prober               TEXT NOT NULL,
  launcher             TEXT NOT NULL,
  fabric_file          TEXT NOT NULL,
  fabric_text          TEXT NOT NULL,
  hosts                TEXT NOT NULL,
  host_set             TEXT NOT NULL,
  node_count           INTEGER NOT NULL,
  op                   TEXT NOT NULL,
  bytes                INTEGER NOT NULL,
  iterations           INTEGER NOT NULL,
  warm_up_iterations   INTEGER NOT NULL,
  gpus_per_node        INTEGER NOT NULL,
  start_timeout_s      REAL NOT NULL,
  rendezvous_timeout_s REAL NOT NULL,
  init_timeout_s       REAL NOT NULL,
  warm_up_timeout_s    REAL NOT NULL,
  run_timeout_s        REAL NOT NULL,
  injected             TEXT NOT NULL,
  wall_s               REAL,
  notes                TEXT,
  verdict              TEXT CHECK (verdict IN ('healthy', 'degraded', 'inconclusive', 'failed')),
  why                  TEXT,
  baseline_gbps        REAL,
  baseline_source      TEXT,
  whole_gbps           REAL,
  rest_gbps            REAL,
  asked                INTEGER,
  measured             INTEGER,
  skipped              INTEGER,
  failed               INTEGER,
  cleared              TEXT,
  unresolved           TEXT
);
CREATE INDEX run_shape ON run (prober, op, bytes, node_count);
CREATE INDEX run_started_at ON run (started_at);

CREATE TABLE run_node (
  run      INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  position INTEGER NOT NULL,
  node     INTEGER NOT NULL REFERENCES node,
  PRIMARY KEY (run, position)
) WITHOUT ROWID;
CREATE INDEX run_node_by_node ON run_node (node);

CREATE TABLE round (
  run     INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  number  INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  wall_s  REAL,
  PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE TABLE probe (
  id         INTEGER PRIMARY KEY,
  run        INTEGER NOT NULL,
  round      INTEGER NOT NULL,
  position   INTEGER NOT NULL,
  hosts      TEXT NOT NULL,
  node_count INTEGER NOT NULL,
  rail       INTEGER,
  op         TEXT NOT NULL,
  bytes      INTEGER NOT NULL,
  ranks      INTEGER NOT NULL,
  status     TEXT NOT NULL,
  stage      TEXT NOT NULL,
  reason     TEXT NOT NULL,
  time_s     REAL,
  algbw_gbps REAL,
  busbw_gbps REAL,
  wall_s     REAL,
  notes      TEXT NOT NULL,
  UNIQUE (run, round, position),
  FOREIGN KEY (run, round) REFERENCES round ON DELETE CASCADE
);

CREATE TABLE probe_node (
  probe    INTEGER NOT NULL REFERENCES probe ON DELETE CASCADE,
  position INTEGER NOT NULL,
  node     INTEGER NOT NULL REFERENCES node,
  PRIMARY KEY (probe, position)
) WITHOUT ROWID;
CREATE INDEX probe_node_by_node ON probe_node (node);

CREATE TABLE sample (
  probe     INTEGER NOT NULL REFERENCES probe ON DELETE CASCADE,
  iteration INTEGER NOT NULL,
  seconds   REAL,
  PRIMARY KEY (probe, iteration)
) WITHOUT ROWID;

CREATE TABLE node_fault (
  probe    INTEGER NOT NULL REFERENCES probe ON DELETE CASCADE,
  position INTEGER NOT NULL,
  node     TEXT NOT NULL,
  rank     INTEGER NOT NULL,
  stage    TEXT NOT NULL,
  what     TEXT NOT NULL,
  PRIMARY KEY (probe, position)
) WITHOUT ROWID;
CREATE INDEX node_fault_by_node ON node_fault (node);

CREATE TABLE culprit (
  run           INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  position      INTEGER NOT NULL,
  kind          TEXT NOT NULL,
  label         TEXT NOT NULL,
  node          TEXT NOT NULL,
  rail          INTEGER,
  unit          TEXT NOT NULL,
  units         TEXT NOT NULL,
  nodes         TEXT NOT NULL,
  min_nodes     INTEGER,
  measured_gbps REAL,
  expected_gbps REAL,
  slowdown      REAL,
  confidence    REAL,
  PRIMARY KEY (run, position)
) WITHOUT ROWID;
CREATE INDEX culprit_by_node ON culprit (node);

CREATE TABLE finding (
  run          INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  kind         TEXT NOT NULL,
  severity     TEXT NOT NULL,
  subject      TEXT NOT NULL,
  summary      TEXT NOT NULL,
  suspects     TEXT NOT NULL,
  victims      TEXT NOT NULL,
  evidence     TEXT NOT NULL,
  likely_cause TEXT NOT NULL,
  next_step    TEXT NOT NULL,
  alert        TEXT NOT NULL,
  PRIMARY KEY (run, position)
) WITHOUT ROWID;
CREATE INDEX finding_by_subject ON finding (subject);

-- Every probe that a node took part in; a bandwidth only where it may be compared.
CREATE VIEW probe_of_node AS
  SELECT node.name AS node, run.started_at, probe.run, probe.round, round.purpose, probe.rail, probe.hosts,
         probe.node_count, probe.op, probe.bytes, probe.status, probe.reason,
         CASE WHEN probe.status = 'ok' THEN probe.busbw_gbps END AS busbw_gbps
  FROM probe_node
  JOIN node ON node.id = probe_node.node
  JOIN probe ON probe.id = probe_node.probe
  JOIN round ON round.run = probe.run AND round.number = probe.round
  JOIN run ON run.id = probe.run;
)sql";

/// Statement i leads from version i to version i + 1. Never changed once released; a change is a new entry.
constexpr std::array kMigrations{kVersion1};

}  // namespace

int schema_version() {
  return static_cast<int>(kMigrations.size());
}

int require_known_schema(Database& database) {
  const auto version = static_cast<int>(database.integer("PRAGMA user_version"));
  const auto application = static_cast<int>(database.integer("PRAGMA application_id"));
  const bool empty = database.integer("SELECT count(*) FROM sqlite_master") == 0;
  if (application != kApplicationId && !(empty && version == 0 && application == 0))
    throw RunError({"the file is another program's SQLite database, not a weft history", database.path(), "",
                    "name another file with --db"});
  if (version > schema_version())
    throw RunError({fmt::format("the history was written by a newer weft (schema {}; this weft knows up to {})",
                                version, schema_version()),
                    database.path(), "", "use that weft, or choose another file with --db"});
  return version;
}

void migrate(Database& database) {
  if (require_known_schema(database) == schema_version()) return;
  Transaction transaction(database);
  // Read again under the lock: somebody else may have migrated while we waited for it.
  const int from = require_known_schema(database);
  for (auto version = static_cast<std::size_t>(from); version < kMigrations.size(); ++version)
    database.execute(kMigrations.at(version));
  database.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, schema_version()).c_str());
  transaction.commit();
}

}  // namespace weft::history
