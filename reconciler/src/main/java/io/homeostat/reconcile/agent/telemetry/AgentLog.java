package io.homeostat.reconcile.agent.telemetry;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.AppenderBase;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.reconcile.command.output.StandardOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
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

    /**
     * Takes over what this process logs until it is closed.
     *
     * @param err standard error, as the command has it from its environment
     */
    public static AgentLog use(PrintStream err, AgentConfig.Log.Format format, AgentConfig.Log.Level level) {
        if (!(LoggerFactory.getILoggerFactory() instanceof LoggerContext context)) {
            throw new IllegalStateException(
                    "another logging library than logback is on the class path: " + LoggerFactory.getILoggerFactory());
        }
        // A PrintStream hides that a line could not be written, and that counts as dropped.
        return use(context, err instanceof StandardOutput standard ? standard.unbuffered() : err, format, level);
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

    /**
     * Lines on their way to a reader who may be slow or stuck, as journald is when its disk is full; writers never wait. When the queue is
     * full, new lines are dropped, and their number is written as soon as there is room again.
     */
    private static final class LineQueue implements AutoCloseable {
        /** For room in the queue, and then for its end. */
        private static final Duration PATIENCE_AT_CLOSE = Duration.ofSeconds(2);

        /** Ends the writer; nothing else is empty. */
        private static final String END = "";

        private final BlockingQueue<String> lines;
        private final OutputStream out;
        private final AtomicLong dropped = new AtomicLong();
        private final Thread writer;
        private volatile boolean closed;
        private long told;

        /** @param capacity in lines; each is bounded by {@link LogLines} */
        LineQueue(OutputStream out, int capacity) {
            this.out = out;
            this.lines = new ArrayBlockingQueue<>(capacity);
            this.writer = Thread.ofPlatform().name("log").daemon(true).start(this::write);
        }

        void add(String line) {
            if (closed || !lines.offer(line)) {
                dropped.incrementAndGet();
            }
        }

        /** How many lines nobody will ever read. */
        long dropped() {
            return dropped.get();
        }

        private void write() {
            try {
                for (String line = lines.take(); !line.equals(END); line = lines.take()) {
                    put(line);
                    tellOfDropped();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private void tellOfDropped() {
            long now = dropped.get();
            if (now > told) {
                put("homeostat: " + (now - told)
                        + " lines of this log were dropped, because standard error was not read fast enough\n");
                told = now;
            }
        }

        private void put(String line) {
            try {
                out.write(line.getBytes(StandardCharsets.UTF_8));
                out.flush();
            } catch (IOException e) {
                // The reader is gone, and there is nobody left to tell; the count shows in the metrics.
                dropped.incrementAndGet();
                told = dropped.get();
            }
        }

        /** Writes what is left, for a bounded time. */
        @Override
        public void close() {
            closed = true;
            try {
                if (lines.offer(END, PATIENCE_AT_CLOSE.toMillis(), TimeUnit.MILLISECONDS)) {
                    writer.join(PATIENCE_AT_CLOSE);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
