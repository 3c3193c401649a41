package io.homeostat.reconcile.agent.frontend;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.Format;
import io.homeostat.proto.agent.NomadDriverRequest;
import io.homeostat.reconcile.agent.api.ApiClient;
import io.homeostat.reconcile.agent.api.ApiException;
import io.homeostat.reconcile.agent.api.ApiFailures;
import io.homeostat.reconcile.command.FrontEnd;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AgentLinkTest {
    private static final WorkloadId APP = WorkloadId.parse("process/app").orElseThrow();
    private static final WorkloadId OTHER = WorkloadId.parse("process/other").orElseThrow();
    private static final String KNOWN = "{\"workload\": \"process/app\", \"known\": true}\n";
    private static final String GONE = "{\"workload\": \"process/app\"}\n";

    @TempDir
    private Path directory;

    private Layout layout;
    private final Machine machine = new Machine();
    private final List<String> said = new ArrayList<>();

    @BeforeEach
    void prepare() {
        layout = new Layout(directory.resolve("state"), directory.resolve("run"), "machine");
    }

    /** An agent that listens nowhere, and answers what it is told to. */
    private static final class Machine implements AgentLink.Surroundings {
        private static final AgentFile AGENT =
                new AgentFile(new ProcessIdentity(77, 1, "boot"), Path.of("/run/agent.sock"), "1");

        /** The number of looks that find nothing before an agent runs. */
        private int looksWithout;

        private boolean runs = true;
        private boolean canStart = true;
        private ScriptedProcess process = new ScriptedProcess();
        private final List<ProcessBuilder> started = new ArrayList<>();
        private final List<NomadDriverRequest> requests = new ArrayList<>();
        private final List<CommandRequest> commands = new ArrayList<>();
        private final Deque<Reply> replies = new ArrayDeque<>();
        private Duration slept = Duration.ZERO;
        private int sent;
        private ApiException.@Nullable Kind failure;

        private record Reply(int status, String error, List<String> output) {}

        private void answers(String... output) {
            replies.add(new Reply(0, "", List.of(output)));
        }

        private void refuses(int status, String error) {
            replies.add(new Reply(status, error, List.of()));
        }

        @Override
        public Optional<AgentFile> running(Layout layout) {
            return runs && looksWithout-- <= 0 ? Optional.of(AGENT) : Optional.empty();
        }

        @Override
        public Process start(ProcessBuilder builder) throws IOException {
            if (!canStart) {
                throw new IOException("no such program");
            }
            started.add(builder);
            return process;
        }

        @Override
        public int run(Path socket, CommandRequest request, ApiClient.Reader reader) {
            assertEquals(AGENT.socket(), socket);
            commands.add(request);
            requests.add(request.getNomadDriver());
            if (failure != null) {
                throw ApiFailures.of(failure);
            }
            Reply reply = replies.isEmpty() ? new Reply(0, "", List.of()) : replies.removeFirst();
            for (String piece : reply.output()) {
                reader.standardOutput(ByteString.copyFromUtf8(piece));
                sent++;
                if (!reader.readsOn()) {
                    return 0;
                }
            }
            reader.standardError(ByteString.copyFromUtf8(reply.error()));
            return reply.status();
        }

        @Override
        public void pause(Duration pause) {
            slept = slept.plus(pause);
        }
    }

    private AgentLink link(Optional<Path> config) {
        return new AgentLink(FrontEnd.GUEST, layout, config, Path.of("/opt/bin/homeostat"), said::add, machine);
    }

    private AgentLink link() {
        return link(Optional.empty());
    }

    @Test
    void anAgentThatRunsIsUsed() throws InterruptedException {
        assertEquals(Machine.AGENT, link().ensure());

        assertEquals(List.of(), machine.started);
        assertEquals(List.of(), said);
        assertEquals(layout, link().layout());
    }

    @Test
    void anAgentIsStartedInASessionOfItsOwn() throws InterruptedException, IOException {
        machine.looksWithout = 3;

        assertEquals(
                Machine.AGENT, link(Optional.of(Path.of("/etc/agent.yaml"))).ensure());

        ProcessBuilder started = machine.started.getFirst();
        assertEquals(
                List.of(
                        "setsid",
                        "/opt/bin/homeostat",
                        "run",
                        "--state-dir",
                        layout.stateDir().toString(),
                        "--run-dir",
                        layout.runDir().toString(),
                        "--config",
                        "/etc/agent.yaml"),
                started.command());
        assertEquals("/", String.valueOf(started.directory()));
        assertEquals("/dev/null", String.valueOf(started.redirectInput().file()));
        Path log = layout.stateDir().resolve("guest-agent.log");
        assertEquals(ProcessBuilder.Redirect.appendTo(log.toFile()), started.redirectOutput());
        assertEquals(ProcessBuilder.Redirect.appendTo(log.toFile()), started.redirectError());
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(layout.stateDir())));
        assertEquals(1, said.size());
        assertTrue(said.getFirst().contains("77"), said::toString);
        assertEquals(Duration.ofMillis(40), machine.slept);
    }

    @Test
    void nothingIsWrittenOrStartedInADirectoryOfSomebodyElse() throws IOException {
        assumeTrue(TrustedPath.isRoot(), "only root can give files away");
        machine.runs = false;
        Files.createDirectory(layout.stateDir());
        Path target = Files.writeString(directory.resolve("target"), "root's\n");
        Files.createSymbolicLink(layout.stateDir().resolve("nomad-driver-agent.yaml"), target);
        Files.setAttribute(layout.stateDir(), "unix:uid", 65534);

        assertThrows(CommandFailure.class, () -> link().ensure());
        assertThrows(CommandFailure.class, () -> AgentLink.configOfItsOwn(FrontEnd.NOMAD_DRIVER, layout.stateDir()));

        assertEquals(List.of(), machine.started);
        assertEquals("root's\n", Files.readString(target));
        assertTrue(Files.isSymbolicLink(layout.stateDir().resolve("nomad-driver-agent.yaml")));
    }

    @Test
    void withoutAConfigurationTheUsualOneIsUsed() throws InterruptedException {
        machine.looksWithout = 1;

        link().ensure();

        assertFalse(machine.started.getFirst().command().contains("--config"));
    }

    @Test
    void anAgentThatIsNotReadyAfterHalfAMinuteIsAFailure() {
        machine.runs = false;

        assertThrows(CommandFailure.class, () -> link().ensure());

        assertEquals(Duration.ofSeconds(30), machine.slept);
        assertEquals(1, machine.started.size());
    }

    @Test
    void anAgentThatEndsAtOnceIsAFailureWithItsExitStatus() {
        machine.runs = false;
        machine.process = ScriptedProcess.ended(78, "", "");

        CommandFailure failure = assertThrows(CommandFailure.class, () -> link().ensure());

        assertTrue(String.valueOf(failure.getMessage()).contains("78"), failure::toString);
        assertEquals(Duration.ofMillis(20), machine.slept);
    }

    @Test
    void anAgentMakesWayForAnotherOne() throws InterruptedException {
        machine.process = ScriptedProcess.ended(1, "", "");
        machine.looksWithout = 2;

        assertEquals(Machine.AGENT, link().ensure());
    }

    @Test
    void anAgentThatLeavesAnotherProcessBehindIsWaitedFor() throws InterruptedException {
        machine.process = ScriptedProcess.ended(0, "", "");
        machine.looksWithout = 5;

        assertEquals(Machine.AGENT, link().ensure());
    }

    @Test
    void aProgramThatCanNotBeStartedIsAFailure() {
        machine.runs = false;
        machine.canStart = false;

        assertThrows(CommandFailure.class, () -> link().ensure());
    }

    @Test
    void aLogOfTheAgentThatIsTooLongIsPutAside() throws IOException, InterruptedException {
        Path log = Files.createDirectories(layout.stateDir()).resolve("guest-agent.log");
        Path old = log.resolveSibling("guest-agent.log.1");
        for (int bytes : new int[] {4 << 20, (4 << 20) + 1}) {
            Files.write(log, new byte[bytes]);
            assertFalse(Files.exists(old));
            machine.looksWithout = 1;
            link().ensure();
        }

        assertEquals((4 << 20) + 1, Files.size(old));
        assertFalse(Files.exists(log));
    }

    @Test
    void aWorkloadIsLookedAt() throws InterruptedException {
        machine.answers(KNOWN);

        assertTrue(link().look(APP).known());

        NomadDriverRequest request = machine.requests.getFirst();
        assertEquals("guest", request.getFrontEnd());
        assertEquals(List.of("process/app"), request.getWorkloadsList());
        assertFalse(request.getFollow());
        assertEquals(
                Format.FORMAT_JSON,
                machine.commands.getFirst().getPresentation().getFormat());
    }

    @Test
    void anAnswerWithoutTheWorkloadIsAFailure() {
        assertThrows(CommandFailure.class, () -> link().look(APP));
    }

    @Test
    void whatIsNoJsonIsAFailure() {
        machine.answers("nonsense\n");

        assertThrows(CommandFailure.class, () -> link().look(APP));
    }

    @Test
    void changesAreHandedOnLineByLineUntilTheReaderHasEnough() throws InterruptedException {
        machine.answers(KNOWN.substring(0, 10), KNOWN.substring(10) + GONE, KNOWN, KNOWN);
        List<Boolean> known = new ArrayList<>();

        link().follow(ImmutableList.of(APP, OTHER), look -> {
            known.add(look.known());
            return known.size() < 3;
        });

        assertEquals(List.of(true, false, true), known);
        assertEquals(3, machine.sent);
        NomadDriverRequest request = machine.requests.getFirst();
        assertTrue(request.getFollow());
        assertEquals(List.of("process/app", "process/other"), request.getWorkloadsList());
    }

    @Test
    void aReaderThatHasEnoughInTheMiddleOfAPieceStops() throws InterruptedException {
        machine.answers(KNOWN + GONE, KNOWN);

        link().follow(ImmutableList.of(APP), WorkloadLook::known);
        machine.answers(GONE + KNOWN, KNOWN);
        link().follow(ImmutableList.of(APP), WorkloadLook::known);

        assertEquals(2, machine.sent);
    }

    @Test
    void whatIsDeclaredOfFormerOriginsIsListed() throws InterruptedException {
        machine.answers(KNOWN);

        assertEquals(
                List.of(APP),
                link().former("guest/containers/").stream()
                        .map(WorkloadLook::workload)
                        .toList());
        assertEquals("guest/containers/", machine.requests.getFirst().getTask());
    }

    @Test
    void aWorkloadIsDeclaredAndAStopBrokenOff() throws InterruptedException {
        link().declare("origin", "document");
        link().resume("origin", APP);

        NomadDriverRequest declared = machine.requests.get(0);
        assertEquals("origin", declared.getTask());
        assertEquals("document", declared.getDocument());
        NomadDriverRequest resumed = machine.requests.get(1);
        assertEquals("origin", resumed.getTask());
        assertEquals(List.of("process/app"), resumed.getWorkloadsList());
    }

    @Test
    void aWithdrawalReturnsWhenNothingIsLeft() throws InterruptedException {
        machine.answers();
        machine.answers(KNOWN);
        machine.answers(GONE);

        link().withdraw(APP);

        assertEquals(List.of("process/app"), machine.requests.getFirst().getWithdrawList());
        assertEquals(3, machine.requests.size());
        assertEquals(Duration.ofMillis(20), machine.slept);
    }

    @Test
    void aWithdrawalThatIsNotDoneAfterAMinuteIsAFailure() {
        machine.answers();
        for (int look = 0; look < 5000; look++) {
            machine.answers(KNOWN);
        }

        assertThrows(CommandFailure.class, () -> link().withdraw(APP));

        assertEquals(Duration.ofSeconds(60), machine.slept);
    }

    private CommandFailure failure(int status, String error) {
        machine.refuses(status, error);
        return assertThrows(CommandFailure.class, () -> link().declare("origin", "document"));
    }

    @Test
    void aFailureOfTheAgentIsThatOfTheCallWithItsProblems() {
        CommandFailure failure = failure(1, """
                {"error": {"message": "it is wrong",
                           "problems": [{"file": "task", "line": 3, "column": 5, "message": "no such key"}]}}
                """);

        assertEquals("it is wrong", failure.getMessage());
        assertEquals(1, failure.problems().size());
        assertEquals(3, failure.problems().getFirst().line());
        assertEquals(5, failure.problems().getFirst().column());
        assertEquals("no such key", failure.problems().getFirst().message());
        assertFalse(AgentLink.isOpen(failure));
    }

    @Test
    void aFailureWithoutJsonIsSaidAsItIsAndOneWithoutWordsIsOneOfTime() {
        assertEquals("Killed", failure(137, "Killed\n").getMessage());
        assertEquals("{\"other\": 1}", failure(1, "{\"other\": 1}").getMessage());
        assertFalse(String.valueOf(failure(1, "").getMessage()).isEmpty());
    }

    @ParameterizedTest
    @CsvSource({"UNANSWERED, true", "LOST, true", "REFUSED, false", "UNKNOWN_CALL, false", "NOT_SERVED, false"})
    void aCallIsOpenUnlessTheAgentHasRefusedIt(ApiException.Kind kind, boolean isOpen) {
        machine.failure = kind;

        CommandFailure failure = assertThrows(CommandFailure.class, () -> link().declare("origin", "document"));

        assertEquals(isOpen, AgentLink.isOpen(failure));
    }

    @Test
    void theConfigurationOfAnAgentOfItsOwnDeclaresNothingElse() throws IOException {
        Path state = directory.resolve("own");

        Path file = AgentLink.configOfItsOwn(FrontEnd.NOMAD_DRIVER, state);

        assertEquals(state.resolve("nomad-driver-agent.yaml"), file);
        assertTrue(Files.readString(file).contains("files: []"));
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(state)));
        FileTime written = FileTime.fromMillis(1000);
        Files.setLastModifiedTime(file, written);
        AgentLink.configOfItsOwn(FrontEnd.NOMAD_DRIVER, state);
        assertEquals(written, Files.getLastModifiedTime(file), "an agent may be reading it");
        Files.writeString(file, "other");
        AgentLink.configOfItsOwn(FrontEnd.NOMAD_DRIVER, state);
        assertTrue(Files.readString(file).contains("files: []"));
    }
}
