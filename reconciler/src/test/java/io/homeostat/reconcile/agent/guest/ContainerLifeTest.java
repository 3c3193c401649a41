package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.grpc.Context;
import io.grpc.Status;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.LinuxNamespace;
import io.homeostat.proto.kata.RemoveContainerRequest;
import io.homeostat.proto.kata.Root;
import io.homeostat.proto.kata.Storage;
import io.homeostat.proto.kata.WaitProcessRequest;
import io.homeostat.reconcile.agent.frontend.FakeAgent;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** CreateContainer, StartContainer, WaitProcess and RemoveContainer, as long as the guest agent lives. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ContainerLifeTest extends SandboxTestBed {
    private static final Executor THREADS = work -> Thread.ofVirtual().start(work);

    private void create(CreateContainerRequest.Builder request) {
        Answer.of(service::createContainer, request.build());
    }

    private Status.Code refusedToCreate(CreateContainerRequest.Builder request) {
        return Answer.refusal(service::createContainer, request.build());
    }

    private void start(String id) {
        Answer.of(service::startContainer, TestGuest.startOf(id));
    }

    private Status refusedToStart(String id) {
        return Answer.failure(service::startContainer, TestGuest.startOf(id));
    }

    private CompletableFuture<Status> startLater(String id) {
        return CompletableFuture.supplyAsync(() -> refusedToStart(id), THREADS);
    }

    private static RemoveContainerRequest removalOf(String id) {
        return RemoveContainerRequest.newBuilder().setContainerId(id).build();
    }

    private void remove(String id) {
        Answer.of(service::removeContainer, removalOf(id));
    }

    private Status.Code refusedToRemove(String id) {
        return Answer.refusal(service::removeContainer, removalOf(id));
    }

    private int await(String id) {
        return Answer.of(
                        service::waitProcess,
                        WaitProcessRequest.newBuilder().setContainerId(id).build())
                .getStatus();
    }

    private Storage.Builder storage(String name) {
        return Storage.newBuilder()
                .setDriver("ephemeral")
                .setMountPoint(guest.paths.root().resolve(name).toString());
    }

    private Path bundle(String file) {
        return guest.paths.container("app").resolve(file);
    }

    @Test
    void aContainerIsMadeAsABundleThatIsNotStarted() throws IOException {
        CreateContainerRequest.Builder request = guest.container("app").addStorages(storage("data"));
        for (String type : List.of("ipc", "uts")) {
            request.getOCIBuilder()
                    .getLinuxBuilder()
                    .addNamespaces(LinuxNamespace.newBuilder().setType(type));
        }
        create(request);

        JsonNode config = new ObjectMapper().readTree(bundle("config.json").toFile());
        assertTrue(config.at("/linux/cgroupsPath").asText().endsWith("-guest/app"), config::toString);
        assertEquals(
                guest.paths.namespace("ipc").toString(),
                config.at("/linux/namespaces/0/path").asText());
        assertEquals(
                guest.paths.namespace("uts").toString(),
                config.at("/linux/namespaces/1/path").asText());
        assertTrue(Files.exists(bundle("stdin")));
        assertEquals(
                List.of("mkfifo --mode=600 " + guest.paths.containers().resolve(".app/stdin")),
                guest.commands.lines("mkfifo"));
        assertTrue(guest.mounts().contains(guest.paths.root().resolve("data").toString()));
        assertFalse(Files.exists(bundle("started")));
        assertEquals(List.of(), List.copyOf(guest.agent.declared().keySet()));
    }

    @Test
    void theSameContainerAgainChangesNothingAndAnotherOneIsRefused() throws IOException {
        create(guest.container("app"));
        guest.commands.forgetLines();

        create(guest.container("app"));
        assertEquals(
                Status.Code.INTERNAL, refusedToCreate(guest.container("app").addStorages(storage("x"))));

        assertEquals(List.of(), guest.commands.lines());
        start("app");
    }

    @Test
    void aRequestThatIsRefusedLeavesNothing() throws IOException {
        assertEquals(
                Status.Code.UNIMPLEMENTED,
                refusedToCreate(guest.container("app").setSandboxPidns(true)));

        assertEquals(List.of(), machine.containers().all());
        assertFalse(Files.exists(guest.paths.container("app")));
    }

    @Test
    void aContainerWhoseRootFileSystemIsNoDirectoryLeavesNothing() throws IOException {
        CreateContainerRequest.Builder request = guest.container("app").addStorages(storage("data"));
        request.getOCIBuilder().setRoot(Root.newBuilder().setPath("/no/such/directory"));

        assertEquals(Status.Code.INTERNAL, refusedToCreate(request));

        assertFalse(guest.mounts().contains(guest.paths.root().resolve("data").toString()));
        assertFalse(Files.exists(guest.paths.containers().resolve(".app")));
        assertEquals(Status.Code.INTERNAL, refusedToStart("app").getCode());
        create(guest.container("app"));
    }

    @Test
    void aContainerWhoseStorageCanNotBeMountedLeavesNothing() throws IOException {
        guest.commands.failNext("mount -t", "no");

        assertEquals(
                Status.Code.INTERNAL, refusedToCreate(guest.container("app").addStorages(storage("data"))));

        assertFalse(Files.exists(guest.paths.containers().resolve(".app")));
        create(guest.container("app").addStorages(storage("data")));
    }

    @Test
    void aContainerThatBreaksOffLateLeavesNothing() throws IOException {
        guest.commands.failNext("mkfifo", "no");

        assertEquals(
                Status.Code.INTERNAL, refusedToCreate(guest.container("app").addStorages(storage("data"))));

        assertFalse(Files.exists(guest.paths.container("app")));
        assertFalse(Files.exists(guest.paths.containers().resolve(".app")));
        assertFalse(guest.mounts().contains(guest.paths.root().resolve("data").toString()));
    }

    @Test
    void aStartDeclaresTheContainerAndReturnsWhenItRuns() throws IOException {
        create(guest.container("app"));

        start("app");

        assertTrue(Files.exists(bundle("started")));
        assertEquals(
                List.of("guest/containers/app"),
                List.copyOf(guest.agent.declared().keySet()));
        String document = guest.agent.declared().getOrDefault("guest/containers/app", "");
        assertTrue(document.contains(TestGuest.BOOT) && document.contains("/fake/runc"), document);
        Awaitility.await()
                .atMost(Duration.ofSeconds(30))
                .until(() -> guest.agent.followed().contains(List.of(TestGuest.workload("app"))));
    }

    @Test
    void aSecondStartIsDoneAtOnce() throws IOException {
        guest.start(service, "app");

        start("app");

        assertEquals(1, guest.agent.declared().size());
    }

    @Test
    void whatIsNotThereIsNeitherStartedNorRemovedNorAwaited() {
        assertEquals(Status.Code.INTERNAL, refusedToStart("app").getCode());
        assertEquals(Status.Code.INTERNAL, refusedToRemove("app"));
        assertEquals(
                Status.Code.INVALID_ARGUMENT,
                Answer.refusal(
                        service::waitProcess,
                        WaitProcessRequest.newBuilder().setContainerId("app").build()));
    }

    @Test
    void aStartWithoutAnAgentIsUnavailableAndDoneAsSoonAsThereIsOne() throws IOException {
        create(guest.container("app"));
        guest.agent.failNext("declare", "no agent");

        assertEquals(Status.Code.UNAVAILABLE, refusedToStart("app").getCode());

        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> Files.exists(bundle("pid")));
        start("app");
    }

    @Test
    void aStartIsGivenUpAfterAMinuteWithTheProblemOfTheProcess() throws IOException {
        guest.startNothing();
        create(guest.container("app"));
        guest.agent.set(FakeAgent.seen(TestGuest.workload("app"), null, "no cgroup"));
        long before = guest.ticker.reads();
        CompletableFuture<Status> starting = startLater("app");
        // The minute has begun, and the problem is known.
        Awaitility.await()
                .atMost(Duration.ofSeconds(30))
                .until(() -> guest.ticker.reads() > before
                        && machine.containers().get("app").look() != null);
        guest.ticker.advance(Duration.ofSeconds(59));
        assertFalse(starting.isDone());

        guest.ticker.advance(Duration.ofSeconds(1));

        assertTrue(String.valueOf(starting.join().getDescription()).contains("no cgroup"));
        assertEquals(Status.Code.UNAVAILABLE, starting.join().getCode());
    }

    @Test
    void aContainerThatEndsBeforeItRunsIsAFailureWithTheWordsOfItsRuntime() throws IOException {
        guest.startNothing();
        create(guest.container("app"));
        guest.agent.onDeclare(origin -> {
            guest.note("app", "runtime.log", "{\"level\": \"error\", \"msg\": \"exec format\"}\n");
            guest.exit("app", 1);
        });

        Status refused = refusedToStart("app");

        assertEquals(Status.Code.INTERNAL, refused.getCode());
        assertEquals("exec format", refused.getDescription());
    }

    @Test
    void aContainerThatEndsBeforeItRunsIsAFailureWithTheProblemOfItsProcess() throws IOException {
        guest.startNothing();
        create(guest.container("app"));
        guest.agent.onDeclare(origin -> guest.agent.change(FakeAgent.seen(TestGuest.workload("app"), 1, "no memory")));

        Status refused = refusedToStart("app");

        assertEquals(Status.Code.INTERNAL, refused.getCode());
        assertEquals("no memory", refused.getDescription());
    }

    @Test
    void aContainerThatEndsWithoutAWordIsAFailureToo() throws IOException {
        guest.startNothing();
        create(guest.container("app"));
        guest.agent.onDeclare(origin -> {
            guest.note("app", "runtime.log", "{\"level\": \"info\", \"msg\": \"hello\"}\n");
            guest.agent.change(FakeAgent.seen(TestGuest.workload("app"), 1, ""));
        });

        Status refused = refusedToStart("app");

        assertEquals(Status.Code.INTERNAL, refused.getCode());
        assertTrue(String.valueOf(refused.getDescription()).contains("app"), refused::toString);
    }

    @Test
    void aContainerThatRanForAMomentWasStarted() throws IOException {
        guest.startNothing();
        create(guest.container("app"));
        guest.agent.onDeclare(origin -> {
            guest.run("app");
            guest.exit("app", 7);
        });

        start("app");

        assertEquals(7, await("app"));
    }

    @Test
    void aCallerThatGivesUpDoesNotWaitForTheStart() throws IOException {
        guest.startNothing();
        create(guest.container("app"));
        guest.agent.set(FakeAgent.pending(TestGuest.workload("app")));
        Context.CancellableContext call = Context.ROOT.withCancellation();
        call.cancel(null);

        call.run(() -> assertEquals(Status.Code.CANCELLED, refusedToStart("app").getCode()));

        assertTrue(Files.exists(bundle("started")), "it is started all the same");
    }

    @Test
    void theExitStatusIsThatOfTheFirstProcess() throws IOException {
        guest.start(service, "app");
        CompletableFuture<Integer> first = CompletableFuture.supplyAsync(() -> await("app"), THREADS);

        guest.exit("app", 3);

        assertEquals(3, first.join());
        assertEquals(3, await("app"));
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> guest.agent.followers() == 0);
    }

    @Test
    void aProcessThatWroteNoExitStatusHasThatOfTheAgentOrWasKilled() throws IOException {
        guest.start(service, "app");
        guest.start(service, "other");
        guest.agent.change(FakeAgent.seen(TestGuest.workload("app"), 9, ""));
        WorkloadLook known = FakeAgent.seen(TestGuest.workload("other"), 0, "");
        guest.agent.change(new WorkloadLook(
                known.workload(),
                true,
                true,
                null,
                null,
                new WorkloadLook.End(null, 9, "KILLED", Instant.EPOCH),
                false,
                "",
                0,
                known.log()));

        assertEquals(9, await("app"));
        assertEquals(137, await("other"));
    }

    @Test
    void whatIsLeftOfAContainerWhoseRuntimeEndedIsKilled() throws IOException {
        guest.start(service, "app");

        guest.agent.change(FakeAgent.seen(TestGuest.workload("app"), 0, ""));

        assertEquals(0, await("app"));
        assertEquals("stopped", guest.runtime.state("app"));
    }

    @Test
    void anEndIsToldAlthoughWhatIsLeftCanNotBeKilled() throws IOException {
        guest.start(service, "app");
        guest.commands.failNext("kill --all", "{\"level\": \"error\", \"msg\": \"busy\"}");

        guest.agent.change(FakeAgent.seen(TestGuest.workload("app"), 0, ""));

        assertEquals(0, await("app"));
    }

    @Test
    void aContainerThatTheAgentForgotHasEnded() throws IOException {
        guest.start(service, "app");

        guest.agent.change(FakeAgent.unknown(TestGuest.workload("app")));

        assertEquals(137, await("app"));
    }

    @Test
    void whatTheAgentSaidBeforeTheDeclarationIsNoEnd() throws IOException {
        guest.start(service, "app");
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> guest.agent.followers() > 0);

        guest.agent.reportLate(FakeAgent.unknown(TestGuest.workload("app")));
        guest.agent.failNext("look", "no agent");
        guest.agent.reportLate(FakeAgent.unknown(TestGuest.workload("app")));
        guest.exit("app", 5);

        assertEquals(5, await("app"));
    }

    @Test
    void aWaitThatIsGivenUpIsNoEnd() throws IOException {
        guest.start(service, "app");
        Context.CancellableContext call = Context.ROOT.withCancellation();
        call.cancel(null);

        call.run(() -> assertEquals(
                Status.Code.CANCELLED,
                Answer.refusal(
                        service::waitProcess,
                        WaitProcessRequest.newBuilder().setContainerId("app").build())));

        guest.exit("app", 4);
        assertEquals(4, await("app"));
    }

    @Test
    void aRemovalEndsTheContainerAndLeavesNothing() throws IOException {
        create(guest.container("app").addStorages(storage("own")).addStorages(storage("shared")));
        create(guest.container("other").addStorages(storage("shared")));
        start("app");
        CompletableFuture<Integer> waiting = CompletableFuture.supplyAsync(() -> await("app"), THREADS);

        remove("app");

        assertTrue(List.of(137)
                .contains(waiting.handle((status, failure) -> failure == null ? status : 137)
                        .join()));
        assertEquals(List.of(TestGuest.workload("app")), guest.agent.withdrawn());
        assertEquals("", guest.runtime.state("app"));
        assertFalse(Files.exists(guest.paths.container("app")));
        assertFalse(Files.exists(guest.paths.containers().resolve(".app")));
        assertFalse(guest.mounts().contains(guest.paths.root().resolve("own").toString()));
        assertTrue(guest.mounts().contains(guest.paths.root().resolve("shared").toString()));
        assertEquals(Status.Code.INTERNAL, refusedToRemove("app"));
        create(guest.container("app"));
    }

    @Test
    void whatAnEarlierRemovalLeftIsNotInTheWay() throws IOException {
        create(guest.container("app"));
        Path leftOver = Files.createDirectories(guest.paths.containers().resolve(".app"));
        Files.writeString(leftOver.resolve("config.json"), "{}");

        remove("app");

        assertFalse(Files.exists(leftOver));
        assertFalse(Files.exists(guest.paths.container("app")));
    }

    @Test
    void aContainerThatWasNeverStartedIsRemovedWithoutTheAgent() throws IOException {
        create(guest.container("app"));
        guest.agent.failNext("withdraw", "no agent");

        remove("app");

        assertFalse(Files.exists(guest.paths.container("app")));
        assertEquals(List.of(), guest.agent.withdrawn());
    }

    @Test
    void whatTheProcessStartedDuringARemovalIsDeletedToo() throws IOException {
        guest.start(service, "app");
        guest.agent.onWithdraw(workload -> guest.runtime.set("app", "running"));

        remove("app");

        assertEquals("", guest.runtime.state("app"));
    }

    @Test
    void aStorageOfTheSandboxStaysMounted() throws IOException, InterruptedException {
        guest = new TestGuest(Files.createDirectory(directory.resolve("second")));
        service = new GuestService(guest.boot());
        Answer.of(
                service::createSandbox,
                io.homeostat.proto.kata.CreateSandboxRequest.newBuilder()
                        .addStorages(storage("shm"))
                        .build());
        create(guest.container("app").addStorages(storage("shm")));

        remove("app");

        assertTrue(guest.mounts().contains(guest.paths.root().resolve("shm").toString()));
    }
}
