package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.e2e.GuestCalls.Refusal;
import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.proto.kata.CloseStdinRequest;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.DestroySandboxRequest;
import io.homeostat.proto.kata.ExecProcessRequest;
import io.homeostat.proto.kata.KernelModule;
import io.homeostat.proto.kata.LinuxCPU;
import io.homeostat.proto.kata.LinuxMemory;
import io.homeostat.proto.kata.LinuxPids;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.proto.kata.MemHotplugByProbeRequest;
import io.homeostat.proto.kata.PauseContainerRequest;
import io.homeostat.proto.kata.RemoveContainerRequest;
import io.homeostat.proto.kata.ResumeContainerRequest;
import io.homeostat.proto.kata.StartContainerRequest;
import io.homeostat.proto.kata.StatsContainerRequest;
import io.homeostat.proto.kata.Storage;
import io.homeostat.proto.kata.TtyWinResizeRequest;
import io.homeostat.proto.kata.UpdateContainerRequest;
import io.homeostat.proto.kata.VolumeStatsRequest;
import io.homeostat.proto.kata.VolumeStatsResponse;
import io.homeostat.proto.kata.WriteStreamRequest;
import io.homeostat.proto.kata.WriteStreamResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Our own agent of a guest, with containers that a real runtime runs: what it promises beyond what any agent does. */
@Tag("nightly")
final class GuestServerTest extends KataAgentContract {
    private static final String COUNTING = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo $i; done; exit 3";
    private static final long MEBIBYTE = 1 << 20;

    GuestServerTest() {
        super(KataAgent.ours());
    }

    @BeforeAll
    static void skipWithoutRuntime() {
        KataAgent.ours().orSkip();
    }

    /** What it runs as: {@code guest}, or the agent that it has started, {@code run}. */
    private long pid(String command) {
        String words = " " + command + " --state-dir " + agent.root().resolve("state");
        return ProcessHandle.allProcesses()
                .map(ProcessHandle::pid)
                .filter(pid -> Processes.command(pid).matches("\\S*/java .*")
                        && Processes.command(pid).contains(words))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no process" + words));
    }

    private void crash(String command) {
        long pid = pid(command);
        Processes.kill(pid);
        eventually().until(() -> !Processes.isAlive(pid));
    }

    private Result inTheGuest(String... command) {
        return homeostat.runExactly(Stream.concat(
                        Stream.of(command),
                        Stream.of(
                                "--state-dir",
                                agent.root().resolve("state").toString(),
                                "--run-dir",
                                agent.root().resolve("run").toString()))
                .toArray(String[]::new));
    }

    @Test
    void callsMayBeRepeatedAndAnotherSandboxDeletesNothing() throws IOException {
        try (GuestCalls calls = new GuestCalls(agent)) {
            CreateContainerRequest.Builder app = calls.container("app", "echo once; sleep 1000");
            Refusal early = calls.refused(stub -> stub.createContainer(app.build()));
            assertTrue(early.words().contains("CreateSandbox comes first"), early::toString);

            calls.sandbox("one");
            calls.sandbox("one");
            calls.create(app);
            calls.create(app);
            calls.start("app");
            calls.start("app");
            calls.create(app);

            assertEquals("once\n", calls.piece("app", "app", false).toStringUtf8());
            CreateContainerRequest.Builder rootless = app.clone().setContainerId("rootless");
            rootless.getOCIBuilder().getRootBuilder().setPath("/run/not-there");
            Refusal missing = calls.refused(stub -> stub.createContainer(rootless.build()));
            assertTrue(
                    missing.words().contains("the root file system /run/not-there is no directory of this machine"),
                    missing::toString);
            Path kept = Files.writeString(agent.rootfs("app").resolve("kept"), "kept");
            Refusal other = calls.refused(stub -> stub.createSandbox(
                    CreateSandboxRequest.newBuilder().setSandboxId("other").build()));
            assertTrue(other.words().contains("has a sandbox already"), other::toString);
            assertTrue(Files.exists(kept));
            Refusal different = calls.refused(
                    stub -> stub.createContainer(app.clone().setExecId("other").build()));
            assertTrue(different.words().contains("there is a container app already"), different::toString);

            calls.signal("app", 9);
            for (int time = 0; time < 2; time++) {
                assertEquals(137, calls.await("app", "app"));
            }
            assertEquals("", calls.output("app"));
            inTheGuest("status").says("process/guest-app-").says("guest");
            Empty _ = calls.agent()
                    .removeContainer(RemoveContainerRequest.newBuilder()
                            .setContainerId("app")
                            .build());
            assertEquals(
                    Status.Code.INVALID_ARGUMENT,
                    calls.refused(stub -> stub.statsContainer(StatsContainerRequest.newBuilder()
                                    .setContainerId("app")
                                    .build()))
                            .code());
            assertFalse(inTheGuest("status").out().contains("process/guest-app-"));
        }
    }

