package io.homeostat.reconcile.runtime.kata;

import io.homeostat.actuate.launch.LogAppends;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.guest.GuestConnection;
import io.homeostat.observe.process.WakeableThread;
import io.homeostat.observe.ttrpc.Wire;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What agents log of themselves, at a port of its own, as the logs of their sandboxes. One that is not told to log there refuses; it is tried
 * again now and then. An agent that nobody reads from waits for that, so it is read for as long as its sandbox is there.
 */
final class GuestLogs implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(GuestLogs.class);
    private static final Backoff BACKOFF = Backoff.doubling(Duration.ofSeconds(1), Duration.ofMinutes(1));
    private static final Duration FLOOR = Duration.ofMillis(500);
    private static final Duration TIMEOUT = Duration.ofSeconds(15);
    private static final int BUFFER = 64 << 10;

    private final GuestConnection.Dialer dialer;
    private final LogAppends logs;
    private final GuestTiming timing;

    /** By launch id. */
    private final Map<String, Reader> readers = new ConcurrentHashMap<>();

    GuestLogs(GuestConnection.Dialer dialer, LogAppends logs, GuestTiming timing) {
        this.dialer = dialer;
        this.logs = logs;
        this.timing = timing;
    }

    /** Begins to read, unless somebody does already. A guest on this machine has no such port. */
    void follow(Instance instance, Guests.Guest guest) {
        Optional<GuestEndpoint> port = guest.endpoint().withPort(GuestEndpoint.LOG_PORT);
        if (port.isPresent()) {
            readers.computeIfAbsent(
                    instance.launchId(), _ -> Reader.start(instance.workload(), guest, port.get(), this));
        }
    }

    void forget(Instance instance) {
        Reader reader = readers.remove(instance.launchId());
        if (reader != null) {
            reader.close();
        }
    }

    @Override
    public void close() {
        readers.values().forEach(Reader::close);
    }

    private static final class Reader implements AutoCloseable {
        private final WorkloadId id;
        private final Guests.Guest guest;
        private final GuestEndpoint endpoint;
        private final GuestLogs all;
        private @Nullable Wire wire;
        private @Nullable WakeableThread thread;
        private boolean closed;

        private Reader(WorkloadId id, Guests.Guest guest, GuestEndpoint endpoint, GuestLogs all) {
            this.id = id;
            this.guest = guest;
            this.endpoint = endpoint;
            this.all = all;
        }

        static Reader start(WorkloadId id, Guests.Guest guest, GuestEndpoint endpoint, GuestLogs all) {
            Reader reader = new Reader(id, guest, endpoint, all);
            synchronized (reader) {
                reader.thread = new WakeableThread("log of " + id.brief(), reader::run);
                reader.thread.start();
            }
            return reader;
        }

        private void run() {
            ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
            int failures = 0;
            try {
                while (true) {
                    try (Wire connected = all.dialer.connect(endpoint, TIMEOUT)) {
                        if (!take(connected)) {
                            return;
                        }
                        while (connected.read(buffer.clear()) >= 0) {
                            int read = buffer.flip().remaining();
                            all.logs.append(id, buffer);
                            failures = 0;
                            guest.awaitOutputTurn(read);
                        }
                    } catch (IOException e) {
                        LOG.debug("[{}] {}", id.brief(), e.getMessage());
                    }
                    failures++;
                    all.timing.sleep(BACKOFF.delay(failures, FLOOR, RandomGenerator.getDefault()));
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        /** @return false when nobody wants it any more */
        private synchronized boolean take(Wire connected) {
            wire = connected;
            return !closed;
        }

        @Override
        public synchronized void close() {
            closed = true;
            if (thread != null) {
                thread.interrupt();
                thread.wakeAfter(TIMEOUT);
            }
            if (wire != null) {
                try {
                    wire.close();
                } catch (IOException e) {
                    LOG.debug("[{}] {}", id.brief(), e.getMessage());
                }
            }
        }
    }
}
