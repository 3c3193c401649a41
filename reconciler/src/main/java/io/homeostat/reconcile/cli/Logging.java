package io.homeostat.reconcile.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import io.homeostat.reconcile.command.LogLevel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sets how much is logged. */
final class Logging {
    private Logging() {}

    static void use(LogLevel level) {
        if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
            context.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(Level.toLevel(level.name()));
        }
    }
}