    @Test
    void aCrashOfItOrOfItsAgentLosesNothing() throws IOException {
        try (GuestCalls calls = new GuestCalls(agent)) {
            calls.sandbox("one");
            calls.run("quiet", "cat; exit 4");
            calls.run("loud", "read line; " + COUNTING);
            write(calls, "loud", "go\n");
            ByteString first = calls.piece("loud", "loud", false);
            assertFalse(first.isEmpty());
            Path half = Files.createDirectory(agent.root().resolve("state/guest/containers/half"));

            crash("guest");
            calls.reconnect();
            assertFalse(Files.exists(half));
            write(calls, "quiet", "to ");
            // What was read and not asked beyond comes again.
            first = calls.piece("loud", "loud", false);
            crash("run");
            write(calls, "quiet", "the end\n");
            // As long as its agent is not back, it says so, and hosts ask again.
            eventually().until(() -> {
                try {
                    Empty _ = calls.agent()
                            .closeStdin(CloseStdinRequest.newBuilder()
                                    .setContainerId("quiet")
                                    .build());
                    return true;
                } catch (StatusRuntimeException e) {
                    assertEquals(Status.Code.UNAVAILABLE, e.getStatus().getCode());
                    return false;
                }
            });

            assertEquals(3, calls.await("loud", "loud"));
            assertEquals(4, calls.await("quiet", "quiet"));
            assertEquals(numbers(), first.toStringUtf8() + calls.output("loud"));
            assertEquals("to the end\n", calls.output("quiet"));
            crash("guest");
            calls.reconnect();
            assertEquals(3, calls.await("loud", "loud"));
        }
    }

    @Test
    void aRemovalThatWasBrokenOffIsFinished() throws IOException {
        Path containers = agent.root().resolve("state/guest/containers");
        try (GuestCalls calls = new GuestCalls(agent)) {
            calls.sandbox("one");
            calls.run("app", "sleep 1000");
            calls.create(calls.container("made", "sleep 1000"));
            for (String id : List.of("app", "made")) {
                Files.createFile(containers.resolve(id).resolve("removed"));
            }

            crash("guest");

            eventually().until(() -> children(containers).isEmpty() && declaredInTheGuest() == 0);
        }
    }

    private static String numbers() {
        return IntStream.rangeClosed(1, 20000)
                .mapToObj(Integer::toString)
                .reduce(new StringBuilder(), (text, one) -> text.append(one).append('\n'), StringBuilder::append)
                .toString();
    }

    private static void write(GuestCalls calls, String id, String text) {
        WriteStreamResponse taken = calls.agent()
                .writeStdin(WriteStreamRequest.newBuilder()
                        .setContainerId(id)
                        .setData(ByteString.copyFromUtf8(text))
                        .build());
        assertEquals(text.length(), taken.getLen());
    }

