-- What comes back, because another one was undone, gets a row of its own that tells the number it had first.
ALTER TABLE revision ADD COLUMN back_to INTEGER;
