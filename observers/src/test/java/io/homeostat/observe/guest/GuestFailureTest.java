package io.homeostat.observe.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.observe.guest.GuestFailure.Kind;
import io.homeostat.observe.ttrpc.KataFrames;
import io.homeostat.observe.ttrpc.KataFrames.Exchange;
import java.io.EOFException;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GuestFailureTest {
    private static GuestFailure failure(Status status) {
        return GuestFailure.of(status.asRuntimeException());
    }

    /** What a real agent said, in the order in which it did. */
    @Test
    void eachRefusalOfARealAgentIsUnderstood() throws IOException {
        Stream<Exchange> refused = KataFrames.read().stream().filter(exchange -> exchange.code() != 0);

        assertEquals(
                List.of(
                        "StartContainer 13 NO_CONTAINER Invalid container id",
                        "CreateSandbox 13 REFUSED setup persistent IPC namespace",
                        "PauseContainer 13 REFUSED failed to pause container: current status is: Paused",
                        "ResumeContainer 13 REFUSED container status is: Running, not paused",
                        "ExecProcess 13 REFUSED exec_id 'e1' already exists",
                        "WaitProcess 5 NO_PROCESS InvalidExecId",
                        "ReadStdout 5 NO_PROCESS InvalidExecId",
                        "ReadStdout 13 REFUSED Input/output error (os error 5)",
                        "TtyWinResize 14 REFUSED no tty",
                        "SignalProcess 13 REFUSED EINVAL: Invalid argument",
                        "SignalProcess 5 NO_PROCESS InvalidExecId",
                        "SignalProcess 3 NO_CONTAINER InvalidContainerId",
                        "WriteStdin 13 NO_CONTAINER Invalid container id",
                        "ReadStdout 3 NO_CONTAINER InvalidContainerId",
                        "CloseStdin 3 NO_CONTAINER InvalidContainerId",
                        "WaitProcess 3 NO_CONTAINER InvalidContainerId",
                        "StatsContainer 3 NO_CONTAINER invalid container id",
                        "PauseContainer 3 NO_CONTAINER invalid container id",
                        "UpdateContainer 3 NO_CONTAINER invalid container id",
                        "RemoveContainer 13 NO_CONTAINER Invalid container id",
                        "UpdateRoutes 3 REFUSED empty update routes request",
                        "UpdateRoutes 13 REFUSED \"Failed to update routes: Received a netlink error message No such device (os er",
                        "UpdateInterface 13 REFUSED \"update interface: Received a netlink error message No such device (os error 19)",
                        "UpdateInterface 3 REFUSED empty update interface request",
                        "GetIPTables 13 REFUSED Os { code: 2, kind: NotFound, message: \"No such file or directory\" }",
                        "CopyFile 13 REFUSED removing \"/run/kata-containers/shared/containers/\" prefix from /run/elsewhere",
                        "GetVolumeStats 13 REFUSED Os { code: 2, kind: NotFound, message: \"No such file or directory\" }",
                        "ResizeVolume 12 NOT_SUPPORTED resize_volume is not implemented in kata-agent",
                        "SetGuestDateTime 13 REFUSED EPERM: Operation not permitted",
                        "SetPolicy 5 NOT_SUPPORTED /grpc.AgentService/SetPolicy is not supported",
                        "MemAgentMemcgSet 13 REFUSED mem-agent is disabled",
                        "GetDiagnosticData 3 REFUSED unsupported diagnostic log_type: x",
                        "GetDiagnosticData 13 NO_CONTAINER Invalid container id: y",
                        "ReseedRandomDev 13 REFUSED missing entropy data",
                        "AddSwapPath 13 REFUSED libc::swapon get error No such file or directory (os error 2)",
                        "CreateContainer 13 REFUSED invalid container ID a",
                        "StartContainer 13 NO_CONTAINER Invalid container id",
                        "RemoveContainer 13 NO_CONTAINER Invalid container id",
                        "Check 3 REFUSED stream id must be odd",
                        "StatsContainer 3 NO_CONTAINER invalid container id",
                        "GetOOMEvent 4 SILENT timeout",
                        "WaitProcess 13 NO_CONTAINER Invalid container id",
                        "CreateContainer 13 REFUSED exec fifo exists",
                        "StartContainer 13 NO_CONTAINER Invalid container id",
                        "RemoveContainer 13 NO_CONTAINER Invalid container id",
                        "ReadStderr 5 NO_PROCESS InitProcessNotFound",
                        "ReadStdout 5 NO_PROCESS InitProcessNotFound",
                        "WriteStdin 13 NO_PROCESS Process not found: init process missing",
                        "UpdateContainer 3 NO_CONTAINER invalid container id"),
                refused.map(GuestFailureTest::line).toList());
    }

    private static String line(Exchange exchange) {
        GuestFailure failure = failure(Status.fromCodeValue(exchange.code()).withDescription(exchange.words()));
        return exchange.method() + " " + exchange.code() + " " + failure.kind() + " " + failure.words();
    }

    @ParameterizedTest
    @CsvSource({
        "UNIMPLEMENTED, AgentService method GetDiagnosticData, NOT_SUPPORTED",
        "INVALID_ARGUMENT, grpc.AgentService service does not exist, NOT_SUPPORTED",
        "PERMISSION_DENIED, CreateContainerRequest is blocked by policy, DENIED",
        "INTERNAL, Invalid container id c1, NO_CONTAINER",
        "INVALID_ARGUMENT, invalid container id: c1, NO_CONTAINER",
        "CANCELLED, Thread interrupted, OURS",
        "RESOURCE_EXHAUSTED, too many commands, BUSY",
        "DATA_LOSS, something new, REFUSED",
    })
    void soIsWhatOthersSay(Status.Code code, String words, Kind kind) {
        assertEquals(kind, failure(code.toStatus().withDescription(words)).kind());
    }

    @Test
    void aConnectionThatIsLostIsNoRefusal() {
        StatusRuntimeException lost = Status.UNAVAILABLE
                .withDescription("the connection to guest is lost")
                .withCause(new EOFException())
                .asRuntimeException();

        assertEquals(Kind.LOST, GuestFailure.of(lost).kind());
        assertEquals(
                Kind.REFUSED,
                failure(Status.UNAVAILABLE.withDescription("no tty")).kind());
    }

    @Test
    void theEndOfATerminalIsAnError() {
        assertTrue(failure(Status.INTERNAL.withDescription("Input/output error (os error 5)"))
                .isEndOfTerminal());
        assertFalse(failure(Status.INTERNAL.withDescription("No such file or directory (os error 2)"))
                .isEndOfTerminal());
    }

    @Test
    void whereTheAgentSaysNothingWeDo() {
        String words = "the agent gave no reason";
        assertEquals(words, failure(Status.INTERNAL).words());
        assertEquals(words, failure(Status.INTERNAL.withDescription("\"\"")).words());
        assertEquals(
                "a \"b\" \\c",
                failure(Status.INTERNAL.withDescription("\"a \\\"b\\\" \\\\c\""))
                        .words());
    }
}