    @Test
    void terminalsAndCommandsAreTalkedTo() throws IOException {
        try (GuestCalls calls = new GuestCalls(agent)) {
            calls.sandbox("one");
            CreateContainerRequest.Builder request =
                    calls.container("tty", "until [ \"$(stty size)\" = '40 100' ]; do sleep 0.1; done; echo sized");
            request.getOCIBuilder().getProcessBuilder().setTerminal(true);
            calls.create(request);
            calls.start("tty");
            Empty _ = calls.agent()
                    .ttyWinResize(TtyWinResizeRequest.newBuilder()
                            .setContainerId("tty")
                            .setRow(40)
                            .setColumn(100)
                            .build());
            assertEquals(0, calls.await("tty", "tty"));
            assertEquals("sized\r\n", calls.output("tty"));

            calls.run("app", "trap 'exit 0' TERM; while :; do sleep 0.1; done");
            exec(calls, "talks", "cat; hostname; echo oops >&2; exit 7");
            for (String call : List.of("some ", "words\n")) {
                WriteStreamResponse _ = calls.agent()
                        .writeStdin(WriteStreamRequest.newBuilder()
                                .setContainerId("app")
                                .setExecId("talks")
                                .setData(ByteString.copyFromUtf8(call))
                                .build());
            }
            Empty _ = calls.agent()
                    .closeStdin(CloseStdinRequest.newBuilder()
                            .setContainerId("app")
                            .setExecId("talks")
                            .build());
            assertEquals("some words\nguest-one\n", calls.output("app", "talks", false));
            assertEquals("oops\n", calls.output("app", "talks", true));
            assertEquals(7, calls.await("app", "talks"));
            exec(calls, "background", "sleep 1000 & echo left; exit 3");
            assertEquals("left\n", calls.output("app", "background", false));
            assertEquals(3, calls.await("app", "background"));
            exec(calls, "sleeps", "exec pkill -xf 'sleep 1000'");
            assertEquals(0, calls.await("app", "sleeps"), "it went on");
            exec(calls, "shares", "ipcmk -M 1000 >/dev/null && tail -n +2 /proc/sysvipc/shm");
            assertEquals("", calls.output("app", "shares", false));
            assertEquals(0, calls.await("app", "shares"));

            Refusal missing = calls.refused(stub -> stub.execProcess(command(calls, "none", "true")
                    .setProcess(command(calls, "none", "true").getProcess().toBuilder()
                            .setArgs(0, "/no/such/program"))
                    .build()));
            assertTrue(missing.words().contains("/no/such/program"), missing::toString);
            Empty _ = calls.agent()
                    .pauseContainer(PauseContainerRequest.newBuilder()
                            .setContainerId("app")
                            .build());
            Refusal paused = calls.refused(
                    stub -> stub.execProcess(command(calls, "late", "true").build()));
            assertTrue(paused.words().contains("is paused"), paused::toString);
            for (int time = 0; time < 2; time++) {
                Empty _ = calls.agent()
                        .resumeContainer(ResumeContainerRequest.newBuilder()
                                .setContainerId("app")
                                .build());
            }
            calls.signal("app", 15);
            assertEquals(0, calls.await("app", "app"));

            calls.run("frozen", "sleep 1000");
            Empty _ = calls.agent()
                    .pauseContainer(PauseContainerRequest.newBuilder()
                            .setContainerId("frozen")
                            .build());
            Empty _ = calls.agent()
                    .removeContainer(RemoveContainerRequest.newBuilder()
                            .setContainerId("frozen")
                            .build());
        }
    }

