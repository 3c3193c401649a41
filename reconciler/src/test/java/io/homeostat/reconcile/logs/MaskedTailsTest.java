package io.homeostat.reconcile.logs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.logs.LogTails.MaskedTails;
import io.homeostat.reconcile.sim.MemoryStore;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class MaskedTailsTest {
    private static final WorkloadId ID = WorkloadId.plugin("a");

    private final MemoryStore store = new MemoryStore();
    private Optional<Workload> declared = Optional.empty();

    private String masked(String lines) {
        DesiredState desired = StoredState.desired(declared.stream()
                .map(workload -> new StoredDeclaration(SourceName.APPLIED, workload, "/a.yaml", 1, "hash", 0))
                .collect(ImmutableList.toImmutableList()));
        return new MaskedTails(id -> lines, desired::get, store).lastLines(ID);
    }

    private static Workload given(String config, String env) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: a}
                spec:
                  install: local
                  entryPoint: /bin/a
                  revision: "1"
                  arguments: ["--file=/etc/a/the-file.conf"]
                  config: %s
                  env: %s
                """.formatted(config, env));
    }

    @Test
    void theConfigurationAndTheEnvironmentAreTakenOutWholeAndInParts() {
        declared = Optional.of(given("{string: \"user: root\\nkey: abcd-efgh-1\"}", "{PIN: \"0123456789\"}"));

        assertEquals("could not log in with (masked)", masked("could not log in with abcd-efgh-1"));
        assertEquals("[(masked)]\n[(masked)]", masked("[user: root]\n[key: abcd-efgh-1]"));
        assertEquals("PIN (masked) was refused", masked("PIN 0123456789 was refused"));
    }

    @Test
    void valuesInAStructAreTakenOutAsDeepAsTheyAre() {
        declared = Optional.of(given("{struct: {deep: [{key: abcd-efgh-1}]}}", "{}"));

        assertEquals("{\"deep\":[{\"key\":\"(masked)\"}]}", masked("{\"deep\":[{\"key\":\"abcd-efgh-1\"}]}"));
    }

    @Test
    void whatSaysWhyAProgramFailedIsLeft() {
        declared = Optional.of(given("{string: \"level: trace\"}", "{MODE: strict}"));
        String lines = "trace: /etc/a/the-file.conf:7: strict mode wants a value\nexit status 3";

        assertEquals(lines, masked(lines));
    }

    @Test
    void whatRunsInPlaceOfWhatIsDeclaredHasItsSecretsTakenOutToo() {
        declared = Optional.of(given("{string: new-config-2}", "{}"));
        Workload former = given("{string: old-config-1}", "{}");
        store.commit(new Change(
                ID,
                store.history(ID).withLastKnownGood(new LastKnownGood(former, "h", null)),
                false,
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of()));

        assertEquals("(masked), then (masked)", masked("old-config-1, then new-config-2"));
    }

    @Test
    void ofAWorkloadThatNobodyDeclaresWhatLooksLikeASecretIsTakenOutAllTheSame() {
        assertEquals("password=(masked)", masked("password=hunter2"));
    }

    @Test
    void aMessageQuotesTheVeryLastLinesInOne() {
        LogTails logs = id -> "one\ntwo\n\n  three\nfour\n";
        assertEquals("two | three | four", logs.lastWords(WorkloadId.process("web")));
        LogTails none = id -> "";
        assertEquals("", none.lastWords(WorkloadId.process("web")));
        LogTails longLine = id -> "x".repeat(1000) + "the end";
        assertEquals("..." + "x".repeat(293) + "the end", longLine.lastWords(WorkloadId.process("web")));
    }
}
