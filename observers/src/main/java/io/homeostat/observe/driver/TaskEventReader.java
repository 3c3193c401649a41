package io.homeostat.observe.driver;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.grpc.Status;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.platform.TokenBucket;
import io.homeostat.observe.goplugin.PluginStream;
import io.homeostat.proto.nomad.driver.DriverGrpc;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.TaskEventsRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads what a driver tells of its tasks, over one stream for as long as its session lasts, and keeps it until it is taken. How much that
 * is has a budget: what is more is counted and dropped. Safe for use by several threads.
 */
public final class TaskEventReader implements AutoCloseable {
    /** So many at once, as when a hundred tasks start. */
    static final int BURST = 200;

    private static final Logger LOG = LoggerFactory.getLogger(TaskEventReader.class);

    private static final Duration PER_EVENT = Duration.ofMillis(500);

    /** From one message to the next while the budget is used up. */
    private static final Duration PACE = Duration.ofMillis(10);

    private static final Duration REPORT = Duration.ofMinutes(1);
    private static final Backoff REOPEN = Backoff.doubling(Duration.ofSeconds(5), Duration.ofMinutes(2));

    private static final int LONGEST_MESSAGE = 1 << 20;
    private static final int LONGEST_WORDS = 500;
    private static final int LONGEST_ANNOTATION = 100;
    private static final int ANNOTATIONS = 8;

    private final String driver;
    private final DriverSession session;
    private final Backoff reopen;
    private final Ticker ticker;
    private final TokenBucket budget;
    private final List<Told> told = new ArrayList<>();
    private int dropped;
    private boolean hasReported;
    private long reported;
    private int failures;
    private boolean closed;
    private @Nullable Reader reader;

    /**
     * What a driver told.
     *
     * @param driver its name
     * @param words in one line, cut to a length that fits into a log
     */
    public record Told(String driver, String taskId, String allocation, String task, String words) {
        static Told of(String driver, DriverTaskEvent event) {
            String annotations = ImmutableSortedMap.copyOf(event.getAnnotationsMap()).entrySet().stream()
                    .limit(ANNOTATIONS)
                    .map(one -> line(one.getKey(), LONGEST_ANNOTATION) + "=" + line(one.getValue(), LONGEST_ANNOTATION))
                    .collect(Collectors.joining(", "));
            String message = line(event.getMessage(), LONGEST_WORDS);
            return new Told(
                    driver,
                    line(event.getTaskId(), LONGEST_WORDS),
                    line(event.getAllocId(), LONGEST_WORDS),
                    line(event.getTaskName(), LONGEST_WORDS),
                    annotations.isEmpty() ? message : (message + " (" + annotations + ")").strip());
        }

        private static String line(String text, int longest) {
            return VisibleText.cut(VisibleText.line(text), longest);
        }
    }

    /**
     * What was told since the last time.
     *
     * @param dropped how many more there were; 0 unless it is time to say so
     */
    public record Taken(String driver, ImmutableList<Told> told, int dropped) {}

    TaskEventReader(String driver, DriverSession session) {
        this(driver, session, REOPEN, Ticker.systemTicker());
    }

    TaskEventReader(String driver, DriverSession session, Backoff reopen, Ticker ticker) {
        this.driver = driver;
        this.session = session;
        this.reopen = reopen;
        this.ticker = ticker;
        this.budget = new TokenBucket(BURST, PER_EVENT.toNanos(), ticker.read());
    }

    synchronized void open() {
        if (closed || session.isClosed() || !session.isAlive()) {
            return;
        }
        Reader opened = new Reader();
        reader = opened;
        DriverGrpc.newStub(session.connection().channel())
                .withMaxInboundMessageSize(LONGEST_MESSAGE)
                .taskEvents(TaskEventsRequest.getDefaultInstance(), opened);
    }

    synchronized Taken take() {
        ImmutableList<Told> all = ImmutableList.copyOf(told);
        told.clear();
        int more = 0;
        if (dropped > 0 && (!hasReported || ticker.read() - reported >= REPORT.toNanos())) {
            more = dropped;
            dropped = 0;
            hasReported = true;
            reported = ticker.read();
        }
        return new Taken(driver, all, more);
    }

    /** Returns how long to wait for the next one. */
    private synchronized Duration note(DriverTaskEvent event) {
        failures = 0;
        if (budget.available(ticker.read()) < 1 || told.size() >= BURST) {
            dropped++;
            return PACE;
        }
        budget.take(1);
        told.add(Told.of(driver, event));
        return Duration.ZERO;
    }

    private synchronized void ended(Reader which, Status status) {
        if (closed || reader != which) {
            return;
        }
        if (status.getCode() == Status.Code.UNIMPLEMENTED) {
            LOG.debug("[{}] tells nothing of its tasks", driver);
            return;
        }
        failures++;
        LOG.debug("[{}] does not tell of its tasks any more: {}", driver, status.getCode());
        after(reopen.delay(failures, reopen.initial().dividedBy(2), RandomGenerator.getDefault()))
                .execute(this::open);
    }

    private static Executor after(Duration pause) {
        return CompletableFuture.delayedExecutor(pause.toMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    public void close() {
        Reader open;
        synchronized (this) {
            closed = true;
            open = reader;
        }
        if (open != null) {
            open.cancel();
        }
    }

    /** One stream. */
    private final class Reader extends PluginStream<TaskEventsRequest, DriverTaskEvent> {
        Reader() {
            super(session.connection());
        }

        @Override
        protected Duration received(DriverTaskEvent event) {
            return note(event);
        }

        @Override
        protected void ended(Status status) {
            TaskEventReader.this.ended(this, status);
        }
    }
}
