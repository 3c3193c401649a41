package io.homeostat.guest;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.observe.Observation;
import io.homeostat.observe.guest.GuestConnection;
import io.homeostat.observe.guest.GuestDialer;
import io.homeostat.observe.guest.GuestProbes;
import io.homeostat.observe.guest.GuestProbes.Responsiveness;
import io.homeostat.proto.kata.AgentServiceGrpc;
import io.homeostat.proto.kata.AgentServiceGrpc.AgentServiceBlockingStub;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.ExecProcessRequest;
import io.homeostat.proto.kata.GetOOMEventRequest;
import io.homeostat.proto.kata.HealthGrpc;
import io.homeostat.proto.kata.LinuxCapabilities;
import io.homeostat.proto.kata.PauseContainerRequest;
import io.homeostat.proto.kata.Process;
import io.homeostat.proto.kata.ReadStreamRequest;
import io.homeostat.proto.kata.SignalProcessRequest;
import io.homeostat.proto.kata.Spec;
import io.homeostat.proto.kata.StartContainerRequest;
import io.homeostat.proto.kata.VolumeStatsRequest;
import io.homeostat.proto.kata.WaitProcessRequest;
import io.homeostat.proto.ttrpc.Request;
import io.homeostat.proto.ttrpc.Response;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What was recorded of a real agent, asked of this one; and its traps. */
@Timeout(120)
class FakeGuestTest {
    private static final Pattern CALL = Pattern.compile(
            "## (\\S+)/(\\S+) -> code (\\d+) ['\"](.*)['\"]\\R> header \\S+ payload (\\p{XDigit}*).*\\R  = .*\\R"
                    + "< header \\S+ payload (\\p{XDigit}*)(\u2026.*)?\\R?");

    private static final Duration LONG = Duration.ofSeconds(60);

    @TempDir
    Path root;

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private FakeGuest guest;
    private GuestConnection connection;

    @BeforeEach
    void setUp() throws IOException {
        guest = new FakeGuest(root.resolve("agent.sock"), Files.createDirectory(root.resolve("files")));
        connection = connection();
    }

    private GuestConnection connection() {
        return new GuestConnection(
                new GuestEndpoint.Unix(root.resolve("agent.sock").toString()),
                new GuestDialer(timer)::connect,
                timer,
                System::nanoTime,
                new Random());
    }

    @AfterEach
    void tearDown() {
        connection.close();
        guest.close();
        timer.shutdownNow();
    }

    private AgentServiceBlockingStub agent() throws IOException {
        return AgentServiceGrpc.newBlockingStub(connection.channel()).withDeadlineAfter(60, TimeUnit.SECONDS);
    }

    private GuestProbes probes(Duration timeout) {
        return new GuestProbes(connection, timeout);
    }

    private record Recorded(String method, int code, String words, Request asked, ByteString answered) {}

    private static List<Recorded> recorded() throws IOException {
        List<Recorded> result = new ArrayList<>();
        String text = Files.readString(Path.of("../../observers/src/test/resources/wire/kata-frames.txt"));
        for (MatchResult call : CALL.matcher(text).results().toList()) {
            boolean whole = call.group(7) == null;
            result.add(new Recorded(
                    call.group(2),
                    Integer.parseInt(call.group(3)),
                    call.group(4).replace("\\\"", "\""),
                    asked(call.group(5)),
                    whole
                            ? Response.parseFrom(HexFormat.of().parseHex(call.group(6)))
                                    .getPayload()
                            : ByteString.EMPTY));
        }
        return result;
    }

    /** Of one that is not recorded as a whole, what can be read of it. */
    private static Request asked(String hex) throws IOException {
        byte[] bytes = HexFormat.of().parseHex(hex);
        try {
            return Request.parseFrom(bytes);
        } catch (InvalidProtocolBufferException e) {
            return (Request) e.getUnfinishedMessage();
        }
    }

    /** Calls whose answers are to be the same in every byte. */
    private static final Set<String> SAME_ANSWER = Set.of(
            "Check",
            "Version",
            "ReadStdout",
            "ReadStderr",
            "WriteStdin",
            "WaitProcess",
            "UpdateInterface",
            "UpdateRoutes",
            "ListRoutes");

    private void play(Recorded call) throws IOException {
        MethodDescriptor<Object, Object> method = method(call);
        String answer;
        try {
            Object message = ClientCalls.blockingUnaryCall(
                    connection.channel(),
                    method,
                    CallOptions.DEFAULT.withDeadlineAfter(60, TimeUnit.SECONDS),
                    method.parseRequest(call.asked().getPayload().newInput()));
            answer = SAME_ANSWER.contains(call.method()) ? "0 " + message : "0 ";
        } catch (StatusRuntimeException e) {
            String words = String.valueOf(e.getStatus().getDescription());
            answer = e.getStatus().getCode().value() + " "
                    + words.substring(0, Math.min(words.length(), call.words().length()));
        }
        String expected = call.code() + " "
                + (call.code() == 0 && SAME_ANSWER.contains(call.method())
                        ? method.parseResponse(call.answered().newInput())
                        : call.words());
        assertEquals(expected, answer, call.method());
    }

