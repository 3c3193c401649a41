package io.homeostat.reconcile.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.AppenderBase;
import ch.qos.logback.core.spi.ContextAwareBase;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.VisibleText;
import java.time.Instant;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sets up logging to standard error, warnings and worse. In code: reading a file for so little would show at every start. */
public final class StandardErrorLog extends ContextAwareBase implements Configurator {
    static void use(AgentConfig.Log.Level level) {
        if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
            context.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(Level.toLevel(level.name()));
        }
    }

    @Override
    public ExecutionStatus configure(LoggerContext context) {
        Lines appender = new Lines();
        appender.setContext(context);
        appender.setName("stderr");
        appender.start();
        ch.qos.logback.classic.Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.WARN);
        root.addAppender(appender);
        // What libraries have to say about themselves is for those who ask.
        context.getLogger("io.netty").setLevel(Level.ERROR);
        context.getLogger("io.grpc").setLevel(Level.ERROR);
        // Each failure of a client's is an error of ours.
        context.getLogger("io.etcd").setLevel(Level.ERROR);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }

    /** {@code 2026-11-20T12:00:00Z WARN Reconciler: message: problem}, with the stack trace for those who look for a fault. */
    private static final class Lines extends AppenderBase<ILoggingEvent> {
        private static final Logger LOG = LoggerFactory.getLogger(StandardErrorLog.class);

        @Override
        protected void append(ILoggingEvent event) {
            String logger = event.getLoggerName();
            String line = Instant.ofEpochMilli(event.getTimeStamp()) + " " + event.getLevel() + " "
                    + logger.substring(logger.lastIndexOf('.') + 1) + ": " + event.getFormattedMessage();
            IThrowableProxy problem = event.getThrowableProxy();
            if (problem != null) {
                line += LOG.isDebugEnabled()
                        ? "\n" + ThrowableProxyUtil.asString(problem).stripTrailing()
                        : ": " + problem.getClassName() + ": " + problem.getMessage();
            }
            System.err.println(VisibleText.lines(line));
        }
    }
}