    private static ExecProcessRequest.Builder command(GuestCalls calls, String exec, String script) {
        try {
            return ExecProcessRequest.newBuilder()
                    .setContainerId("app")
                    .setExecId(exec)
                    .setProcess(calls.container("app", script).getOCI().getProcess());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void exec(GuestCalls calls, String exec, String script) {
        Empty _ = calls.agent().execProcess(command(calls, exec, script).build());
    }

    private static Refusal refusedUpdate(GuestCalls calls, LinuxResources.Builder resources) {
        return calls.refused(stub -> stub.updateContainer(update(resources)));
    }

    private static UpdateContainerRequest update(LinuxResources.Builder resources) {
        return UpdateContainerRequest.newBuilder()
                .setContainerId("app")
                .setResources(resources)
                .build();
    }

    @Test
    void limitsHoldOrAreRefused() throws IOException {
        try (GuestCalls calls = new GuestCalls(agent)) {
            calls.sandbox("one");
            calls.run("app", "sleep 1000");

            Empty _ = calls.agent()
                    .updateContainer(update(LinuxResources.newBuilder()
                            .setPids(LinuxPids.newBuilder().setLimit(20))
                            .setMemory(LinuxMemory.newBuilder().setLimit(64 * MEBIBYTE))));
            CgroupStats stats = calls.agent()
                    .statsContainer(StatsContainerRequest.newBuilder()
                            .setContainerId("app")
                            .build())
                    .getCgroupStats();

            assertEquals(20, stats.getPidsStats().getLimit());
            assertTrue(stats.getPidsStats().getCurrent() > 0);
            assertEquals(64 * MEBIBYTE, stats.getMemoryStats().getUsage().getLimit());
            for (LinuxResources.Builder wrong : List.of(
                    LinuxResources.newBuilder().setCPU(LinuxCPU.newBuilder().setCpus("4000")),
                    LinuxResources.newBuilder()
                            .setMemory(LinuxMemory.newBuilder().setLimit(4096)))) {
                Refusal refused = refusedUpdate(calls, wrong);
                assertEquals(Status.Code.INTERNAL, refused.code(), refused::toString);
                assertFalse(refused.words().isEmpty());
            }
        }
    }

    @Test
    void theFirstEndForWantOfMemoryIsToldToo() throws IOException {
        homeostat.declare(
                "all.yaml",
                agent.sandbox(),
                agent.container("app", "x=0123456789; while :; do x=$x$x; done")
                        .with("limits.memory", "32Mi")
                        .with("restart.policy", "never"));
        homeostat.agent();

        // Not OOM_INFERRED, which is what hosts guess of agents that miss it.
        eventually()
                .until(() ->
                        homeostat.status(APP).at("/lastExit/reason").asText().equals("OOM_KILLED"));
    }

    @Test
    void whatIsWrongIsRefusedAndLeavesNothing() throws IOException {
        try (GuestCalls calls = new GuestCalls(agent)) {
            Refusal hook = calls.refused(stub -> stub.createSandbox(
                    CreateSandboxRequest.newBuilder().setGuestHookPath("/hooks").build()));
            assertEquals(Status.Code.UNIMPLEMENTED, hook.code(), hook::toString);
            Refusal module = calls.refused(stub -> stub.createSandbox(CreateSandboxRequest.newBuilder()
                    .addKernelModules(KernelModule.newBuilder().setName("no-such-module"))
                    .build()));
            assertTrue(module.words().contains("modprobe"), module::toString);
            assertFalse(hasSandbox(calls));
            calls.sandbox("one");
            assertTrue(hasSandbox(calls));

            for (CreateContainerRequest.Builder wrong : List.of(
                    calls.container("a", "true"),
                    calls.container("app", "true").setContainerId("../up"),
                    calls.container("app", "true").setContainerId(".hidden"),
                    calls.container("app", "true").setSandboxPidns(true),
                    calls.container("app", "true").setStdoutPort(1),
                    withCapability(calls.container("app", "true"), "CAP_NONSENSE"),
                    calls.container("app", "true")
                            .addStorages(Storage.newBuilder().setDriver("blk").setMountPoint("/mnt")))) {
                Refusal refused = calls.refused(stub -> stub.createContainer(wrong.build()));
                assertTrue(
                        List.of(Status.Code.INTERNAL, Status.Code.UNIMPLEMENTED).contains(refused.code()),
                        refused::toString);
            }
            assertEquals(List.of(), children(agent.root().resolve("state/guest/containers")));

            CreateContainerRequest.Builder nothing = calls.container("app", "true");
            nothing.getOCIBuilder().getProcessBuilder().setArgs(0, "/no/such/program");
            calls.create(nothing);
            Refusal start = calls.refused(stub -> stub.startContainer(
                    StartContainerRequest.newBuilder().setContainerId("app").build()));
            assertTrue(start.words().contains("/no/such/program"), start::toString);
            Empty _ = calls.agent()
                    .removeContainer(RemoveContainerRequest.newBuilder()
                            .setContainerId("app")
                            .build());
            Refusal plugged =
                    calls.refused(stub -> stub.memHotplugByProbe(MemHotplugByProbeRequest.getDefaultInstance()));
            assertEquals(Status.Code.UNIMPLEMENTED, plugged.code(), plugged::toString);
        }
    }

    private static CreateContainerRequest.Builder withCapability(CreateContainerRequest.Builder request, String name) {
        request.getOCIBuilder().getProcessBuilder().getCapabilitiesBuilder().addBounding(name);
        return request;
    }

    private static boolean hasSandbox(GuestCalls calls) {
        try {
            VolumeStatsResponse _ = calls.agent()
                    .getVolumeStats(VolumeStatsRequest.newBuilder()
                            .setVolumeGuestPath("/run/sandbox-ns/ipc")
                            .build());
            return true;
        } catch (StatusRuntimeException e) {
            assertTrue(String.valueOf(e.getMessage()).contains("kind: NotFound"), e::toString);
            return false;
        }
    }

    private static List<Path> children(Path directory) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.toList();
        }
    }