    @SuppressWarnings("unchecked")
    private static MethodDescriptor<Object, Object> method(Recorded call) {
        return Stream.of(AgentServiceGrpc.getServiceDescriptor(), HealthGrpc.getServiceDescriptor())
                .flatMap(service -> service.getMethods().stream())
                .filter(method -> method.getFullMethodName()
                        .equals(call.asked().getService() + "/" + call.asked().getMethod()))
                .map(method -> (MethodDescriptor<Object, Object>) method)
                .findAny()
                .orElseThrow();
    }

    @Test
    void itAnswersAsARealOneDidInTheLifeOfAContainer() throws Exception {
        List<Recorded> calls = recorded();
        for (Recorded call : calls.subList(0, 5)) {
            play(call);
        }
        // Of its creation only the beginning is recorded.
        create(
                "c1",
                process(
                        "/bin/sh",
                        "-c",
                        "echo hello; echo err >&2; while read l; do echo got:$l; [ \"$l\" = quit ] && exit 7; done;"
                                + " echo eof; sleep 1000"));
        for (Recorded call : calls.subList(6, 21)) {
            play(call);
        }
        exec("c1", "tt", process("sleep", "1000").setTerminal(true));
        play(calls.get(21));
        kill("c1", "tt");
        for (Recorded call : calls.subList(22, 36)) {
            play(call);
        }
    }

    @Test
    void itAnswersAsARealOneDidAboutEverythingElse() throws Exception {
        List<Recorded> calls = recorded();
        for (int i = 36; i < 70; i++) {
            switch (i) {
                case 39 -> guest.agent().plugIn("eth0", "1e:a7:ee:9b:6b:3f");
                case 49 ->
                    agent().copyFile(CopyFileRequest.newBuilder()
                            .setPath("/run/kata-containers/shared/containers/d/g.bin")
                            .build());
                default -> {}
            }
            play(calls.get(i));
        }
        assertEquals("hello", Files.readString(root.resolve("files/d/f.txt")));
    }

    @Test
    void itAnswersAsARealOneDidToMistakes() throws Exception {
        List<Recorded> calls = recorded();
        play(calls.get(72));
        play(calls.get(73));
        for (int i = 75; i < 80; i++) {
            play(calls.get(i));
        }
        create("dup", process("sleep", "1000"));
        for (int i : new int[] {81, 82, 83, 91, 92}) {
            play(calls.get(i));
        }
        // It ends after its last answer, not with it.
        await().until(() -> {
            try (GuestConnection late = connection()) {
                late.channel();
                return false;
            } catch (IOException _) {
                return true;
            }
        });
    }

    private static Process.Builder process(String... args) {
        return Process.newBuilder()
                .addAllArgs(List.of(args))
                .addEnv("PATH=/usr/bin:/bin")
                .setCapabilities(LinuxCapabilities.getDefaultInstance());
    }

    private void create(String id, Process.Builder process) throws IOException {
        Empty _ = agent().createContainer(CreateContainerRequest.newBuilder()
                .setContainerId(id)
                .setOCI(Spec.newBuilder().setProcess(process))
                .build());
    }

    private void start(String id) throws IOException {
        Empty _ = agent().startContainer(
                        StartContainerRequest.newBuilder().setContainerId(id).build());
    }

    private void exec(String id, String exec, Process.Builder process) throws IOException {
        Empty _ = agent().execProcess(ExecProcessRequest.newBuilder()
                .setContainerId(id)
                .setExecId(exec)
                .setProcess(process)
                .build());
    }

    private void kill(String id, String exec) throws IOException {
        Empty _ = agent().signalProcess(SignalProcessRequest.newBuilder()
                .setContainerId(id)
                .setExecId(exec)
                .setSignal(9)
                .build());
    }

    private int waitFor(String id) throws IOException {
        return agent().waitProcess(
                        WaitProcessRequest.newBuilder().setContainerId(id).build())
                .getStatus();
    }

    @Test
    void aSecondStartHoldsTheLockUntilSomebodyLooksAtThePipe() throws Exception {
        create("app", process("sleep", "1000"));
        start("app");
        assertEquals(Observation.seen(Responsiveness.SERVING), probes(LONG).responsiveness());

        ListenableFuture<Empty> second = AgentServiceGrpc.newFutureStub(connection.channel())
                .startContainer(
                        StartContainerRequest.newBuilder().setContainerId("app").build());

        Awaitility.await()
                .atMost(LONG)
                .until(() -> Observation.seen(Responsiveness.BLOCKED)
                        .equals(probes(Duration.ofSeconds(1)).responsiveness()));
        assertFalse(second.isDone());
        var _ = agent().getVolumeStats(VolumeStatsRequest.newBuilder()
                .setVolumeGuestPath("/run/kata-containers/app/exec.fifo")
                .build());
        second.get();
        assertEquals(Observation.seen(Responsiveness.SERVING), probes(LONG).responsiveness());
    }

