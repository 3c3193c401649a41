package io.homeostat.reconcile.agent.telemetry;

import ch.qos.logback.classic.LoggerContext;
import com.google.common.collect.ImmutableList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** Brings what libraries log by java.util.logging, as gRPC does, to where everything else is logged, until it is closed. */
final class JulForwarding implements AutoCloseable {
    private final Logger root = Logger.getLogger("");
    private final ImmutableList<Handler> before = ImmutableList.copyOf(root.getHandlers());
    private final Handler forwarding;

    JulForwarding(LoggerContext context) {
        forwarding = new Forwarding(context);
        before.forEach(root::removeHandler);
        root.addHandler(forwarding);
    }

    @Override
    public void close() {
        root.removeHandler(forwarding);
        before.forEach(root::addHandler);
    }

    private static final class Forwarding extends Handler {
        private final LoggerContext context;
        private final SimpleFormatter words = new SimpleFormatter();

        Forwarding(LoggerContext context) {
            this.context = context;
        }

        @Override
        public void publish(LogRecord record) {
            org.slf4j.Logger logger = context.getLogger(String.valueOf(record.getLoggerName()));
            String message = words.formatMessage(record);
            int level = record.getLevel().intValue();
            if (level >= Level.SEVERE.intValue()) {
                logger.error(message, record.getThrown());
            } else if (level >= Level.WARNING.intValue()) {
                logger.warn(message, record.getThrown());
            } else if (level >= Level.INFO.intValue()) {
                logger.info(message, record.getThrown());
            } else {
                logger.debug(message, record.getThrown());
            }
        }

        @Override
        public void flush() {
            // Nothing is kept here.
        }

        @Override
        public void close() {
            // Nothing is open here.
        }
    }
}
