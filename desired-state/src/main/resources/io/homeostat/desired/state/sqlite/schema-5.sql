-- What a problem is, beside the words for it. Nothing tells it of one that is stored: its origin is known to be wrong, and that is all.
CREATE TABLE source_problem_with_key (
  source  TEXT NOT NULL,
  origin  TEXT NOT NULL,
  kind    TEXT NOT NULL,
  place   TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (source, origin, kind, place, message)
) STRICT, WITHOUT ROWID;

INSERT INTO source_problem_with_key(source, origin, kind, place, message)
SELECT source, origin, 'UNSPECIFIED', '', message
FROM source_problem;

DROP TABLE source_problem;

ALTER TABLE source_problem_with_key RENAME TO source_problem;
