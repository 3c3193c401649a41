package io.homeostat.reconcile.agent.telemetry;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.AppenderBase;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The agent's own log: text or JSON, one event a line, to standard error. What a pass logs is marked with its workload, number and
 * trigger. Logging never waits for the reader, see {@link LineQueue}.
 */
public final class AgentLog implements AutoCloseable {
    /** At 16 KiB for the longest message and as much for a stack trace, still far less than a heap of 32 MiB in practice. */
    private static final int CAPACITY = 1024;

    private final LoggerContext context;
    private final LineQueue lines;
    private final Lines appender;
    private final ImmutableList<Appender<ILoggingEvent>> before;
    private final @Nullable Level levelBefore;
    private final JulForwarding foreign;

    private AgentLog(LoggerContext context, OutputStream out, AgentConfig.Log.Format format) {
        this.context = context;
        this.lines = new LineQueue(out, CAPACITY);
        this.appender = new Lines(lines, format);
        ch.qos.logback.classic.Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
        this.before = ImmutableList.copyOf(root.iteratorForAppenders());
        this.levelBefore = root.getLevel();
        this.foreign = new JulForwarding(context);
    }

    /** Takes over what this process logs until it is closed. */
    public static AgentLog use(AgentConfig.Log.Format format, AgentConfig.Log.Level level) {
        if (!(LoggerFactory.getILoggerFactory() instanceof LoggerContext context)) {
            throw new IllegalStateException(
                    "another logging library than logback is on the class path: " + LoggerFactory.getILoggerFactory());
        }
        return use(context, new FileOutputStream(FileDescriptor.err), format, level);
    }

    static AgentLog use(
            LoggerContext context, OutputStream out, AgentConfig.Log.Format format, AgentConfig.Log.Level level) {
        AgentLog log = new AgentLog(context, out, format);
        log.appender.setContext(context);
        log.appender.setName("agent");
        log.appender.start();
        ch.qos.logback.classic.Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
        log.before.forEach(root::detachAppender);
        root.addAppender(log.appender);
        context.getLogger("io.netty").setLevel(Level.ERROR);
        context.getLogger("io.grpc").setLevel(Level.ERROR);
        log.change(format, level);
        return log;
    }

    /** From here on the log looks like this; for a configuration that was read again. */
    public void change(AgentConfig.Log.Format format, AgentConfig.Log.Level level) {
        appender.format = format;
        context.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(Level.toLevel(level.name()));
    }

    /** Whether programs read the log, line by line: then nothing may stand beside it that is none of its lines. */
    public boolean isForPrograms() {
        return appender.format == AgentConfig.Log.Format.JSON;
    }

    /** How many lines were lost because nobody read them in time. */
    public long dropped() {
        return lines.dropped();
    }

    /** Waits a bounded time until everything is written. From here on this process logs as it did before. */
    @Override
    public void close() {
        foreign.close();
        ch.qos.logback.classic.Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
        root.detachAppender(appender);
        before.forEach(root::addAppender);
        if (levelBefore != null) {
            root.setLevel(levelBefore);
        }
        appender.stop();
        lines.close();
    }

    private static final class Lines extends AppenderBase<ILoggingEvent> {
        private final LineQueue lines;
        private volatile AgentConfig.Log.Format format;

        Lines(LineQueue lines, AgentConfig.Log.Format format) {
            this.lines = lines;
            this.format = format;
        }

        @Override
        protected void append(ILoggingEvent event) {
            lines.add(LogLines.of(event, format));
        }
    }
}
