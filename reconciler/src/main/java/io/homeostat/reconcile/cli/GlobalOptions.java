package io.homeostat.reconcile.cli;

import java.util.Optional;

/**
 * The options that every command has.
 *
 * @param stateDir empty: the default
 * @param runDir empty: the default
 * @param logLevel empty: the default
 */
record GlobalOptions(
        OutputFormat format,
        Optional<String> stateDir,
        Optional<String> runDir,
        Optional<LogLevel> logLevel,
        boolean noColor) {
    boolean debug() {
        return logLevel.filter(level -> level.compareTo(LogLevel.DEBUG) >= 0).isPresent();
    }
}
