package io.homeostat.reconcile.command.output;

/** How results are written. */
public enum OutputFormat {
    TEXT,
    JSON
}
