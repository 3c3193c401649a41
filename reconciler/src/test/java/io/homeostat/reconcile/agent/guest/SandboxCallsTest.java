package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.DestroySandboxRequest;
import io.homeostat.proto.kata.KernelModule;
import io.homeostat.proto.kata.Storage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** CreateSandbox and DestroySandbox: what they do, what they refuse, and what is left wherever they break off. */
class SandboxCallsTest extends GuestTestBed {
    private GuestMachine machine;
    private GuestService service;

    @BeforeEach
    void prepare() throws IOException, InterruptedException {
        machine = guest.boot();
        service = new GuestService(machine);
    }

    /** The guest agent starts again. */
    private void restart() throws IOException, InterruptedException {
        guest = new TestGuest(directory);
        machine = guest.boot();
        service = new GuestService(machine);
    }

    private Path state(String file) {
        return guest.paths.root().resolve(file);
    }

    /** Asks for everything that a sandbox may have. */
    private CreateSandboxRequest.Builder whole() {
        return CreateSandboxRequest.newBuilder()
                .setHostname("vm")
                .addDns("nameserver 10.0.0.53")
                .addDns("search example.org")
                .addKernelModules(KernelModule.newBuilder().setName("dummy").addParameters("numdummies=2"))
                .addStorages(Storage.newBuilder()
                        .setDriver("ephemeral")
                        .setMountPoint(state("shm").toString()));
    }

    private void create(CreateSandboxRequest.Builder request) {
        Answer.of(service::createSandbox, request.build());
    }

    private Status.Code refused(CreateSandboxRequest.Builder request) {
        return Answer.refusal(service::createSandbox, request.build());
    }

    private void destroy() {
        Answer.of(service::destroySandbox, DestroySandboxRequest.getDefaultInstance());
    }

    private void assertNothingIsLeft() throws IOException {
        assertEquals(List.of(), guest.mounts());
        for (String file : List.of("sandbox", "resolv.conf", "sandbox-ns/ipc", "namespaces/ipc", "namespaces/uts")) {
            assertFalse(Files.exists(state(file)), file);
        }
        assertFalse(machine.sandbox().isThere());
    }

    @Test
    void aSandboxIsMadeFromItsModulesToItsMark() throws IOException {
        create(whole());

        Path resolver = guest.root.resolve("etc/resolv.conf");
        assertEquals(
                List.of(
                        "modprobe -- dummy numdummies=2",
                        "mount -t tmpfs -o defaults -- tmpfs " + state("shm"),
                        "mount --bind -- " + state("resolv.conf") + " " + resolver,
                        "unshare --ipc=" + state("namespaces/ipc") + " --uts=" + state("namespaces/uts")
                                + " sh -c cd /proc/sys/kernel && printf %s \"$1\" >hostname && { [ ! -e sem ]"
                                + " || { echo 1 >shm_rmid_forced && echo 250 32000 500 128 >sem && echo 32 >msgmni; }; } sh vm"),
                guest.commands.lines().stream()
                        .filter(line -> !line.contains("runc"))
                        .toList());
        assertEquals("nameserver 10.0.0.53\nsearch example.org\n", Files.readString(state("resolv.conf")));
        assertTrue(Files.getPosixFilePermissions(state("resolv.conf"))
                .contains(java.nio.file.attribute.PosixFilePermission.OTHERS_READ));
        assertTrue(machine.sandbox().isThere());
        assertTrue(Files.exists(state("sandbox-ns/ipc")), "clients know the sandbox by this file");
    }

    @Test
    void aSandboxNeedsNothing() throws IOException {
        create(CreateSandboxRequest.newBuilder());

        assertEquals(1, guest.commands.lines("unshare").size());
        assertTrue(guest.commands.lines("unshare").getFirst().endsWith(" sh localhost"));
        assertEquals(List.of(), guest.commands.lines("mount"));
        assertFalse(Files.exists(state("resolv.conf")));
    }

