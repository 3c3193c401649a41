package io.homeostat.desired.state.sqlite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.io.Resources;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.ReloadFailures;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.sqlite.SqliteStateReader.StoredDocuments;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class RecordCodecTest {
    private final ObjectMapper json = new ObjectMapper();
    private final StoredDocuments documents = new StoredDocuments();
    private final RecordCodec codec = new RecordCodec(json, documents::read, documents::write);
    private final List<String> lost = new ArrayList<>();
    private final WorkloadHistory history = Samples.eventful();
    private ObjectNode stored = json.createObjectNode();

    @BeforeEach
    void write() throws Exception {
        stored = (ObjectNode) json.readTree(codec.write(history));
    }

    @Test
    void whatIsWrittenIsRead() {
        assertEquals(history, read());
        assertEquals(WorkloadHistory.NONE, read(codec.write(WorkloadHistory.NONE)));
    }

    @Test
    void whatIsNoJsonIsNamedWithItsPlace() {
        assertEquals(
                "no JSON at line 2, column 1: Unrecognized token 'nonsense': was expecting"
                        + " (JSON String, Number, Array, Object or token 'null', 'true' or 'false')",
                assertThrows(IllegalArgumentException.class, () -> codec.read(Attempts.class, "\nnonsense"))
                        .getMessage());
        assertEquals(
                "not an object",
                assertThrows(IllegalArgumentException.class, () -> codec.read(Attempts.class, "[]"))
                        .getMessage());
    }

    @Test
    void whatIsBeyondTheBoundsOfTheParserIsRefusedInWords() {
        refusedAsJson("{\"kept\":" + "[".repeat(1_001));
        refusedAsJson("{\"kept\":" + "9".repeat(900_000) + "}");
        refusedAsJson("{\"" + "k".repeat(60_000) + "\":1}");
    }

    private void refusedAsJson(String text) {
        String message =
                String.valueOf(assertThrows(IllegalArgumentException.class, () -> codec.read(Attempts.class, text))
                        .getMessage());
        assertTrue(message.startsWith("no JSON"), message);
        assertFalse(message.contains("\n"), message);
    }

    /** Others may have written it, and whoever reads records of many goes on with the next one. */
    @Test
    void whatNobodyForeseesIsRefusedInWords() {
        assertEquals(
                "reading it failed unexpectedly: java.lang.IllegalStateException: a defect",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> RecordCodec.foreign(() -> {
                                    throw new IllegalStateException("a defect");
                                }))
                        .getMessage());
        assertEquals(
                "it is nested too deep",
                assertThrows(IllegalArgumentException.class, () -> RecordCodec.foreign(this::endless))
                        .getMessage());
    }

    @SuppressWarnings("InfiniteRecursion")
    private int endless() {
        return endless() + 1;
    }

    @Test
    void whatIsUnknownIsIgnored() {
        stored.put("fromTheFuture", 1);
        stored.withObject("/trial").put("fromTheFuture", true);

        assertEquals(history, read());
    }

    @Test
    void whatIsMissingHasItsDefault() {
        assertEquals(WorkloadHistory.NONE, read("{}"));
        stored.withObject("/trial").remove("upkeep");

        assertEquals(history.withAttempts(history.attempts().withUpkeep(Failures.NONE)), read());
    }

    @Test
    void aRevisionWhoseDeclarationCantBeReadIsForgottenAlone() {
        stored.withObject("/proven").put("workload", "{\"kind\": \"Sandbox\"}");

        assertEquals(history.withLastKnownGood(null), read());
    }

    @Test
    void aFailedUpgradeThatCantBeReadIsForgottenAlone() {
        stored.withObject("/failed").put("at", "yesterday");

        assertEquals(history.withFailed(null), read());
    }

    @Test
    void failuresThatCantBeReadAreForgottenAlone() {
        stored.put("trial", "none");

        assertEquals(history.withAttempts(Attempts.NONE), read());
    }

    @Test
    void anExitThatCantBeReadIsForgottenWithItsRun() {
        stored.withObject("/run/lastExit").put("reason", "ABDUCTED");

        assertEquals(history.withRun(RunRecord.NONE), read());
    }

    @Test
    void conditionsThatCantBeReadAreForgottenAlone() {
        stored.withArray("/conditions").addObject().put("type", "UNHEARD_OF");

        assertEquals(history.withConditions(ImmutableList.of()), read());
    }

    @Test
    void whatIsNoJsonIsNoHistory() {
        assertEquals(WorkloadHistory.NONE, read("{\"trial\": "));
        assertEquals(WorkloadHistory.NONE, read(""));
        assertEquals(WorkloadHistory.NONE, read("[1]"));
    }

    @Test
    void anExitWithoutCodeAndSignalComesBackWithoutThem() {
        Exit unknown = new Exit(null, null, Exit.Reason.UNKNOWN, Samples.NOON);
        WorkloadHistory ended = WorkloadHistory.NONE.withRun(RunRecord.NONE.withExit(unknown));

        assertEquals(ended, read(codec.write(ended)));
    }

    /** But for the failures that were told: their digests of messages say nothing any more, so each is told once more. */
    @Test
    void whatTheFormerCodecHasWrittenIsRead() throws Exception {
        WorkloadHistory untold = Samples.withoutFormer(history)
                .withAttempts(history.attempts()
                        .withReported(Reported.of("B2"))
                        .withRestore(Failures.NONE)
                        .withReload(ReloadFailures.NONE))
                .withRun(history.run()
                        .withAgain(null)
                        .withCalendar(null)
                        .withoutCompleted()
                        .withStop(null));
        Exit exit = new Exit(0, null, Exit.Reason.EXITED, Samples.NOON);
        List<String> written = Resources.readLines(
                Resources.getResource(RecordCodecTest.class, "histories-before-reflection.jsonl"),
                StandardCharsets.UTF_8);

        assertEquals(
                List.of(untold, WorkloadHistory.NONE, WorkloadHistory.NONE.withRun(RunRecord.NONE.withExit(exit))),
                written.stream().map(this::read).toList());
        assertEquals(List.of(), lost);
    }

    @Test
    void whatIsEmptyIsNotWritten() {
        assertEquals("{}", codec.write(WorkloadHistory.NONE));
    }

    @Test
    void anInstanceComesBackAsItWasWhateverItIsFoundBy() {
        List<Identity> identities = List.of(
                new ProcessIdentity(4711, 1234567890123L, "boot"),
                new Identity.Task("exec", "alloc/task/1", "opaque", null, "boot"),
                new Identity.Sandbox("vsock://3:1024", 7, true, "boot"),
                new Identity.Container("vsock://3:1024", "c-1", true, "boot"));
        for (Identity identity : identities) {
            Instance instance = instance(identity);
            assertEquals(instance, codec.read(Instance.class, codec.write(instance)));
        }
        assertEquals("""
                {"launchId":"l","workload":"process/a","target":"t","revision":"r","inputs":{"arguments":"01"},\
                "launchedAt":"2026-01-02T03:04:05Z","identity":{"type":"process","pid":1,"startTicks":2,"bootId":"b"},\
                "phase":"STOPPING"}""", codec.write(instance(new ProcessIdentity(1, 2, "b"))));
    }

    @Test
    void anIdentityThatWasStoredWithoutTheBootOfTheHostIsRead() {
        Instance instance = instance(new Identity.Sandbox("vsock://3:1024", 7, true, "boot"));
        String before = codec.write(instance).replace(",\"bootId\":\"boot\"", "");

        Identity read =
                Objects.requireNonNull(codec.read(Instance.class, before).identity());

        assertEquals(new Identity.Sandbox("vsock://3:1024", 7, true, null), read);
        assertTrue(read.mayBeOf("any"));
    }

    @Test
    void anInstanceOfWhichAPartIsLostIsAnError() {
        String text = codec.write(instance(new ProcessIdentity(1, 2, "b")));
        ImmutableMap<String, String> wrong = ImmutableMap.of(
                "\"process\",\"pid\"", "\"ghost\",\"pid\"",
                "\"type\":\"process\",", "",
                "\"process/a\"", "\"nobody/a\"",
                "\"STOPPING\"", "\"PERHAPS\"",
                "2026-01-02T03:04:05Z", "yesterday",
                "\"phase\"", "\"stage\"");
        wrong.forEach((right, other) -> {
            assertTrue(text.contains(right), right);
            String damaged = text.replace(right, other);
            assertThrows(IllegalArgumentException.class, () -> codec.read(Instance.class, damaged), damaged);
        });
    }

    private static Instance instance(Identity identity) {
        return new Instance(
                "l",
                WorkloadId.process("a"),
                "t",
                "r",
                null,
                ImmutableSortedMap.of("arguments", "01"),
                Instant.parse("2026-01-02T03:04:05Z"),
                identity,
                Phase.STOPPING,
                "");
    }

    private WorkloadHistory read() {
        return read(stored.toString());
    }

    private WorkloadHistory read(String text) {
        return codec.read(WorkloadHistory.class, text, (part, e) -> lost.add(part));
    }
}
