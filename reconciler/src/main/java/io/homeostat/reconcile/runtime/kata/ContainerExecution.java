package io.homeostat.reconcile.runtime.kata;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import io.grpc.StatusRuntimeException;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.guest.ContainerSettings.InPlace;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.guest.GuestFailure;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.observe.ttrpc.TtrpcChannel;
import io.homeostat.proto.kata.AgentServiceGrpc;
import io.homeostat.proto.kata.AgentServiceGrpc.AgentServiceBlockingStub;
import io.homeostat.proto.kata.CloseStdinRequest;
import io.homeostat.proto.kata.ExecProcessRequest;
import io.homeostat.proto.kata.Process;
import io.homeostat.proto.kata.ReadStreamRequest;
import io.homeostat.proto.kata.TtyWinResizeRequest;
import io.homeostat.proto.kata.WaitProcessRequest;
import io.homeostat.proto.kata.WriteStreamRequest;
import io.homeostat.reconcile.runtime.Execution;
import io.homeostat.reconcile.runtime.kata.GuestChanges.Refused;
import io.homeostat.reconcile.runtime.kata.Guests.Guest;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A command in a container, run as its first process is. It is read from by threads of its own, which wait for who takes what they read. */
final class ContainerExecution implements Execution {
    private static final Logger LOG = LoggerFactory.getLogger(ContainerExecution.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final Duration LONGEST = Duration.ofDays(1);

    /** How long the end of a command that nobody waits for any more is waited for. */
    private static final Duration FORGETTING = Duration.ofMinutes(1);

    /** For what an agent does at once, unless it hangs. */
    private static final Duration SOON = Duration.ofSeconds(5);

    private static final int PIECE = 64 << 10;
    private static final int SIGKILL = 9;
    private static final int STATUSES = 256;

    /** What a reader has for who takes it. */
    private sealed interface Told {
        record Heard(Event event) implements Told {}

        record Failed(ActuationFailure failure) implements Told {}
    }

    private final Guest guest;
    private final TtrpcChannel channel;
    private final String container;
    private final String id = "exec-" + UUID.randomUUID();
    private final boolean terminal;
    private final BlockingQueue<Told> heard = new SynchronousQueue<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean over;

    private ContainerExecution(Guest guest, TtrpcChannel channel, String container, boolean terminal) {
        this.guest = guest;
        this.channel = channel;
        this.container = container;
        this.terminal = terminal;
    }

    /**
     * Begins one.
     *
     * @param timeout of the call that begins it
     * @throws ActuationFailure also for one that is paused: its agent would never do anything again
     */
    static ContainerExecution begin(Containers containers, Instance instance, Request request, Duration timeout)
            throws ActuationFailure, InterruptedException {
        Identity.Container identity = Containers.identity(instance)
                .filter(Identity.Container::started)
                .orElseThrow(() -> refused(instance.workload().brief() + " has not been started yet"));
        ContainerNotes notes = containers.notes();
        try {
            Process process = notes.process(instance)
                    .orElseThrow(() -> refused(
                            "how " + instance.workload().brief() + " was launched is not known any more; restart it"));
            Guest guest = containers.guest(identity);
            ContainerExecution execution = new ContainerExecution(
                    guest, guest.streams().channel(), identity.containerId(), request.terminal());
            try (CommandTurn _ = CommandTurn.take(
                    notes.turnFile(instance), instance, containers.guests().timing(), timeout)) {
                if (notes.given(instance).filter(InPlace::frozen).isPresent()) {
                    throw refused(instance.workload().brief()
                            + " is frozen, and its guest would hang for ever; declare frozen: false first");
                }
                execution.start(
                        process.toBuilder()
                                .clearArgs()
                                .addAllArgs(request.command())
                                .setTerminal(request.terminal())
                                .build(),
                        timeout);
            }
            if (!request.reads() && !request.terminal()) {
                boolean _ = execution.endInput();
            }
            return execution;
        } catch (UnreachableGuest e) {
            throw new ActuationFailure(
                    FailureCause.Kind.NO_CONNECTION,
                    instance.workload().brief() + " can't be reached: " + e.getMessage(),
                    false);
        } catch (IOException e) {
            throw new ActuationFailure(
                    "how " + instance.workload().brief() + " was launched can't be read: " + IoReason.withFile(e),
                    false,
                    e);
        }
    }

    private static ActuationFailure refused(String why) {
        return new ActuationFailure(FailureCause.Kind.REFUSED, why, false);
    }

    private AgentServiceBlockingStub agent() {
        return AgentServiceGrpc.newBlockingStub(channel);
    }

    private AgentServiceBlockingStub soon() {
        return within(SOON);
    }

    private AgentServiceBlockingStub within(Duration timeout) {
        return agent().withDeadlineAfter(guest.timing().callTimeout(timeout).toNanos(), TimeUnit.NANOSECONDS);
    }

    private void start(Process process, Duration timeout) throws ActuationFailure, InterruptedException {
        try {
            Empty _ = guest.unanswered()
                    .during(
                            "ExecProcess",
                            () -> within(timeout)
                                    .execProcess(ExecProcessRequest.newBuilder()
                                            .setContainerId(container)
                                            .setExecId(id)
                                            .setProcess(process)
                                            .build()));
        } catch (StatusRuntimeException e) {
            boolean isInterrupted = Thread.interrupted();
            GuestFailure failure = GuestFailure.of(e);
            switch (failure.kind()) {
                // It may yet begin.
                case SILENT, LOST, OURS -> closeLater();
                default -> over = true;
            }
            if (isInterrupted) {
                throw new InterruptedException("ExecProcess");
            }
            throw failed("ExecProcess", failure);
        }
        Thread errors = Thread.ofVirtual().name("errors of " + id).unstarted(() -> read(true));
        threads.add(errors);
        threads.add(Thread.ofVirtual().name("output of " + id).unstarted(() -> {
            read(false);
            follow(errors);
        }));
        if (!terminal) {
            errors.start();
        }
        threads.getLast().start();
    }

    private static ActuationFailure failed(String call, GuestFailure failure) {
        return new ActuationFailure(
                GuestChanges.causeOf(failure.kind()),
                failure.kind() == GuestFailure.Kind.SILENT
                        ? call + " was not answered in time"
                        : call + ": " + failure.words(),
                false,
                null);
    }

    private void read(boolean isError) {
        ReadStreamRequest request = ReadStreamRequest.newBuilder()
                .setContainerId(container)
                .setExecId(id)
                .setLen(PIECE)
                .build();
        try {
            while (true) {
                ByteString bytes = (isError ? agent().readStderr(request) : agent().readStdout(request)).getData();
                if (bytes.isEmpty()) {
                    return;
                }
                heard.put(new Told.Heard(new Event.Output(bytes, isError)));
                guest.awaitOutputTurn(bytes.size());
            }
        } catch (StatusRuntimeException e) {
            GuestFailure failure = GuestFailure.of(e);
            boolean ended = failure.kind() == GuestFailure.Kind.NO_PROCESS || (terminal && failure.isEndOfTerminal());
            if (!ended) {
                // Whoever waits for its end is told the same.
                LOG.debug("{} {}: {}", container, id, failure.words());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void follow(Thread errors) {
        try {
            if (!terminal) {
                errors.join();
            }
            if (!Thread.currentThread().isInterrupted()) {
                heard.put(end(agent()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Told end(AgentServiceBlockingStub agent) {
        try {
            int status = agent.waitProcess(WaitProcessRequest.newBuilder()
                            .setContainerId(container)
                            .setExecId(id)
                            .build())
                    .getStatus();
            over = true;
            return new Told.Heard(new Event.Ended(Math.floorMod(status, STATUSES)));
        } catch (StatusRuntimeException e) {
            return new Told.Failed(failed("how it has ended is not known: WaitProcess", GuestFailure.of(e)));
        }
    }

    @Override
    public Event next() throws ActuationFailure, InterruptedException {
        while (true) {
            Optional<Event> event = next(LONGEST);
            if (event.isPresent()) {
                return event.get();
            }
        }
    }

    /** What comes next; empty when nothing does in time. */
    Optional<Event> next(Duration timeout) throws ActuationFailure, InterruptedException {
        return switch (heard.poll(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
            case null -> Optional.empty();
            case Told.Heard(Event event) -> Optional.of(event);
            case Told.Failed(ActuationFailure failure) -> throw failure;
        };
    }

    /** What is to be told to it. */
    private interface Telling {
        Object tell(AgentServiceBlockingStub agent);
    }

    /** @return false when nobody listens any more */
    private boolean told(Telling telling) throws InterruptedException {
        return told(agent(), telling);
    }

    private boolean told(AgentServiceBlockingStub agent, Telling telling) throws InterruptedException {
        try {
            Object _ = telling.tell(agent);
            return true;
        } catch (StatusRuntimeException e) {
            if (Thread.interrupted()) {
                throw new InterruptedException(id);
            }
            LOG.debug("{} {}: {}", container, id, GuestFailure.of(e).words());
            return false;
        }
    }

    @Override
    public boolean write(ByteString bytes) throws InterruptedException {
        for (int at = 0; at < bytes.size(); ) {
            ByteString piece = bytes.substring(at, Math.min(bytes.size(), at + PIECE));
            int[] taken = new int[1];
            boolean reads = told(agent -> {
                taken[0] = agent.writeStdin(WriteStreamRequest.newBuilder()
                                .setContainerId(container)
                                .setExecId(id)
                                .setData(piece)
                                .build())
                        .getLen();
                return taken;
            });
            if (!reads || taken[0] <= 0) {
                return false;
            }
            at += Math.min(taken[0], piece.size());
        }
        return true;
    }

    @Override
    public boolean endInput() throws InterruptedException {
        return told(
                soon(),
                agent -> agent.closeStdin(CloseStdinRequest.newBuilder()
                        .setContainerId(container)
                        .setExecId(id)
                        .build()));
    }

    @Override
    public boolean resize(int rows, int columns) throws InterruptedException {
        return told(
                soon(),
                agent -> agent.ttyWinResize(TtyWinResizeRequest.newBuilder()
                        .setContainerId(container)
                        .setExecId(id)
                        .setRow(rows)
                        .setColumn(columns)
                        .build()));
    }

    private void kill() {
        try {
            guest.changes(TIMEOUT).signal(container, id, SIGKILL);
        } catch (Refused e) {
            LOG.debug("{} {}: {}", container, id, e.words());
        } catch (UnreachableGuest e) {
            LOG.debug("{} {}: {}", container, id, e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** As {@link #close}, by another thread: a guest that hangs holds up nobody. */
    void closeLater() {
        Thread _ = Thread.ofVirtual().name("end of " + id).start(this::close);
    }

    /** Its end is waited for, so that its agent forgets it; not for ever, as one that hangs may be asked again and again. */
    @Override
    public void close() {
        threads.forEach(Thread::interrupt);
        if (!over) {
            // Whoever has given the command up may have been interrupted for that, and would not make the call.
            Uninterruptibles.joinUninterruptibly(
                    Thread.ofVirtual().name("kill of " + id).start(this::kill));
            Thread _ = Thread.ofVirtual().name("end of " + id).start(() -> {
                Told _ = end(within(FORGETTING));
            });
        }
    }
}