    @Test
    void theSameAgainChangesNothing() {
        create(whole());
        guest.commands.forgetLines();

        create(whole());

        assertEquals(List.of(), guest.commands.lines());
    }

    @Test
    void aSecondSandboxIsRefusedAndTheFirstOneStays() throws IOException {
        create(whole());
        guest.commands.forgetLines();

        assertEquals(Status.Code.INTERNAL, refused(whole().setHostname("other")));

        assertEquals(List.of(), guest.commands.lines());
        assertTrue(machine.sandbox().isThere());
        create(whole());
    }

    @Test
    void sharedProcessesAndHooksAreNotSupported() throws IOException {
        assertEquals(Status.Code.UNIMPLEMENTED, refused(whole().setSandboxPidns(true)));
        assertEquals(Status.Code.UNIMPLEMENTED, refused(whole().setGuestHookPath("/hooks")));

        assertNothingIsLeft();
    }

    /** The sandbox fails in this step. */
    @ParameterizedTest
    @ValueSource(strings = {"modprobe", "mount -t", "mount --bind", "unshare"})
    void aSandboxThatCanNotBeMadeLeavesNothingAndCanBeMadeLater(String step) throws IOException {
        guest.commands.failNext(step, "no");

        assertEquals(Status.Code.INTERNAL, refused(whole()));
        assertNothingIsLeft();

        create(whole());
        assertTrue(machine.sandbox().isThere());
    }