    @Test
    void filesAndStoragesAreInItsContainers() throws IOException {
        try (GuestCalls calls = new GuestCalls(agent)) {
            Empty _ = calls.agent()
                    .createSandbox(CreateSandboxRequest.newBuilder()
                            .addDns("nameserver 192.0.2.53")
                            .addStorages(Storage.newBuilder()
                                    .setDriver("ephemeral")
                                    .setMountPoint("/run/kata-containers/sandbox/shm")
                                    .addOptions("size=1m"))
                            .build());
            String path = "/run/kata-containers/shared/containers/config/greeting";
            for (int at = 0; at < 10; at += 5) {
                Empty _ = calls.agent()
                        .copyFile(CopyFileRequest.newBuilder()
                                .setPath(path)
                                .setFileMode(0100640)
                                .setFileSize(10)
                                .setOffset(at)
                                .setData(ByteString.copyFromUtf8("hello you\n").substring(at, at + 5))
                                .build());
            }
            Empty _ = calls.agent()
                    .copyFile(CopyFileRequest.newBuilder()
                            .setPath("/run/kata-containers/shared/containers/link")
                            .setFileMode(0120777)
                            .setData(ByteString.copyFromUtf8("/etc"))
                            .build());
            for (String out : List.of("link/passwd", "../../../x", "../shared")) {
                Refusal refused = calls.refused(stub -> stub.copyFile(CopyFileRequest.newBuilder()
                        .setPath("/run/kata-containers/shared/containers/" + out)
                        .setFileMode(0100644)
                        .build()));
                assertEquals(Status.Code.INTERNAL, refused.code(), refused::toString);
            }
            CreateContainerRequest.Builder app = calls.container(
                    "app", "stat -c %a /config/greeting; cat /config/greeting; stat -f -c %T /shm; cat /resolv.conf");
            app.getOCIBuilder()
                    .addMounts(GuestCalls.mount("/config", "bind", "/run/kata-containers/shared/containers/config")
                            .addOptions("bind"))
                    .addMounts(GuestCalls.mount("/shm", "bind", "/run/kata-containers/sandbox/shm")
                            .addOptions("bind"))
                    .addMounts(GuestCalls.mount("/resolv.conf", "bind", "/etc/resolv.conf")
                            .addOptions("bind"));

            calls.create(app);
            calls.start("app");

            assertEquals("640\nhello you\ntmpfs\nnameserver 192.0.2.53\n", calls.output("app"));
        }
    }

    @Test
    void whatSeveralContainersShareIsMountedAsLongAsOneOfThemIsThere() throws IOException {
        Storage shared = Storage.newBuilder()
                .setDriver("ephemeral")
                .setMountPoint("/run/kata-containers/sandbox/ephemeral")
                .build();
        try (GuestCalls calls = new GuestCalls(agent)) {
            calls.sandbox("one");
            for (String id : List.of("first", "second")) {
                CreateContainerRequest.Builder request =
                        calls.container(id, "read line; cat /shared/words; echo words >/shared/words");
                request.addStorages(shared)
                        .getOCIBuilder()
                        .addMounts(GuestCalls.mount("/shared", "bind", shared.getMountPoint())
                                .addOptions("bind"));
                calls.create(request);
                calls.start(id);
            }
            CreateContainerRequest.Builder refused =
                    calls.container("third", "true").addStorages(shared);
            refused.getOCIBuilder().getRootBuilder().setPath("/no/such/root");
            GuestCalls.Refusal _ = calls.refused(stub -> stub.createContainer(refused.build()));
            write(calls, "first", "go\n");
            assertEquals(0, calls.await("first", "first"));
            remove(calls, "first");
            CreateContainerRequest.Builder third = calls.container("third", "cat /shared/words");
            third.addStorages(shared)
                    .getOCIBuilder()
                    .addMounts(GuestCalls.mount("/shared", "bind", shared.getMountPoint())
                            .addOptions("bind"));
            calls.create(third);
            calls.start("third");

            assertEquals("words\n", calls.output("third"));
            write(calls, "second", "go\n");
            assertEquals(0, calls.await("second", "second"));
            assertEquals("words\n", calls.output("second"));
            remove(calls, "second");
            remove(calls, "third");
            assertEquals("", Files.readString(agent.root().resolve("state/guest/mounts")));
        }
    }

