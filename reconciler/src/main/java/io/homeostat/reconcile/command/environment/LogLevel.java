package io.homeostat.reconcile.command.environment;

/** How much is logged to standard error. */
public enum LogLevel {
    ERROR,
    WARN,
    INFO,
    DEBUG,
    TRACE
}
