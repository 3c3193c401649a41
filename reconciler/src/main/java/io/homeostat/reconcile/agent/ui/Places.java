package io.homeostat.reconcile.agent.ui;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where what the page asks for is done: on threads of its own, so many at once. */
final class Places implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Places.class);
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private final Kind commands;
    private final Kind fleets;
    private final Kind streams;
    private volatile boolean closed;

    Places(int commands, int fleets, int streams) {
        this.commands = new Kind(commands);
        this.fleets = new Kind(fleets);
        this.streams = new Kind(streams);
    }

    /** For what ends by itself. */
    Kind commands() {
        return commands;
    }

    /** For what asks a store of a whole fleet, and ends by itself. */
    Kind fleets() {
        return fleets;
    }

    /** For what goes on until nobody reads it any more. */
    Kind streams() {
        return streams;
    }

    /** Of these there are so many. */
    final class Kind {
        private final Semaphore free;

        private Kind(int most) {
            this.free = new Semaphore(most);
        }

        /** Begins it, to be ended by an interrupt; empty when no place is free. */
        Optional<Thread> begin(Runnable work) {
            if (!free.tryAcquire()) {
                return Optional.empty();
            }
            Thread thread = Thread.ofVirtual().name("ui").unstarted(() -> {
                try {
                    work.run();
                } finally {
                    free.release();
                    threads.remove(Thread.currentThread());
                }
            });
            threads.add(thread);
            thread.start();
            if (closed) {
                thread.interrupt();
            }
            return Optional.of(thread);
        }
    }

    /** Interrupts what is being done, and waits a moment for it to end. */
    @Override
    public void close() {
        closed = true;
        List<Thread> working = List.copyOf(threads);
        working.forEach(Thread::interrupt);
        try {
            for (Thread thread : working) {
                if (!thread.join(PATIENCE)) {
                    LOG.warn("a request of the page did not end within {} s and is left behind", PATIENCE.toSeconds());
                    return;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
