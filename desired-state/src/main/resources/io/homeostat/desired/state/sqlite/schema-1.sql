CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE pause (
  workload TEXT PRIMARY KEY,
  reason   TEXT NOT NULL,
  since    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
  workload TEXT PRIMARY KEY,
  document TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE handle (
  workload    TEXT NOT NULL,
  launch_id   TEXT NOT NULL,
  target      TEXT NOT NULL,
  revision    TEXT NOT NULL,
  directory   TEXT,
  inputs      TEXT NOT NULL,
  launched_at TEXT NOT NULL,
  pid         INTEGER,
  start_ticks INTEGER,
  boot_id     TEXT,
  start       TEXT NOT NULL,
  config_hash TEXT NOT NULL,
  PRIMARY KEY (workload, launch_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  time     TEXT NOT NULL,
  workload TEXT,
  revision TEXT NOT NULL,
  type     TEXT NOT NULL,
  message  TEXT NOT NULL
) STRICT;
