package io.homeostat.reconcile.command.environment;

import io.homeostat.desired.model.AgentConfig.Log.Level;
import java.util.Optional;

/** The options that every command has; the default holds for what is empty. */
public record GlobalOptions(
        OutputFormat format,
        Optional<String> stateDir,
        Optional<String> runDir,
        Optional<Level> logLevel,
        boolean noColor) {
    public boolean debug() {
        return logLevel.filter(level -> level.compareTo(Level.DEBUG) >= 0).isPresent();
    }

    /** How results are written. */
    public enum OutputFormat {
        TEXT,
        JSON
    }
}
