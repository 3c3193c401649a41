package io.homeostat.reconcile.agent.guest;

import com.google.common.collect.ImmutableList;
import io.grpc.Context;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notices which containers have run out of memory: by what the kernel counts, so that none is missed, whoever looks when. How much of it was
 * told is written down.
 */
final class OutOfMemoryWatch {
    private static final Logger LOG = LoggerFactory.getLogger(OutOfMemoryWatch.class);
    private static final long PAUSE = 1000;
    private static final long LOOK = 100;

    private final OciRuntime runtime;
    private final Supplier<ImmutableList<HostedContainer>> containers;
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();

    /** @param count how often it had by then */
    private record Event(HostedContainer container, long count) {}

    private OutOfMemoryWatch(OciRuntime runtime, Supplier<ImmutableList<HostedContainer>> containers) {
        this.runtime = runtime;
        this.containers = containers;
    }

    /** Begins to look at those that run. */
    static OutOfMemoryWatch begin(OciRuntime runtime, Supplier<ImmutableList<HostedContainer>> containers) {
        OutOfMemoryWatch watch = new OutOfMemoryWatch(runtime, containers);
        Thread _ = Thread.ofVirtual().name("out of memory").start(watch::watch);
        return watch;
    }

    /** Waits for the next container that has run out of memory. That it was told is noted when it is handed out, and not before. */
    String next() throws InterruptedException {
        while (true) {
            Event event = events.poll(LOOK, TimeUnit.MILLISECONDS);
            if (Context.current().isCancelled()) {
                if (event != null) {
                    events.add(event);
                }
                throw Refusals.cancelled();
            }
            if (event != null) {
                note(event);
                return event.container().id();
            }
        }
    }

    private static void note(Event event) {
        try {
            Files.writeString(event.container().outOfMemoryFile(), Long.toString(event.count()));
        } catch (IOException e) {
            // It may be told twice for that, or has been removed.
            LOG.debug("container {}: {}", event.container().id(), e.getMessage());
        }
    }

    private void watch() {
        try {
            while (true) {
                Thread.sleep(PAUSE);
                for (HostedContainer container : containers.get()) {
                    if (container.isStarted() && !container.hasEnded()) {
                        look(container);
                    }
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Has it told if there is something new. */
    void look(HostedContainer container) {
        try {
            long now = runtime.outOfMemory(container.id());
            if (now > told(container) && container.isNewlyOutOfMemory(now)) {
                events.add(new Event(container, now));
            }
        } catch (IOException e) {
            LOG.debug("whether container {} has run out of memory: {}", container.id(), e.getMessage());
        }
    }

    private static long told(HostedContainer container) throws IOException {
        try {
            return Long.parseLong(Files.readString(container.outOfMemoryFile()).strip());
        } catch (NoSuchFileException | NumberFormatException e) {
            return 0;
        }
    }
}
