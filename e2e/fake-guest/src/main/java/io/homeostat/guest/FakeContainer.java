package io.homeostat.guest;

import io.homeostat.proto.kata.LinuxResources;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** A container, from its creation to its removal. */
final class FakeContainer {
    /** What has become of its first process. */
    enum Phase {
        CREATED,
        RUNNING,
        PAUSED
    }

    private final String id;
    private final FakeProcess first;
    /** By their exec ids; one whose status was told is gone. The first has its own id, or none. */
    private final Map<String, FakeProcess> processes = new ConcurrentHashMap<>();

    /** Counted down when somebody has looked at the pipe that a second start waits at. */
    private final CountDownLatch fifo = new CountDownLatch(1);

    private LinuxResources resources;
    private Phase phase = Phase.CREATED;
    private boolean emptied;
    private boolean exhausted;

    FakeContainer(String id, FakeProcess first, LinuxResources resources) {
        this.id = id;
        this.first = first;
        this.resources = resources;
        processes.put(id, first);
    }

    FakeProcess first() {
        return first;
    }

    Map<String, FakeProcess> processes() {
        return processes;
    }

    @Nullable
    FakeProcess process(String exec) {
        return processes.get(exec.isEmpty() ? id : exec);
    }

    void forget(FakeProcess process) {
        processes.values().remove(process);
    }

    CountDownLatch fifo() {
        return fifo;
    }

    synchronized Phase phase() {
        return phase;
    }

    synchronized void become(Phase next) {
        phase = next;
    }

    synchronized LinuxResources resources() {
        return resources;
    }

    /** What is absent stays as it is; so does what is lifted, and the number of processes is never limited. */
    synchronized void update(LinuxResources next) {
        resources = resources.toBuilder().mergeFrom(next).build();
    }

    /** A second CreateSandbox has deleted all that was in its root file system. */
    synchronized void empty() {
        emptied = true;
    }

    synchronized boolean isEmptied() {
        return emptied;
    }

    /** It has used all the memory that it may. */
    synchronized void exhaust() {
        exhausted = true;
    }

    synchronized boolean isExhausted() {
        return exhausted;
    }

    void kill() {
        processes.values().forEach(FakeProcess::kill);
        first.kill();
    }
}