    @Test
    void aCommandInAPausedContainerBlocksAllUntilTheMachineEnds() throws Exception {
        create("app", process("sleep", "1000"));
        start("app");
        Empty _ = agent().pauseContainer(
                        PauseContainerRequest.newBuilder().setContainerId("app").build());

        ListenableFuture<Empty> exec = AgentServiceGrpc.newFutureStub(connection.channel())
                .execProcess(ExecProcessRequest.newBuilder()
                        .setContainerId("app")
                        .setExecId("e")
                        .setProcess(process("true"))
                        .build());

        Awaitility.await()
                .atMost(LONG)
                .until(() -> Observation.seen(Responsiveness.BLOCKED)
                        .equals(probes(Duration.ofSeconds(1)).responsiveness()));
        assertFalse(exec.isDone());
    }

    @Test
    void aSecondSandboxEmptiesTheContainersOfTheFirst() throws Exception {
        CreateSandboxRequest sandbox = CreateSandboxRequest.getDefaultInstance();
        Empty _ = agent().createSandbox(sandbox);
        create("app", process("sleep", "1000"));
        assertFalse(guest.agent().isEmptied("app"));

        assertThrows(StatusRuntimeException.class, () -> agent().createSandbox(sandbox));

        assertTrue(guest.agent().isEmptied("app"));
    }

    @Test
    void anotherAgentKnowsNothingAndCountsAnew() throws Exception {
        create("app", process("sleep", "1000"));
        assertEquals(Observation.seen(OptionalLong.of(1)), probes(LONG).scrapes());
        assertEquals(Observation.seen(OptionalLong.of(2)), probes(LONG).scrapes());

        guest.restartAgent();
        connection.close();
        connection = connection();

        assertEquals(Observation.seen(OptionalLong.of(1)), probes(LONG).scrapes());
        assertEquals(Observation.seen(false), probes(LONG).hasContainer("app"));
    }

    @Test
    void aMachineThatBootsAgainHasNothing() throws Exception {
        Empty _ = agent().createSandbox(CreateSandboxRequest.getDefaultInstance());
        assertEquals(Observation.seen(true), probes(LONG).hasSandbox());

        guest.reboot();
        connection.close();
        connection = connection();

        assertEquals(Observation.seen(false), probes(LONG).hasSandbox());
    }

    @Test
    void whatRunsOutOfMemoryIsKilledAndToldOnce() throws Exception {
        create("app", process("sleep", "1000"));
        start("app");

        guest.agent().runOutOfMemory("app");

        assertEquals(
                "app",
                agent().getOOMEvent(GetOOMEventRequest.getDefaultInstance()).getContainerId());
        assertEquals(137, waitFor("app"));
        assertEquals(
                Status.Code.NOT_FOUND,
                assertThrows(StatusRuntimeException.class, () -> waitFor("app"))
                        .getStatus()
                        .getCode());
    }

    @Test
    void outputIsReadToItsEnd() throws Exception {
        create("app", process("sh", "-c", "echo one; echo two"));
        start("app");
        ReadStreamRequest read = ReadStreamRequest.newBuilder()
                .setContainerId("app")
                .setLen(1000)
                .build();

        StringBuilder all = new StringBuilder();
        ByteString next = agent().readStdout(read).getData();
        while (!next.isEmpty()) {
            all.append(next.toStringUtf8());
            next = agent().readStdout(read).getData();
        }

        assertEquals("one\ntwo\n", all.toString());
        assertEquals(0, waitFor("app"));
    }

    @Test
    void faultsAreAsOrderedUntilTheyAreCleared() throws Exception {
        guest.faults().refuse("GetVolumeStats", Status.PERMISSION_DENIED.withDescription("blocked by policy"));
        guest.faults().delay("GetMetrics", Duration.ofMillis(10));
        guest.faults().hang("UpdateContainer");

        assertEquals(
                Observation.unseen("GetVolumeStats: blocked by policy"),
                probes(LONG).hasSandbox());
        assertEquals(Observation.seen(OptionalLong.of(1)), probes(LONG).scrapes());
        assertEquals(
                Observation.unseen("UpdateContainer was not answered within 200 ms"),
                probes(Duration.ofMillis(200)).hasContainer("app"));

        guest.faults().clear();
        assertEquals(Observation.seen(false), probes(LONG).hasContainer("app"));
        assertEquals(Observation.seen(false), probes(LONG).hasSandbox());
    }
}
