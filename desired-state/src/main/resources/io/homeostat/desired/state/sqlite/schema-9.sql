-- When the first instance of a declaration was launched that took another one's place; until then the other one stands.
ALTER TABLE revision ADD COLUMN launched_at TEXT;
