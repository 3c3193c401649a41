package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.grpc.Context;
import io.grpc.Status;
import io.homeostat.proto.kata.GetOOMEventRequest;
import io.homeostat.proto.kata.RemoveContainerRequest;
import io.homeostat.proto.kata.WaitProcessRequest;
import io.homeostat.proto.kata.WaitProcessResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** GetOOMEvent: each time that memory runs out is reported once, whichever agent looks. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class OutOfMemoryEventsTest extends SandboxTestBed {
    private static final String APP = "app";

    private void start() throws IOException {
        guest.start(service, APP);
    }

    private void end() {
        guest.exit(APP, 0);
        WaitProcessResponse _ = Answer.of(
                service::waitProcess,
                WaitProcessRequest.newBuilder().setContainerId(APP).build());
    }

    private void outOfMemory(int times) throws IOException {
        outOfMemory(APP, times);
    }

    private void outOfMemory(String id, int times) throws IOException {
        Path group = Files.createDirectories(guest.root.resolve("group-of-" + id));
        Files.writeString(group.resolve("memory.events"), "oom_kill " + times + "\n");
        Files.writeString(
                guest.paths.runtime().resolve(id).resolve("state.json"),
                "{\"cgroup_paths\": {\"\": \"" + group + "\"}}");
        machine.containers().memory().look(machine.containers().get(id));
    }

    private String outOfMemoryEvent() {
        return Answer.of(service::getOOMEvent, GetOOMEventRequest.getDefaultInstance())
                .getContainerId();
    }

    private boolean isToldSomething() {
        Context.CancellableContext call = Context.ROOT.withCancellation();
        call.cancel(null);
        call.run(() -> assertEquals(
                Status.Code.CANCELLED, Answer.refusal(service::getOOMEvent, GetOOMEventRequest.getDefaultInstance())));
        return Files.exists(guest.paths.container(APP).resolve("out-of-memory"));
    }

    @Test
    void eachTimeMemoryRunsOutIsToldOnceAndAcrossAgents() throws IOException, InterruptedException {
        start();
        outOfMemory(0);
        assertFalse(isToldSomething());
        outOfMemory(1);
        outOfMemory(1);
        assertFalse(isToldSomething(), "whoever gives up gets nothing");
        assertEquals(APP, outOfMemoryEvent());
        assertEquals("1", Files.readString(guest.paths.container(APP).resolve("out-of-memory")));

        guest = new TestGuest(directory);
        machine = guest.boot();
        service = new GuestService(machine);
        outOfMemory(1);
        outOfMemory(3);
        assertEquals(APP, outOfMemoryEvent());
        assertEquals("3", Files.readString(guest.paths.container(APP).resolve("out-of-memory")));
    }

    @Test
    void whatWasSeenTwiceIsToldOnce() throws IOException {
        start();
        guest.start(service, "other");
        outOfMemory(1);
        outOfMemory(1);
        outOfMemory("other", 1);

        assertEquals(APP, outOfMemoryEvent());
        assertEquals("other", outOfMemoryEvent());
    }

    @Test
    void theLastTimeMemoryRanOutIsToldAtTheEnd() throws IOException {
        start();
        Path group = Files.createDirectories(guest.root.resolve("group"));
        Files.writeString(group.resolve("memory.events"), "oom_kill 1\n");
        Files.writeString(
                guest.paths.runtime().resolve(APP).resolve("state.json"),
                "{\"cgroup_paths\": {\"\": \"" + group + "\"}}");

        end();

        assertEquals(APP, outOfMemoryEvent());
    }

    @Test
    void anEventOfAContainerThatWasRemovedOrWhoseCountIsDamagedIsTold() throws IOException {
        start();
        guest.note(APP, "out-of-memory", "nonsense");
        outOfMemory(1);
        Answer.of(
                service::removeContainer,
                RemoveContainerRequest.newBuilder().setContainerId(APP).build());

        assertEquals(APP, outOfMemoryEvent());
    }
}
