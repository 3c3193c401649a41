CREATE TABLE something_new (
  id INTEGER PRIMARY KEY
) STRICT;

INSERT INTO something_new (id) SELECT count(*) FROM event;
