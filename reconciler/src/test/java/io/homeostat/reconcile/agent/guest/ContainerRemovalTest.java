package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Context;
import io.grpc.Status;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.PauseContainerRequest;
import io.homeostat.proto.kata.RemoveContainerRequest;
import io.homeostat.proto.kata.Storage;
import io.homeostat.proto.kata.WaitProcessRequest;
import io.homeostat.reconcile.agent.frontend.FakeAgent;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Removals that break off, and the next agent after a kill at each step of a container's life. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ContainerRemovalTest extends SandboxTestBed {
    private static final Duration LONGEST = Duration.ofSeconds(30);
    private static final Executor THREADS = work -> Thread.ofVirtual().start(work);
    private static final String BUSY = "{\"level\": \"error\", \"msg\": \"busy\"}";

    /** The guest agent was killed and starts again. */
    private void restart() throws IOException, InterruptedException {
        guest = new TestGuest(directory);
        machine = guest.boot();
        service = new GuestService(machine);
    }

    private CreateContainerRequest.Builder container() throws IOException {
        return guest.container("app")
                .addStorages(Storage.newBuilder()
                        .setDriver("ephemeral")
                        .setMountPoint(guest.paths.root().resolve("data").toString()));
    }

    private void create() throws IOException {
        CreateContainerRequest request = container().build();
        Answer.of(service::createContainer, request);
    }

    private void start() {
        Answer.of(service::startContainer, TestGuest.startOf("app"));
    }

    private static RemoveContainerRequest removal(int timeout) {
        return RemoveContainerRequest.newBuilder()
                .setContainerId("app")
                .setTimeout(timeout)
                .build();
    }

    private void remove() {
        Answer.of(service::removeContainer, removal(0));
    }

    private Status.Code refused() {
        return Answer.refusal(service::removeContainer, removal(0));
    }

    private int await() {
        return Answer.of(
                        service::waitProcess,
                        WaitProcessRequest.newBuilder().setContainerId("app").build())
                .getStatus();
    }

    private void awaitNothing() {
        Awaitility.await().atMost(LONGEST).until(() -> !Files.exists(guest.paths.container("app")));
        Awaitility.await()
                .atMost(LONGEST)
                .until(() -> !Files.exists(guest.paths.containers().resolve(".app")));
    }

    @Test
    void aRemovalThatTheRuntimeRefusesIsFinishedLater() throws IOException {
        create();
        start();
        guest.commands.failNext("delete --force", BUSY);

        assertEquals(Status.Code.INTERNAL, refused());

        awaitNothing();
        assertEquals(List.of(TestGuest.workload("app")), guest.agent.withdrawn());
    }

    @Test
    void aRemovalWithoutAnAgentIsUnavailableAndFinishedLater() throws IOException {
        create();
        start();
        guest.agent.failNext("withdraw", "no agent");

        assertEquals(Status.Code.UNAVAILABLE, refused());

        awaitNothing();
        assertEquals(List.of(TestGuest.workload("app")), guest.agent.withdrawn());
    }

    @Test
    void aContainerThatIsBeingRemovedIsThereForNobodyElse() throws IOException {
        create();
        start();
        AtomicBoolean isAway = new AtomicBoolean(true);
        guest.agent.onWithdraw(workload -> {
            if (isAway.get()) {
                throw new CommandFailure("no agent");
            }
        });
        assertEquals(Status.Code.UNAVAILABLE, refused());
        CreateContainerRequest request = container().build();

        assertEquals(
                Status.Code.INVALID_ARGUMENT,
                Answer.refusal(
                        service::pauseContainer,
                        PauseContainerRequest.newBuilder().setContainerId("app").build()));
        assertEquals(Status.Code.INTERNAL, Answer.refusal(service::startContainer, TestGuest.startOf("app")));
        assertEquals(Status.Code.UNAVAILABLE, Answer.refusal(service::createContainer, request));
        isAway.set(false);
        awaitNothing();
    }

    @Test
    void aRemovalIsFinishedAlthoughItsCallerGaveUp() throws IOException {
        create();
        start();
        Context.CancellableContext call = Context.ROOT.withCancellation();
        call.cancel(null);

        call.run(() -> {
            Context before = Context.current();
            remove();
            assertEquals(before, Context.current(), "the context of the caller is its own again");
        });

        assertFalse(Files.exists(guest.paths.container("app")));
    }

    @Test
    void aRemovalDoesNotWaitForAStartThatHangs() throws IOException, InterruptedException {
        guest.startNothing();
        create();
        guest.agent.set(FakeAgent.pending(TestGuest.workload("app")));
        guest.agent.onDeclare(origin -> guest.runtime.set("app", "created"));
        CompletableFuture<Status.Code> starting = CompletableFuture.supplyAsync(
                () -> Answer.refusal(service::startContainer, TestGuest.startOf("app")), THREADS);
        Awaitility.await().atMost(LONGEST).until(() -> guest.agent.followers() > 0);

        CompletableFuture<Boolean> removing = CompletableFuture.supplyAsync(
                () -> {
                    Answer.of(service::removeContainer, removal(1));
                    return true;
                },
                THREADS);
        Awaitility.await()
                .atMost(LONGEST)
                .until(() -> guest.runtime.state("app").equals("stopped"));
        assertFalse(removing.isDone(), "the start goes on");
        guest.exit("app", 137);

        assertEquals(Status.Code.INTERNAL, starting.join());
        assertTrue(removing.join());
        assertFalse(Files.exists(guest.paths.container("app")));
    }

    @Test
    void theNextAgentKnowsAContainerThatRuns() throws IOException, InterruptedException {
        create();
        start();

        restart();
        Awaitility.await().atMost(LONGEST).until(() -> !guest.agent.declared().isEmpty());
        Awaitility.await().atMost(LONGEST).until(() -> guest.agent.followers() > 0);

        guest.exit("app", 6);
        assertEquals(6, await());
    }

    @Test
    void theNextAgentDoesNotStartWhatWasNotStarted() throws IOException, InterruptedException {
        create();

        restart();

        assertEquals(1, machine.containers().all().size());
        assertEquals(List.of(), guest.agent.followed());
        start();
        assertEquals(1, guest.agent.declared().size());
    }

    @Test
    void theNextAgentTriesADeclarationAgain() throws IOException, InterruptedException {
        create();
        start();
        guest = new TestGuest(directory);
        guest.agent.failNext("declare", "no agent");
        machine = guest.boot();

        Awaitility.await().atMost(LONGEST).until(() -> !guest.agent.declared().isEmpty());
        Awaitility.await().atMost(LONGEST).until(machine.containers().get("app")::isDeclared);
    }

    @Test
    void whatWasHalfMadeOrIsNoneIsDeleted() throws IOException, InterruptedException {
        create();
        Path half = Files.createDirectory(guest.paths.containers().resolve(".half"));
        Path empty = Files.createDirectory(guest.paths.containers().resolve("empty"));

        restart();

        assertFalse(Files.exists(half));
        assertFalse(Files.exists(empty));
        assertTrue(Files.exists(guest.paths.container("app")));
    }

    /** The agent is killed before or after this step. */
    @ParameterizedTest
    @CsvSource({"mount -t, false", "mount -t, true", "mkfifo, false", "mkfifo, true"})
    void aContainerWhoseMakerWasKilledIsNoneAndCanBeMade(String step, boolean isDone)
            throws IOException, InterruptedException {
        KillPoint kill = guest.mortal();
        guest.commands.killAt(step, isDone, kill);
        assertThrows(KillPoint.Killed.class, this::create);
        kill.restore();

        restart();

        assertEquals(List.of(), machine.containers().all());
        assertFalse(Files.exists(guest.paths.containers().resolve(".app")));
        create();
        start();
        assertTrue(guest.mounts().contains(guest.paths.root().resolve("data").toString()));
    }

    @ParameterizedTest
    @CsvSource({"false", "true"})
    void aContainerWhoseStarterWasKilledIsStartedByTheNextAgent(boolean isDeclared)
            throws IOException, InterruptedException {
        create();
        KillPoint kill = guest.mortal();
        guest.agent.onDeclare(origin -> {
            if (isDeclared) {
                guest.run("app");
            }
            throw killed(kill);
        });
        assertThrows(KillPoint.Killed.class, this::start);
        kill.restore();

        restart();

        Awaitility.await().atMost(LONGEST).until(() -> !guest.agent.declared().isEmpty());
        start();
        assertEquals(
                TestGuest.PID + "",
                Files.readString(guest.paths.container("app").resolve("pid")));
    }

    private static KillPoint.Killed killed(KillPoint kill) {
        try {
            return kill.kill();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "kill --all, false",
        "kill --all, true",
        "delete --force, false",
        "delete --force, true",
        "umount, false",
        "umount, true"
    })
    void aRemovalWhoseAgentWasKilledIsFinishedByTheNextOne(String step, boolean isDone)
            throws IOException, InterruptedException {
        create();
        start();
        KillPoint kill = guest.mortal();
        guest.commands.killAt(step, isDone, kill);
        assertThrows(KillPoint.Killed.class, this::remove);
        Awaitility.await().atMost(LONGEST).until(() -> kill.holds("container app"));
        kill.restore();

        restart();

        awaitNothing();
        assertEquals("", guest.runtime.state("app"));
        assertEquals(List.of(TestGuest.workload("app")), guest.agent.withdrawn());
        assertFalse(guest.mounts().contains(guest.paths.root().resolve("data").toString()));
        assertEquals(List.of(), machine.containers().all());
    }

    @ParameterizedTest
    @CsvSource({"false", "true"})
    void aWithdrawalWhoseAgentWasKilledIsRepeated(boolean isSecond) throws IOException, InterruptedException {
        create();
        start();
        KillPoint kill = guest.mortal();
        guest.agent.onWithdraw(workload -> {
            if (isSecond) {
                guest.runtime.set("app", "running");
            }
            throw killed(kill);
        });
        assertThrows(KillPoint.Killed.class, this::remove);
        Awaitility.await().atMost(LONGEST).until(() -> kill.holds("container app"));
        kill.restore();

        restart();

        awaitNothing();
        assertEquals("", guest.runtime.state("app"));
        assertEquals(List.of(TestGuest.workload("app")), guest.agent.withdrawn());
    }
}
