package io.homeostat.reconcile.command.environment;

/** How results are written. */
public enum OutputFormat {
    TEXT,
    JSON
}
