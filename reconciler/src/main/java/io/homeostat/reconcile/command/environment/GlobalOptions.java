package io.homeostat.reconcile.command.environment;

import java.util.Optional;

/** The options that every command has; the default holds for what is empty. */
public record GlobalOptions(
        OutputFormat format,
        Optional<String> stateDir,
        Optional<String> runDir,
        Optional<LogLevel> logLevel,
        boolean noColor) {
    public boolean debug() {
        return logLevel.filter(level -> level.compareTo(LogLevel.DEBUG) >= 0).isPresent();
    }

    /** How much is logged to standard error. */
    public enum LogLevel {
        ERROR,
        WARN,
        INFO,
        DEBUG,
        TRACE
    }

    /** How results are written. */
    public enum OutputFormat {
        TEXT,
        JSON
    }
}
