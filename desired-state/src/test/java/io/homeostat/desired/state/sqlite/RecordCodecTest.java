package io.homeostat.desired.state.sqlite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.io.Resources;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.Trial;
import io.homeostat.desired.state.history.WorkloadHistory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class RecordCodecTest {
    private final ObjectMapper json = new ObjectMapper();
    private final RecordCodec codec = new RecordCodec(json, new StoredDocuments()::read);
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
    void whatIsUnknownIsIgnored() {
        stored.put("fromTheFuture", 1);
        stored.withObject("/trial").put("fromTheFuture", true);

        assertEquals(history, read());
    }

    @Test
    void whatIsMissingHasItsDefault() {
        assertEquals(WorkloadHistory.NONE, read("{}"));
        stored.withObject("/trial").remove("upkeep");

        assertEquals(history.withTrial(history.trial().withUpkeep(Attempts.NONE)), read());
    }

    @Test
    void aRevisionWhoseDeclarationCantBeReadIsForgottenAlone() {
        stored.withObject("/proven").put("workload", "{\"kind\": \"Sandbox\"}");

        assertEquals(history.withProven(null), read());
    }

    @Test
    void aFailedUpgradeThatCantBeReadIsForgottenAlone() {
        stored.withObject("/failed").put("at", "yesterday");

        assertEquals(history.withFailed(null), read());
    }

    @Test
    void failuresThatCantBeReadAreForgottenAlone() {
        stored.put("trial", "none");

        assertEquals(history.withTrial(Trial.NONE), read());
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

    @Test
    void whatTheFormerCodecHasWrittenIsRead() throws Exception {
        Exit exit = new Exit(0, null, Exit.Reason.EXITED, Samples.NOON);
        List<String> written = Resources.readLines(
                Resources.getResource(RecordCodecTest.class, "histories-before-reflection.jsonl"),
                StandardCharsets.UTF_8);

        assertEquals(
                List.of(history, WorkloadHistory.NONE, WorkloadHistory.NONE.withRun(RunRecord.NONE.withExit(exit))),
                written.stream().map(this::read).toList());
        assertEquals(List.of(), lost);
    }

    @Test
    void whatIsEmptyIsNotWritten() {
        assertEquals("{}", codec.write(WorkloadHistory.NONE));
    }

    private WorkloadHistory read() {
        return read(stored.toString());
    }

    private WorkloadHistory read(String text) {
        return codec.read(WorkloadHistory.class, text, (part, e) -> lost.add(part));
    }
}
