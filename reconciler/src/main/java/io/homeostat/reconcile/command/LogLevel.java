package io.homeostat.reconcile.command;

/** How much is logged to standard error. */
public enum LogLevel {
    ERROR,
    WARN,
    INFO,
    DEBUG,
    TRACE
}
