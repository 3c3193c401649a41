PRAGMA foreign_keys=OFF;
PRAGMA application_id=1213156677;
PRAGMA user_version=4;
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('seed','-6759345719210544633');
CREATE TABLE generation (
  source   TEXT NOT NULL,
  workload TEXT NOT NULL,
  newest   INTEGER NOT NULL,
  PRIMARY KEY (source, workload)
) STRICT, WITHOUT ROWID;
CREATE TABLE declaration (
  source   TEXT NOT NULL,
  workload TEXT NOT NULL,
  origin   TEXT NOT NULL,
  hash     TEXT NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (source, workload),
  FOREIGN KEY (source, workload) REFERENCES generation
) STRICT, WITHOUT ROWID;
CREATE TABLE source_problem (
  source  TEXT NOT NULL,
  origin  TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (source, origin, message)
) STRICT, WITHOUT ROWID;
INSERT INTO source_problem VALUES('files','/etc/homeostat.d/bad.yaml','/etc/homeostat.d/bad.yaml:7:19: spec.stop.timeout: ''5 s'' is not a duration; write a duration such as 500ms, 10s, 5m or 1h30m');
INSERT INTO source_problem VALUES('files','/etc/homeostat.d/bad.yaml','/etc/homeostat.d/bad.yaml:8:3: spec: unknown key ''nonsense''; known here: revision, source, entryPoint, arguments, env, user, install, limits, start, stop, health, restart, metrics, execution, dependsOn, maxDisruption, maintenanceWindow, probe');
INSERT INTO source_problem VALUES('files','/etc/homeostat.d/worse.yaml','/etc/homeostat.d/worse.yaml:2:1: not YAML: while parsing a flow node from 2:1 on, expected the node content, but found ''<stream end>''');
CREATE TABLE pause (
  workload TEXT PRIMARY KEY,
  reason   TEXT NOT NULL,
  since    TEXT NOT NULL
, stopped INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
CREATE TABLE history (
  workload TEXT PRIMARY KEY,
  document TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE event (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  time     TEXT NOT NULL,
  workload TEXT,
  revision TEXT NOT NULL,
  type     TEXT NOT NULL,
  message  TEXT NOT NULL
) STRICT;
INSERT INTO event VALUES(1,'2026-11-22T13:49:00.678Z',NULL,'','AGENT_SOURCE_INVALID','files: /etc/homeostat.d/bad.yaml:7:19: spec.stop.timeout: ''5 s'' is not a duration; write a duration such as 500ms, 10s, 5m or 1h30m (and 1 more)');
INSERT INTO event VALUES(2,'2026-11-22T13:49:00.678Z',NULL,'','AGENT_SOURCE_INVALID','files: /etc/homeostat.d/worse.yaml:2:1: not YAML: while parsing a flow node from 2:1 on, expected the node content, but found ''<stream end>''');
INSERT INTO event VALUES(3,'2026-11-22T13:49:00.819Z',NULL,'','AGENT_STARTED','version 1.0.0, pid 20004');
INSERT INTO event VALUES(4,'2026-11-22T13:49:00.885Z',NULL,'','AGENT_STOPPED','told to end; workloads go on running');
CREATE TABLE received_message (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  digest TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE outbox (
  event    INTEGER PRIMARY KEY,
  workload TEXT NOT NULL
) STRICT;
CREATE TABLE instance (
  workload  TEXT NOT NULL,
  launch_id TEXT NOT NULL,
  document  TEXT NOT NULL,
  PRIMARY KEY (workload, launch_id)
) STRICT, WITHOUT ROWID;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('event',4);
CREATE INDEX outbox_of_workload ON outbox (workload, event);
