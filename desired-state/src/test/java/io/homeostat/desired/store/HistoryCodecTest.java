package io.homeostat.desired.store;

import static io.homeostat.desired.store.Samples.AGENT;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class HistoryCodecTest {
    private final ObjectMapper json = new ObjectMapper();
    private final HistoryCodec codec = new HistoryCodec(json, new StoredDocuments());
    private final WorkloadHistory history = Samples.eventful();
    private ObjectNode stored = json.createObjectNode();

    @BeforeEach
    void write() throws Exception {
        stored = (ObjectNode) json.readTree(codec.write(history));
    }

    @Test
    void whatIsWrittenIsRead() {
        assertEquals(history, read());
        assertEquals(WorkloadHistory.NONE, codec.read(AGENT, codec.write(WorkloadHistory.NONE)));
    }

    @Test
    void whatIsUnknownIsIgnored() {
        stored.put("fromTheFuture", 1);
        stored.withObject("/trial").put("fromTheFuture", true);

        assertEquals(history, read());
    }

    @Test
    void whatIsMissingHasItsDefault() {
        assertEquals(WorkloadHistory.NONE, codec.read(AGENT, "{}"));
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
        assertEquals(WorkloadHistory.NONE, codec.read(AGENT, "{\"trial\": "));
        assertEquals(WorkloadHistory.NONE, codec.read(AGENT, ""));
        assertEquals(WorkloadHistory.NONE, codec.read(AGENT, "[1]"));
    }

    @Test
    void anExitWithoutCodeAndSignalComesBackWithoutThem() {
        Exit unknown = new Exit(null, null, Exit.Reason.UNKNOWN, Samples.NOON);
        WorkloadHistory ended = WorkloadHistory.NONE.withRun(RunRecord.NONE.withExit(unknown));

        assertEquals(ended, codec.read(AGENT, codec.write(ended)));
    }

    private WorkloadHistory read() {
        return codec.read(AGENT, stored.toString());
    }
}
