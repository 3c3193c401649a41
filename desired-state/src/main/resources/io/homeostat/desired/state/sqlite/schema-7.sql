CREATE TABLE revision (
  workload  TEXT    NOT NULL,
  number    INTEGER NOT NULL,
  hash      TEXT    NOT NULL,
  source    TEXT    NOT NULL,
  document  TEXT    NOT NULL,
  tried_at  TEXT    NOT NULL,
  good_at   TEXT,
  failed_at TEXT,
  error     TEXT,
  PRIMARY KEY (workload, number)
) STRICT, WITHOUT ROWID;
