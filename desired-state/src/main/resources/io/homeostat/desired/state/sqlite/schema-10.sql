-- The last good set of each source of published sets, and when the source last answered.
CREATE TABLE set_source (source TEXT PRIMARY KEY, name TEXT NOT NULL, answered_at TEXT) STRICT;
CREATE TABLE published_set (
  source TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  published_at TEXT,
  digest TEXT NOT NULL,
  documents TEXT NOT NULL,
  taken_at TEXT NOT NULL
) STRICT;
-- The highest sequence that was ever taken of a source, by the key that has signed it; '' where none has.
CREATE TABLE set_sequence (
  source TEXT NOT NULL,
  signer TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (source, signer)
) STRICT;
-- How rollouts stood when that was last heard.
CREATE TABLE rollout_state (name TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT;
