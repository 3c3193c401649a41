package io.homeostat.reconcile.runtime.kata;

import com.google.protobuf.ByteString;
import io.grpc.StatusRuntimeException;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.LogAppends;
import io.homeostat.desired.model.guest.ContainerSettings.InPlace;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.guest.GuestFailure;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.proto.kata.AgentServiceGrpc;
import io.homeostat.proto.kata.AgentServiceGrpc.AgentServiceBlockingStub;
import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.proto.kata.MemoryData;
import io.homeostat.proto.kata.ReadStreamRequest;
import io.homeostat.proto.kata.WaitProcessRequest;
import io.homeostat.reconcile.runtime.kata.Guests.Guest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes what a container prints into the log of its workload, all of it, and after that how its first process has ended: an agent forgets
 * what was not read once it has told that. A reader begins before the container is started, and reads on whatever becomes of the bytes, as
 * one that nobody reads from waits for ever. What was asked for when a connection breaks is lost: one piece of each stream.
 */
final class ContainerFollower implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ContainerFollower.class);

    /** The most that is read at once. */
    private static final int PIECE = 256 << 10;

    private static final Duration PAUSE = Duration.ofSeconds(1);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** An event that a container has run out of memory comes beside its end, and may come after it. */
    private static final Duration SIGNALLED_WITHIN = Duration.ofSeconds(10);

    private static final Duration EVENT_WITHIN = Duration.ofMillis(500);

    private static final int SIGNAL_BASE = 128;
    private static final int LAST_SIGNAL = 64;
    private static final int KILLED = 137;

    /** Limits are whole pages, and what is used may be counted a few pages behind. */
    private static final long PAGES = 64 << 10;

    private final Instance instance;
    private final Identity.Container container;
    private final boolean terminal;
    private final Guest guest;
    private final ContainerNotes notes;
    private final LogAppends logs;
    private final InstantSource clock;
    private final Thread thread;
    private final Thread errors;

    /** Completed once an event tells that it has run out of memory. */
    private final CompletableFuture<Boolean> outOfMemory = new CompletableFuture<>();

    /** How it has ended; empty when nobody there knows of it any more. */
    private final CompletableFuture<Optional<Exit>> end = new CompletableFuture<>();

    private long lost;
    private String lostWhy = "";
    private volatile boolean closed;

    /**
     * Takes nothing before it is begun.
     *
     * @param terminal whether its output is one stream
     * @param ended called when its end is known, by a thread of its own
     */
    ContainerFollower(
            Instance instance,
            Identity.Container container,
            boolean terminal,
            Guest guest,
            ContainerNotes notes,
            LogAppends logs,
            InstantSource clock,
            Consumer<Instance> ended) {
        this.instance = instance;
        this.container = container;
        this.terminal = terminal;
        this.guest = guest;
        this.notes = notes;
        this.logs = logs;
        this.clock = clock;
        String name = instance.workload().brief();
        this.thread = Thread.ofVirtual().name("output of " + name).unstarted(() -> {
            run();
            if (isOver()) {
                ended.accept(instance);
            }
        });
        this.errors = Thread.ofVirtual().name("errors of " + name).unstarted(() -> drained(true));
    }

    ContainerFollower begin() {
        thread.start();
        if (!terminal) {
            errors.start();
        }
        return this;
    }

    GuestEndpoint endpoint() {
        return guest.endpoint();
    }

    /** A process of it was killed by the kernel. */
    void outOfMemory() {
        if (!outOfMemory.complete(true)) {
            return;
        }
        try {
            LaunchDirectories.mark(notes.outOfMemoryFile(instance), instance);
        } catch (ActuationFailure e) {
            LOG.warn("[{}] {}", instance.workload().brief(), e.getMessage());
        }
    }

    /** Whether it has ended, and all that it has printed was taken. */
    boolean isOver() {
        return end.isDone() && !end.isCancelled();
    }

    /** Whether its end will be known here; not after {@link #isOver}, nor when it was given up. */
    boolean follows() {
        return !end.isDone();
    }

    /** How it has ended; empty as long as it runs, and when nobody knows. */
    Optional<Exit> exit() {
        return isOver() ? end.getNow(Optional.empty()) : Optional.empty();
    }

    /** Whether it has ended before a time is over. */
    boolean awaitEnd(Duration timeout) throws InterruptedException {
        return guest.timing().await(end, timeout);
    }

    private void run() {
        try {
            if (drained(false)) {
                errors.join();
                // What was lost last is said, too, if it can be.
                append(ByteBuffer.allocate(0));
                Optional<Exit> exit = waitFor();
                if (exit.isPresent()) {
                    notes.writeExit(instance, exit.get());
                }
                end.complete(exit);
            }
        } catch (ActuationFailure e) {
            // Whoever looks later finds that it has ended, and not how.
            LOG.warn(
                    "[{}] how it has ended was not written down: {}",
                    instance.workload().brief(),
                    e.getMessage());
            end.complete(Optional.of(new Exit(null, null, Exit.Reason.UNKNOWN, clock.instant())));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            end.cancel(false);
        }
    }

    /** @return false when it was given up */
    private boolean drained(boolean isError) {
        try {
            while (true) {
                try {
                    ByteString bytes = read(isError);
                    if (bytes.isEmpty()) {
                        return true;
                    }
                    append(bytes.asReadOnlyByteBuffer());
                    guest.awaitOutputTurn(bytes.size());
                } catch (StatusRuntimeException e) {
                    if (isTheEnd(GuestFailure.of(e))) {
                        return true;
                    }
                    guest.timing().sleep(PAUSE);
                } catch (UnreachableGuest e) {
                    guest.timing().sleep(PAUSE);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private ByteString read(boolean isError) throws UnreachableGuest {
        ReadStreamRequest request = ReadStreamRequest.newBuilder()
                .setContainerId(container.containerId())
                .setExecId(container.containerId())
                .setLen(PIECE)
                .build();
        return (isError ? agent().readStderr(request) : agent().readStdout(request)).getData();
    }

    /** It is not told when we would stop waiting, as we don't. */
    private AgentServiceBlockingStub agent() throws UnreachableGuest {
        return AgentServiceGrpc.newBlockingStub(guest.streams().channel());
    }

    private boolean isTheEnd(GuestFailure failure) throws InterruptedException {
        if (closed) {
            throw new InterruptedException("nobody wants its output any more");
        }
        return switch (failure.kind()) {
            case NO_CONTAINER, NO_PROCESS -> true;
            case SILENT, LOST, OURS -> false;
            case NOT_SUPPORTED, DENIED, REFUSED, BUSY -> {
                if (!terminal || !failure.isEndOfTerminal()) {
                    LOG.warn(
                            "[{}] what it prints can't be read any more: {}",
                            instance.workload().brief(),
                            failure.words());
                }
                yield true;
            }
        };
    }

    /** What can't be kept is counted, and its log says so once it can: whoever waits to be read from would wait for ever. */
    private synchronized void append(ByteBuffer bytes) {
        try {
            if (lost > 0) {
                byte[] line = LogAppends.lossLine(lost, lostWhy).getBytes(StandardCharsets.UTF_8);
                logs.append(instance.workload(), ByteBuffer.wrap(line));
                LOG.warn(
                        "[{}] {} bytes that it has printed are lost",
                        instance.workload().brief(),
                        lost);
                lost = 0;
            }
            if (bytes.hasRemaining()) {
                logs.append(instance.workload(), bytes);
            }
        } catch (IOException e) {
            if (lost == 0) {
                LOG.warn("[{}] what it prints is lost: {}", instance.workload().brief(), e.getMessage());
            }
            lost += bytes.remaining();
            lostWhy = IoReason.of(e);
        }
    }

    /** Empty when nobody there knows of it. */
    private Optional<Exit> waitFor() throws InterruptedException {
        WaitProcessRequest request = WaitProcessRequest.newBuilder()
                .setContainerId(container.containerId())
                .setExecId(container.containerId())
                .build();
        while (true) {
            try {
                return Optional.of(exit(agent().waitProcess(request).getStatus()));
            } catch (StatusRuntimeException e) {
                GuestFailure failure = GuestFailure.of(e);
                if (isTheEnd(failure)) {
                    return failure.kind() == GuestFailure.Kind.NO_CONTAINER
                            ? Optional.empty()
                            : Optional.of(new Exit(null, null, Exit.Reason.UNKNOWN, clock.instant()));
                }
                guest.timing().sleep(PAUSE);
            } catch (UnreachableGuest e) {
                guest.timing().sleep(PAUSE);
            }
        }
    }

    private Exit exit(int status) throws InterruptedException {
        int signal = status - SIGNAL_BASE;
        Integer known = signal >= 1 && signal <= LAST_SIGNAL ? signal : null;
        Exit.Reason reason = status == 0 ? Exit.Reason.EXITED : reason(status, known);
        return new Exit(status, known, reason, clock.instant());
    }

    private Exit.Reason reason(int status, @Nullable Integer signal) throws InterruptedException {
        if (outOfMemory.isDone() || Files.exists(notes.outOfMemoryFile(instance))) {
            return Exit.Reason.OOM_KILLED;
        }
        Optional<Long> limit = status == KILLED && !isSignalled() ? memoryLimit() : Optional.empty();
        if (limit.isPresent()) {
            if (guest.timing().await(outOfMemory, EVENT_WITHIN)) {
                return Exit.Reason.OOM_KILLED;
            }
            if (hasUsed(limit.get())) {
                return Exit.Reason.OOM_INFERRED;
            }
        }
        return signal == null ? Exit.Reason.EXITED : Exit.Reason.SIGNALED;
    }

    /** By us, and just now: one that has lived on for longer may well have run out of memory. */
    private boolean isSignalled() {
        try {
            return notes.isSignalledSince(instance, clock.instant().minus(SIGNALLED_WITHIN));
        } catch (IOException e) {
            LOG.debug("[{}] {}", instance.workload().brief(), e.getMessage());
            return false;
        }
    }

    private Optional<Long> memoryLimit() {
        try {
            return notes.given(instance).map(InPlace::memory).map(Size::bytes);
        } catch (IOException e) {
            LOG.debug("[{}] {}", instance.workload().brief(), e.getMessage());
            return Optional.empty();
        }
    }

    /** Whether it has had all the memory that it may: then it was hardly killed by anybody else. */
    private boolean hasUsed(long limit) {
        if (!(guest.probes(TIMEOUT).usage(container.containerId())
                        instanceof Observation.Seen<Optional<CgroupStats>>(Optional<CgroupStats> usage))
                || usage.isEmpty()) {
            return false;
        }
        MemoryData memory = usage.get().getMemoryStats().getUsage();
        return memory.getFailcnt() > 0 || memory.getMaxUsage() >= limit - PAGES;
    }

    @Override
    public void close() {
        closed = true;
        errors.interrupt();
        thread.interrupt();
    }
}
