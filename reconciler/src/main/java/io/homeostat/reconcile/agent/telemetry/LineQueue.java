package io.homeostat.reconcile.agent.telemetry;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Lines on their way to a reader who may be slow or stuck, as journald is when its disk is full; writers never wait. When the queue is
 * full, new lines are dropped, and their number is written as soon as there is room again.
 */
final class LineQueue implements AutoCloseable {
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
            long end = System.nanoTime() + PATIENCE_AT_CLOSE.toNanos();
            if (lines.offer(END, PATIENCE_AT_CLOSE.toMillis(), TimeUnit.MILLISECONDS)) {
                writer.join(Duration.ofNanos(Math.max(1, end - System.nanoTime())));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
