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

    /** @param fleetsAtOnce how many of {@code fleets} are under way, while the others wait their turn */
    Places(int commands, int fleets, int fleetsAtOnce, int streams) {
        this.commands = new Kind(commands, commands);
        this.fleets = new Kind(fleets, fleetsAtOnce);
        this.streams = new Kind(streams, streams);
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

    /** What has a place. */
    @FunctionalInterface
    interface Turn {
        int run() throws InterruptedException;
    }

    /** Of these there are so many. */
    final class Kind {
        private final Semaphore free;
        private final Semaphore turns;

        private Kind(int most, int atOnce) {
            this.free = new Semaphore(most);
            this.turns = new Semaphore(atOnce, true);
        }

        /** Does it when it is its turn, in the order in which they came. */
        int inTurn(Turn work) throws InterruptedException {
            turns.acquire();
            try {
                return work.run();
            } finally {
                turns.release();
            }
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
