CREATE TABLE received_message (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  digest TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE outbox (
  event    INTEGER PRIMARY KEY,
  workload TEXT NOT NULL
) STRICT;

CREATE INDEX outbox_of_workload ON outbox (workload, event);