    @ParameterizedTest
    @CsvSource({
        "modprobe, false",
        "modprobe, true",
        "mount -t, false",
        "mount -t, true",
        "mount --bind, false",
        "mount --bind, true",
        "unshare, false",
        "unshare, true"
    })
    void theNextAgentUndoesWhatAKilledOneHasBegun(String step, boolean isDone)
            throws IOException, InterruptedException {
        KillPoint kill = guest.mortal();
        guest.commands.killAt(step, isDone, kill);
        assertThrows(KillPoint.Killed.class, () -> create(whole()));
        kill.restore();

        guest = new TestGuest(directory);
        machine = guest.boot();
        assertNothingIsLeft();

        service = new GuestService(machine);
        create(whole());
        assertTrue(machine.sandbox().isThere());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void theNextAgentFinishesADestructionThatAKilledOneHasBegun(int unmounts) throws IOException, InterruptedException {
        create(whole());
        KillPoint kill = guest.mortal();
        for (int i = 1; i < unmounts; i++) {
            guest.commands.replaceNext("umount", command -> guest.unmount(command));
        }
        guest.commands.killAt("umount", true, kill);
        assertThrows(KillPoint.Killed.class, this::destroy);
        kill.restore();

        guest = new TestGuest(directory);
        machine = guest.boot();

        assertNothingIsLeft();
    }

    /** These lead out of their directory, or can be no path. */
    @ParameterizedTest
    @ValueSource(
            strings = {"/run/kata-containers/../../etc", "/run/sandbox-ns/../x", "/a\0b", "relative", "/two\nlines"})
    void aStorageWithoutAPlaceIsRefusedAndHarmsNoLaterSandbox(String point) throws IOException, InterruptedException {
        CreateSandboxRequest.Builder wrong = CreateSandboxRequest.newBuilder()
                .addStorages(Storage.newBuilder().setDriver("ephemeral").setMountPoint(point));
        assertEquals(Status.Code.INTERNAL, refused(wrong));
        assertNothingIsLeft();

        restart();
        create(whole());
        assertTrue(machine.sandbox().isThere());
    }

    @Test
    void aMachineWithoutAResolverIsLeftAsItWas() throws IOException, InterruptedException {
        Files.delete(guest.root.resolve("etc/resolv.conf"));
        assertEquals(Status.Code.INTERNAL, refused(whole()));
        assertNothingIsLeft();

        restart();
        create(whole().clearDns());
        assertTrue(machine.sandbox().isThere());
    }

    @Test
    void theNextAgentTakesUpTheSandbox() throws IOException, InterruptedException {
        create(whole());
        List<String> mounts = guest.mounts();

        guest = new TestGuest(directory);
        machine = guest.boot();
        service = new GuestService(machine);

        assertTrue(machine.sandbox().isThere());
        assertEquals(mounts, guest.mounts());
        assertEquals(Status.Code.INTERNAL, refused(whole().setHostname("other")));
        create(whole());
        assertEquals(
                List.of(state("shm").toString()),
                machine.sandbox().storages().stream()
                        .map(Storage::getMountPoint)
                        .toList());
    }

    @Test
    @Timeout(value = 60, unit = TimeUnit.SECONDS)
    void theAgentEndsWithItsSandboxAndMakesNoOther() throws IOException, InterruptedException {
        create(whole());
        Path shared =
                Files.createDirectories(guest.paths.real(GuestPaths.SHARED)).resolve("file");
        Files.writeString(shared, "copied");
        assertTrue(machine.metrics().contains("kata_agent_scrape_count 1\n"));

        destroy();

        machine.awaitEnd();
        assertNothingIsLeft();
        assertFalse(Files.exists(shared));
        assertFalse(Files.exists(state("scrapes")));
        assertEquals(Status.Code.UNAVAILABLE, refused(whole()));
        destroy();
    }

    @Test
    void destroyingRemovesTheContainersFirst() throws IOException {
        create(whole());
        guest.start(service, "app");
        Answer.of(service::createContainer, container("other"));

        destroy();

        assertEquals(List.of(TestGuest.workload("app")), guest.agent.withdrawn());
        assertEquals("", guest.runtime.state("app"));
        assertFalse(Files.exists(guest.paths.container("app")));
        assertFalse(Files.exists(guest.paths.container("other")));
        assertNothingIsLeft();
    }

    private io.homeostat.proto.kata.CreateContainerRequest container(String id) {
        try {
            return guest.container(id).build();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Test
    void aContainerThatCanNotBeRemovedKeepsTheSandbox() throws IOException, InterruptedException {
        create(whole());
        guest.start(service, "app");
        Thread ending = Thread.ofVirtual().start(() -> {
            try {
                machine.awaitEnd();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> ending.getState() == Thread.State.WAITING);
        guest.commands.failNext("kill --all", "{\"level\": \"error\", \"msg\": \"busy\"}");

        Status refused = Answer.failure(service::destroySandbox, DestroySandboxRequest.getDefaultInstance());

        assertEquals(Status.Code.INTERNAL, refused.getCode());
        assertTrue(machine.sandbox().isThere());
        assertEquals(Thread.State.WAITING, ending.getState(), "the agent goes on");
        destroy();
        assertNothingIsLeft();
        assertTrue(ending.join(Duration.ofSeconds(30)));
    }

    @Test
    void aStorageOfAContainerThatCanNotBeUnmountedKeepsTheSandbox() throws IOException {
        create(whole());
        Answer.of(
                service::createContainer,
                guest.container("app")
                        .addStorages(Storage.newBuilder()
                                .setDriver("ephemeral")
                                .setMountPoint(state("data").toString()))
                        .build());
        guest.commands.failNext("umount", "target is busy");

        assertEquals(
                Status.Code.INTERNAL,
                Answer.refusal(service::destroySandbox, DestroySandboxRequest.getDefaultInstance()));

        assertTrue(machine.sandbox().isThere());
        destroy();
        assertNothingIsLeft();
    }

    @Test
    void whatIsMountedInTheSharedDirectoryIsNotDeleted() throws IOException {
        create(whole());
        Path foreign =
                Files.createDirectories(guest.paths.real(GuestPaths.SHARED).resolve("disk"));
        guest.mounted(foreign);

        Status.Code refused = Answer.refusal(service::destroySandbox, DestroySandboxRequest.getDefaultInstance());

        assertEquals(Status.Code.INTERNAL, refused);
        assertTrue(Files.exists(foreign));
    }
}