    private static void remove(GuestCalls calls, String id) {
        Empty _ = calls.agent()
                .removeContainer(
                        RemoveContainerRequest.newBuilder().setContainerId(id).build());
    }

    @Test
    void itsNetworkIsMadeAsDeclared() {
        homeostat.applied(agent.sandbox()
                .with(
                        "interfaces",
                        List.of(Map.of(
                                "name",
                                "eth0",
                                "hwAddr",
                                "02:00:00:00:00:01",
                                "addresses",
                                List.of("192.0.2.10/24", "fd00::10/64"),
                                "mtu",
                                1400)))
                .with("routes", List.of(Map.of("dest", "0.0.0.0/0", "gateway", "192.0.2.1", "device", "eth0")))
                .with(
                        "neighbors",
                        List.of(Map.of("address", "192.0.2.1", "lladdr", "02:00:00:00:00:02", "device", "eth0"))));

        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    @Test
    void nothingIsLeftAfterAnotherBoot() throws IOException {
        Document[] all = {agent.sandbox(), agent.container("app", IDLE)};
        Agent _ = running(all);

        // What tells one boot from another is a file of the kernel, and what was noted of it.
        Files.writeString(agent.root().resolve("state/guest/boot"), "another one");
        crash("guest");

        eventually()
                .until(() -> homeostat.status("sandbox/guest").get("restarts").asInt() == 1);
        homeostat.awaitRunning(APP);
        assertEquals(1, declaredInTheGuest());
    }

    @Test
    void callsThatAreRepeatedUntilTheyAreAnsweredDoTheirWorkHoweverOftenItIsKilled() throws IOException {
        List<String> ids = List.of("first", "second", "third");
        try (GuestCalls calls = new GuestCalls(agent)) {
            calls.sandbox("one");
            // Each crash comes at another moment of what is being done.
            Thread crashes = Thread.ofPlatform().daemon().start(() -> {
                for (int time = 0; time < 5; time++) {
                    int served = timesServed();
                    crash("guest");
                    eventually().until(() -> timesServed() > served);
                }
            });
            do {
                for (String id : ids) {
                    CreateContainerRequest.Builder request = calls.container(id, "sleep 1000");
                    untilAnswered(calls, () -> calls.create(request));
                    untilAnswered(calls, () -> calls.start(id));
                }
                untilAnswered(calls, () -> remove(calls, "second"));
            } while (crashes.isAlive());

            assertEquals(
                    Set.of("first", "third"),
                    children(agent.root().resolve("state/guest/containers")).stream()
                            .map(path -> path.getFileName().toString())
                            .collect(Collectors.toSet()));
            for (String id : List.of("first", "third")) {
                assertTrue(calls.agent()
                                .statsContainer(StatsContainerRequest.newBuilder()
                                        .setContainerId(id)
                                        .build())
                                .getCgroupStats()
                                .getPidsStats()
                                .getCurrent()
                        > 0);
            }
            eventually().until(() -> declaredInTheGuest() == 2);
        }
    }

    private long declaredInTheGuest() {
        return inTheGuest("status")
                .out()
                .lines()
                .filter(line -> line.startsWith("process/guest-"))
                .count();
    }

    /** It may have been done before: then it says that there is nothing to do. */
    private static void untilAnswered(GuestCalls calls, Runnable call) {
        while (true) {
            try {
                call.run();
                return;
            } catch (StatusRuntimeException e) {
                if (String.valueOf(e.getMessage()).contains("Invalid container id")) {
                    return;
                }
                assertEquals(Status.Code.UNAVAILABLE, e.getStatus().getCode(), e::toString);
                calls.reconnect();
            }
        }
    }

    private int timesServed() {
        try {
            return (int) Files.readAllLines(agent.root().resolve("agent.log")).stream()
                    .filter(line -> line.contains("serves at"))
                    .count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void itEndsWithItsSandbox() throws IOException {
        try (GuestCalls calls = new GuestCalls(agent)) {
            calls.sandbox("one");
            calls.run("app", "sleep 1000");

            Empty _ = calls.agent().destroySandbox(DestroySandboxRequest.getDefaultInstance());

            // Nothing would be left of it.
            assertThrows(StatusRuntimeException.class, () -> calls.sandbox("two"));
            eventually().until(agent::hasEnded);
            assertEquals(List.of(), children(agent.root().resolve("state/guest/containers")));
        }
    }
}
