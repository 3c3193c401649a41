package io.homeostat.reconcile.runtime.kata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Which call is blamed: the first that is not answered, for as long as nothing shows that it is over. */
class UnansweredTest {
    private static final Instant START = Instant.parse("2026-11-27T12:00:00Z");
    private static final String CREATE = "CreateContainer, asked for at 2026-11-27T12:00:00Z, is not answered";

    @TempDir
    Path root;

    private Instant now = START;
    private Instance sandbox;
    private SandboxNotes notes;
    private Unanswered unanswered;

    @BeforeEach
    void setUp() throws IOException {
        Layout layout = new Layout(root.resolve("s"), root.resolve("r"), "test");
        sandbox = launch("l-1");
        Files.createDirectories(layout.launch(sandbox.workload(), "l-1"));
        notes = new SandboxNotes(layout);
        unanswered = another();
    }

    private static Instance launch(String id) {
        return new Instance(
                id,
                new WorkloadId(Kind.SANDBOX, "guest"),
                "target",
                "r",
                null,
                ImmutableSortedMap.of(),
                START,
                null,
                Phase.STARTED,
                "");
    }

    private Unanswered another() {
        Unanswered result = new Unanswered(() -> now, notes, Kind.CONTAINER);
        result.isOf(sandbox);
        return result;
    }

    private ImmutableList<String> written() throws Exception {
        unanswered.write();
        return notes.unanswered(sandbox);
    }

    private void fails(String method, Status status) {
        assertThrows(
                StatusRuntimeException.class,
                () -> unanswered.during(method, () -> {
                    throw status.asRuntimeException();
                }));
    }

    private void silent(String method) {
        fails(method, Status.DEADLINE_EXCEEDED);
        now = now.plusSeconds(5);
    }

    @Test
    void aCallThatIsUnderWayIsToldOnceItTakesTooLong() throws Exception {
        unanswered.during("CreateContainer", () -> {
            try {
                assertEquals(List.of(), written());
                now = now.plus(Duration.ofSeconds(1));
                assertEquals(List.of(CREATE), written());
            } catch (Exception e) {
                throw new AssertionError(e);
            }
            return "";
        });

        assertEquals(List.of(), written());
    }

    @Test
    void theFirstOneIsBlamedUntilALaterOneIsAnswered() throws Exception {
        silent("CreateContainer");
        silent("SignalProcess");
        assertEquals(List.of(CREATE), written());

        fails("RemoveContainer", Status.INTERNAL);

        assertEquals(List.of(), written());
    }

    @Test
    void ofManyTheFirstIsBlamedAndFewAreKept() throws Exception {
        silent("CreateContainer");
        for (int call = 0; call < 1000; call++) {
            silent("ExecProcess");
        }

        assertEquals(List.of(CREATE), written());
        assertEquals(100, unanswered.kept());
    }

    @ParameterizedTest
    @EnumSource(
            value = Code.class,
            names = {"PERMISSION_DENIED", "UNIMPLEMENTED"})
    void whatIsRefusedUnreadProvesNothing(Code code) throws Exception {
        silent("CreateContainer");

        fails("SetPolicy", code.toStatus());
        fails("ExecProcess", Status.UNAVAILABLE.withCause(new IOException("reset")));

        assertEquals(List.of(CREATE), written());
    }

    @Test
    void anAnswerToAnEarlierOneSaysNothingOfIt() throws Exception {
        unanswered.during("StartContainer", () -> {
            silent("CreateContainer");
            return "";
        });

        assertEquals(List.of(CREATE), written());
    }

    @Test
    void whatAnAgentDoesBesideEverythingElseIsNeitherBlamedNorProof() throws Exception {
        silent("CopyFile");
        assertEquals(List.of(), written());

        now = START;
        silent("CreateContainer");
        unanswered.during("CopyFile", () -> "");

        assertEquals(List.of(CREATE), written());
    }

    @Test
    void whatAProcessBeforeHasWrittenDownIsForgotten() throws Exception {
        silent("CreateContainer");
        assertEquals(List.of(CREATE), written());

        unanswered = another();

        assertEquals(List.of(), written());
    }

    @Test
    void whoEndsTakesItBack() throws Exception {
        silent("CreateContainer");
        assertEquals(List.of(CREATE), written());

        unanswered.close();

        assertEquals(List.of(), notes.unanswered(sandbox));
    }

    @Test
    void anotherSandboxIsNotBlamed() throws Exception {
        silent("CreateContainer");

        unanswered.isOf(launch("l-2"));

        unanswered.isOf(sandbox);
        assertEquals(List.of(), written());
    }
}
