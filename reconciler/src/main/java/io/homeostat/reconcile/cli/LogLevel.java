package io.homeostat.reconcile.cli;

/** How much is logged to standard error. */
enum LogLevel {
    ERROR,
    WARN,
    INFO,
    DEBUG,
    TRACE
}
