package io.homeostat.observe.driver;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Ascii;
import io.grpc.Status;
import io.homeostat.observe.goplugin.PluginStream;
import io.homeostat.proto.nomad.driver.CPUUsage;
import io.homeostat.proto.nomad.driver.DriverGrpc;
import io.homeostat.proto.nomad.driver.MemoryUsage;
import io.homeostat.proto.nomad.driver.TaskStatsRequest;
import io.homeostat.proto.nomad.driver.TaskStatsResponse;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a driver counts of what one of its tasks uses, over one stream that is read for as long as somebody asks. No thread waits for it,
 * and nothing is kept but the newest numbers. Safe for use by several threads.
 *
 * <p>Some drivers crash when they are asked, and with them all that they know: {@link StatisticsCrashes} counts that.
 */
public final class TaskStatistics implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(TaskStatistics.class);

    /** A message has a line for each process of the task; one of 10,000 has about as much. */
    private static final int LONGEST_MESSAGE = 1 << 20;

    /** From one message to the next that is taken, whatever the driver sends. */
    private static final Duration PACE = Duration.ofMillis(100);

    /** Nomad's words for it: it will not change while the driver runs. */
    private static final String NOT_IMPLEMENTED = "stats not implemented";

    private static final Duration SHORTEST_PAUSE = Duration.ofSeconds(1);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);
    private static final int SHOWN = 200;

    private final DriverSession session;
    private final StatisticsCrashes.OfDriver crashes;
    private final String taskId;
    private final Duration interval;
    private final Ticker ticker;

    private @Nullable Reader reader;
    private @Nullable Sample latest;
    private long lastAsked;
    private boolean over;

    /**
     * What a task used.
     *
     * @param cpuPercent of one core; finite, never negative
     */
    public record Sample(double cpuPercent, long memoryBytes) {
        /** Only what a driver has measured counts, and of that only what is a number; empty when either is not known. */
        static Optional<Sample> of(TaskStatsResponse response) {
            CPUUsage cpu = response.getStats().getAggResourceUsage().getCpu();
            MemoryUsage memory = response.getStats().getAggResourceUsage().getMemory();
            OptionalDouble percent = percent(cpu);
            OptionalLong bytes = bytes(memory);
            return percent.isPresent() && bytes.isPresent()
                    ? Optional.of(new Sample(percent.getAsDouble(), bytes.getAsLong()))
                    : Optional.empty();
        }

        private static OptionalDouble percent(CPUUsage cpu) {
            double both = cpu.getSystemMode() + cpu.getUserMode();
            if (cpu.getMeasuredFieldsList().contains(CPUUsage.Fields.PERCENT) && isPercent(cpu.getPercent())) {
                return OptionalDouble.of(cpu.getPercent());
            }
            return cpu.getMeasuredFieldsList().contains(CPUUsage.Fields.SYSTEM_MODE)
                            && cpu.getMeasuredFieldsList().contains(CPUUsage.Fields.USER_MODE)
                            && isPercent(both)
                    ? OptionalDouble.of(both)
                    : OptionalDouble.empty();
        }

        private static boolean isPercent(double number) {
            return Double.isFinite(number) && number >= 0;
        }

        /** With caches where the driver knows of them, as the kernel counts it for a control group. */
        private static OptionalLong bytes(MemoryUsage memory) {
            long bytes = memory.getMeasuredFieldsList().contains(MemoryUsage.Fields.USAGE)
                    ? memory.getUsage()
                    : memory.getMeasuredFieldsList().contains(MemoryUsage.Fields.RSS) ? memory.getRss() : -1;
            return bytes < 0 ? OptionalLong.empty() : OptionalLong.of(bytes);
        }
    }

    /** @param interval after which the driver is to say it again */
    TaskStatistics(
            DriverSession session,
            StatisticsCrashes.OfDriver crashes,
            String taskId,
            Duration interval,
            Ticker ticker) {
        this.session = session;
        this.crashes = crashes;
        this.taskId = taskId;
        this.interval = interval;
        this.ticker = ticker;
        this.lastAsked = ticker.read();
    }

    /** Whether these are of that task, over that session, and as often. */
    public boolean isOf(DriverSession other, String otherTaskId, Duration otherInterval) {
        return session.equals(other) && taskId.equals(otherTaskId) && interval.equals(otherInterval);
    }

    /** The newest numbers that nobody has taken yet; empty when there are none. Does not wait: the driver is asked in the background. */
    public synchronized Optional<Sample> take() {
        lastAsked = ticker.read();
        if (reader == null) {
            open();
        }
        Optional<Sample> taken = Optional.ofNullable(latest);
        latest = null;
        return taken;
    }

    /** Unless it is known not to have any, or to die of it. */
    private void open() {
        boolean possible = session.isSetUp() && !session.isEnding() && !session.isClosed() && session.isAlive();
        if (over || !possible || !crashes.mayBeAsked()) {
            return;
        }
        Reader opened = new Reader();
        reader = opened;
        crashes.opened();
        DriverGrpc.newStub(session.connection().channel())
                .withMaxInboundMessageSize(LONGEST_MESSAGE)
                .taskStats(
                        TaskStatsRequest.newBuilder()
                                .setTaskId(taskId)
                                .setCollectionInterval(com.google.protobuf.Duration.newBuilder()
                                        .setSeconds(interval.getSeconds())
                                        .setNanos(interval.getNano()))
                                .build(),
                        opened);
    }

    /** Whether it reads, or will after a pause. */
    synchronized boolean isOpen() {
        return reader != null;
    }

    private synchronized void note(Sample sample) {
        if (!over) {
            latest = sample;
        }
    }

    private void ended(Reader which, Status status) {
        if (!which.closed) {
            crashes.brokenOff(session, which.hasAnswered);
        }
        synchronized (this) {
            if (over || reader != which) {
                return;
            }
            String words = String.valueOf(status.getDescription());
            if (status.getCode() == Status.Code.UNIMPLEMENTED || words.contains(NOT_IMPLEMENTED)) {
                LOG.debug("{}: its driver does not count what it uses", taskId);
                over = true;
                reader = null;
                return;
            }
            LOG.debug("{}: what it uses: {} {}", taskId, status.getCode(), Ascii.truncate(words, SHOWN, "..."));
        }
        after(pause()).execute(() -> reopen(which));
    }

    private static Duration pause() {
        return Duration.ofMillis(
                ThreadLocalRandom.current().nextLong(SHORTEST_PAUSE.toMillis(), LONGEST_PAUSE.toMillis()));
    }

    private static Executor after(Duration pause) {
        return CompletableFuture.delayedExecutor(pause.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Only for whoever still wants to know. */
    private synchronized void reopen(Reader which) {
        if (reader != which) {
            return;
        }
        reader = null;
        if (ticker.read() - lastAsked < interval.multipliedBy(2).toNanos()) {
            open();
        }
    }

    @Override
    public void close() {
        Reader open;
        synchronized (this) {
            over = true;
            open = reader;
            reader = null;
            latest = null;
        }
        if (open != null) {
            open.close();
        }
    }

    /** One stream. */
    private final class Reader extends PluginStream<TaskStatsRequest, TaskStatsResponse> {
        private volatile boolean hasAnswered;

        /** Whether the stream was ended here, which says nothing of the driver. */
        private volatile boolean closed;

        Reader() {
            super(session.connection());
        }

        @Override
        protected Duration received(TaskStatsResponse response) {
            hasAnswered = true;
            Sample.of(response).ifPresent(TaskStatistics.this::note);
            return PACE;
        }

        @Override
        protected void ended(Status status) {
            TaskStatistics.this.ended(this, status);
        }

        void close() {
            closed = true;
            cancel();
        }
    }
}
