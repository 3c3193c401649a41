package io.homeostat.reconcile.cli;

/** How results are written. */
enum OutputFormat {
    TEXT,
    JSON
}
