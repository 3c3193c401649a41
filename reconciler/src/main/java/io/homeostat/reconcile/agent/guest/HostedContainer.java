package io.homeostat.reconcile.agent.guest;

import io.grpc.Context;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A container that was asked for. What has become of it stands in its directory; in memory is what this process alone does with it. */
final class HostedContainer {
    private static final long LOOK = 100;

    /** Commands that have ended and are remembered. */
    private static final int MOST_ENDED = 20;

    /** Commands that have not ended. Each has a process of the runtime, which no limit of the container counts. */
    private static final int MOST_RUNNING = 32;

    private final String id;
    private final Path directory;
    private final CreateContainerRequest request;
    private final WorkloadId workload;
    private final ContainerStream stdout;
    private final ContainerStream stderr;
    private final ReentrantLock turn = new ReentrantLock(true);
    private final CompletableFuture<Integer> end = new CompletableFuture<>();
    private final Map<String, HostedExec> execs = new LinkedHashMap<>();
    private final Set<String> beginning = new HashSet<>();
    private final AtomicBoolean ending = new AtomicBoolean();
    private final AtomicBoolean removedLater = new AtomicBoolean();
    private final AtomicLong outOfMemory = new AtomicLong();
    private volatile boolean declared;
    private volatile @Nullable WorkloadLook look;

    /**
     * One of which nothing is known yet but what stands in its directory.
     *
     * @param log what it prints
     * @param errors the same of its standard error
     */
    HostedContainer(
            String id, Path directory, CreateContainerRequest request, WorkloadId workload, Path log, Path errors) {
        this.id = id;
        this.directory = directory;
        this.request = request;
        this.workload = workload;
        this.stdout = new ContainerStream(log, directory.resolve("stdout.read"));
        this.stderr = new ContainerStream(errors, directory.resolve("stderr.read"));
    }

    String id() {
        return id;
    }

    /** Its bundle, and notes of ours. */
    Path directory() {
        return directory;
    }

    CreateContainerRequest request() {
        return request;
    }

    WorkloadId workload() {
        return workload;
    }

    boolean hasTerminal() {
        return request.getOCI().getProcess().getTerminal();
    }

    ContainerStream output(boolean isError) {
        return isError ? stderr : stdout;
    }

    /** Held by who creates, starts or removes it; never by who signals or asks. */
    ReentrantLock turn() {
        return turn;
    }

    /** There as soon as it was asked to start. */
    Path startedFile() {
        return directory.resolve("started");
    }

    boolean isStarted() {
        return Files.exists(startedFile());
    }

    /** There as soon as nobody wants it any more. */
    Path removedFile() {
        return directory.resolve("removed");
    }

    /** The number of its first process, once that runs. */
    Path pidFile() {
        return directory.resolve("pid");
    }

    Path runtimeLog() {
        return directory.resolve("runtime.log");
    }

    /** A pipe that its standard input comes from. */
    Path stdin() {
        return directory.resolve("stdin");
    }

    /** There as soon as nothing more is to come. */
    Path stdinClosedFile() {
        return directory.resolve("stdin.closed");
    }

    /** The exit status of its first process. */
    Path exitFile() {
        return directory.resolve("exit");
    }

    /** How often it has run out of memory, as far as was told. */
    Path outOfMemoryFile() {
        return directory.resolve("out-of-memory");
    }

    @Nullable
    WorkloadLook look() {
        return look;
    }

    void seen(WorkloadLook now) {
        look = now;
    }

    /** Its exit status, 128 and its number for a signal; whoever waits for it and gives up leaves it alone. */
    CompletableFuture<Integer> end() {
        return end.copy();
    }

    /** Whether it has run out of memory more often than was last said here. */
    boolean isNewlyOutOfMemory(long count) {
        return outOfMemory.getAndAccumulate(count, Math::max) < count;
    }

    void declared() {
        declared = true;
    }

    /** Whether this process has declared it, so that it should be known. */
    boolean isDeclared() {
        return declared;
    }

    /** True the first time. */
    boolean isRemovedLater() {
        return removedLater.compareAndSet(false, true);
    }

    /** True the first time. */
    boolean beginsToEnd() {
        return ending.compareAndSet(false, true);
    }

    boolean hasEnded() {
        return end.isDone();
    }

    /** Waits for an end, of its first process or of another one; that can be read again. */
    static int await(Future<Integer> end) throws InterruptedException {
        while (true) {
            try {
                return end.get(LOOK, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                if (Context.current().isCancelled()) {
                    throw Refusals.cancelled();
                }
            } catch (ExecutionException e) {
                throw new IllegalStateException("an end is always a value", e);
            }
        }
    }

    void ended(int status) {
        end.complete(status);
    }

    /** Begins a command in it, which is remembered by its id. */
    interface Beginning {
        HostedExec begin() throws IOException, InterruptedException;
    }

    /** @throws io.grpc.StatusRuntimeException also when there is one with that id, or too many that have not ended */
    void exec(String exec, Beginning begin) throws IOException, InterruptedException {
        synchronized (execs) {
            if (execs.containsKey(exec) || beginning.contains(exec)) {
                throw Refusals.internal("there is a command '" + exec + "' in it already");
            }
            forgetOldest();
            long running =
                    execs.values().stream().filter(one -> !one.hasEnded()).count();
            if (running + beginning.size() >= MOST_RUNNING) {
                throw Refusals.exhausted(MOST_RUNNING + " commands in container " + id
                        + " have not ended, and more are not started; ask again when one has");
            }
            beginning.add(exec);
        }
        try {
            HostedExec begun = begin.begin();
            synchronized (execs) {
                execs.put(exec, begun);
            }
        } finally {
            synchronized (execs) {
                beginning.remove(exec);
            }
        }
    }

    private void forgetOldest() {
        long ended = execs.values().stream().filter(HostedExec::hasEnded).count();
        for (Iterator<HostedExec> each = execs.values().iterator(); ended >= MOST_ENDED && each.hasNext(); ) {
            HostedExec one = each.next();
            if (one.hasEnded()) {
                one.abandon();
                each.remove();
                ended--;
            }
        }
    }

    /** @throws io.grpc.StatusRuntimeException when there is none */
    HostedExec exec(String exec) {
        synchronized (execs) {
            HostedExec found = execs.get(exec);
            if (found == null) {
                throw Refusals.noProcess();
            }
            return found;
        }
    }

    /** Nobody waits for its commands any more. */
    void abandonExecs() {
        synchronized (execs) {
            execs.values().forEach(HostedExec::abandon);
        }
    }
}
