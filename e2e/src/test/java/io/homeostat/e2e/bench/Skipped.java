package io.homeostat.e2e.bench;

/** What could not be measured here. */
record Skipped(String benchmark, String subject, String why) {}
