package io.homeostat.reconcile.logs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.logs.LogTails.MaskedTails;
import io.homeostat.reconcile.secrets.LaunchedValues;
import io.homeostat.reconcile.sim.MemoryStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MaskedTailsTest {
    private static final WorkloadId ID = WorkloadId.plugin("a");

    private final MemoryStore store = new MemoryStore();
    private final LaunchedValues launched = new LaunchedValues();
    private Optional<Workload> declared = Optional.empty();

    private String masked(String lines) {
        DesiredState desired = StoredState.desired(declared.stream()
                .map(workload -> new StoredDeclaration(SourceName.APPLIED, workload, "/a.yaml", 1, "hash", 0))
                .collect(ImmutableList.toImmutableList()));
        return new MaskedTails(id -> lines, desired::get, store, launched).lastLines(ID);
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
    void addressesAreTakenApartWhateverTheyLack() {
        declared = Optional.of(given("{string: a}", "{DATABASE_URL: \"postgres://app-user-1@db:5432/x\"}"));

        assertEquals("user (masked) at db:5432 is unknown", masked("user app-user-1 at db:5432 is unknown"));
    }

    @Test
    void whatIsShortIsTakenOutWhereItsNameOrItsFileSaysThatItIsASecret(@TempDir Path directory) throws IOException {
        Path pin = Files.writeString(directory.resolve("pin"), "471199\n");
        Path file = Files.writeString(directory.resolve("env"), "API_TOKEN=abc123\nMODE=strict\n");
        declared = Optional.of(Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec:
                  install: local
                  entryPoint: /bin/a
                  env: {DB_PASSWORD: "hunter2\\n", PIN: {file: %s}, LEVEL: trace}
                  envFiles: [%s]
                """.formatted(pin, file)));
        DesiredState desired = StoredState.desired(ImmutableList.of(
                new StoredDeclaration(SourceName.APPLIED, declared.orElseThrow(), "/a.yaml", 1, "hash", 0)));

        assertEquals(
                "trace: (masked), (masked) and (masked) were refused, strict",
                new MaskedTails(
                                id -> "trace: hunter2, 471199 and abc123 were refused, strict",
                                desired::get,
                                store,
                                launched)
                        .lastLines(WorkloadId.process("a")));
    }

    @Test
    void whatFormerRevisionsWereGivenIsTakenOutToo() {
        declared = Optional.of(given("{string: a}", "{TOKEN: new-token-2}"));
        store.remember(ImmutableList.of(new StoredRevision(
                1,
                "h",
                Optional.empty(),
                given("{string: a}", "{TOKEN: old-token-1}"),
                Instant.EPOCH,
                Optional.empty(),
                Optional.empty(),
                Optional.of(Instant.EPOCH),
                "",
                Optional.empty())));

        assertEquals("(masked), then (masked)", masked("old-token-1, then new-token-2"));
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
    void whatAFileHeldAtTheLaunchIsTakenOutAfterItWasRotatedOrDeleted(@TempDir Path directory) throws IOException {
        Path token = Files.writeString(directory.resolve("token"), "first-secret");
        declared = Optional.of(given("{string: level}", "{TOKEN: {file: " + token + "}}"));
        launched.remember(launch("l", token), Map.of("TOKEN", "first-secret"), Set.of("TOKEN"));

        Files.writeString(token, "\uFEFFsecond-secret\n");
        assertEquals("refused (masked), then (masked)", masked("refused first-secret, then second-secret"));
        launched.remember(launch("m", token), Map.of("TOKEN", "471199"), Set.of("TOKEN"));
        assertEquals("PIN (masked) was refused", masked("PIN 471199 was refused"));
        launched.remember(launch("n", token), Map.of("TOKEN", "9321"), Set.of("TOKEN"));
        assertEquals("PIN (masked), at 093215, was refused", masked("PIN 9321, at 093215, was refused"));
        Files.delete(token);
        assertEquals("refused (masked)", masked("refused first-secret"));
    }

    @Test
    void whereNobodyKnowsWhatItHeldTheLinesAreLeftOut(@TempDir Path directory) throws IOException {
        Path token = Files.writeString(directory.resolve("token"), "first-secret");
        declared = Optional.of(given("{string: level}", "{TOKEN: {file: " + token + "}}"));
        launch("l", token);
        assertEquals("refused (masked)", masked("refused first-secret"));

        String leftOut = "(the end of the log is left out: " + token
                + " is not what the program was launched with, so it is not known what is secret; see homeostat logs plugin/a)";
        Files.writeString(token, "second-secret");
        assertEquals(leftOut, masked("refused first-secret"));
        Files.delete(token);
        assertEquals(leftOut, masked("refused first-secret"));
    }

    /** Of a program whose token is in this file. */
    private Instance launch(String launchId, Path token) throws IOException {
        String digest = Hashing.sha256().hashBytes(Files.readAllBytes(token)).toString();
        Instance instance = new Instance(
                launchId,
                ID,
                "h",
                "1",
                null,
                ImmutableSortedMap.of("file " + token, digest),
                Instant.EPOCH,
                null,
                Phase.STARTED,
                "");
        store.commit(Change.ofInstance(instance));
        return instance;
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
