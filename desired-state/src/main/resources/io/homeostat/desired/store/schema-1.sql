CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE generation (
  workload TEXT PRIMARY KEY,
  newest   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE applied (
  workload TEXT PRIMARY KEY REFERENCES generation,
  origin   TEXT NOT NULL,
  hash     TEXT NOT NULL,
  document TEXT NOT NULL
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
