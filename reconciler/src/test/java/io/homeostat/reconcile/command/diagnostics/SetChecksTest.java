package io.homeostat.reconcile.command.diagnostics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding.Level;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What doctor says of sources of published sets. */
final class SetChecksTest {
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");

    private final Path directory;
    private final Layout layout;

    SetChecksTest(@TempDir Path directory) {
        this.directory = directory;
        this.layout = new Layout(directory.resolve("s"), directory.resolve("r"), "test");
    }

    @Test
    void nothingIsSaidWhereThereIsNone() throws IOException {
        assertEquals(ImmutableList.of(), SetChecks.look(config("{}"), layout));
    }

    @Test
    void everyFileThatASourceNeedsHasToBeReadable() throws IOException {
        for (String source : new String[] {
            "etcd: {endpoints: ['http://127.0.0.1:1'], login: {user: u, passwordFile: /nowhere/f}}",
            "bucket: {url: 'gs://b/o', credentials: {file: /nowhere/f}}",
            "https: {url: 'https://a/s', tokenFile: /nowhere/f}",
            "https: {url: 'https://a/s', tls: {ca: /nowhere/f}}",
            "git: {url: 'file:///r', signedBy: [/nowhere/f]}"
        }) {
            Finding finding = SetChecks.look(config("{" + source + "}"), layout).getFirst();

            assertEquals(Level.FAIL, finding.level(), source);
            assertEquals("/nowhere/f is not there, or this user can't read it", finding.message());
        }
    }

    @Test
    void aSourceThatHasNotAnsweredIsADoubt() throws IOException {
        AgentConfig config = config("{https: {url: 'https://a/s'}}");
        assertEquals(
                "no agent has had an answer of it yet",
                SetChecks.look(config, layout).getFirst().message());
        try (StateStore store =
                StateStores.openForWriting(layout, Clock.systemUTC()).store()) {
            store.answered(SourceName.HTTPS, "https://a/s", null);
            assertEquals(Level.WARN, SetChecks.look(config, layout).getFirst().level());

            SourceProblem away =
                    new SourceProblem(SourceName.HTTPS, "https://a/s", Problem.Kind.UNREADABLE, "", "it is away");
            store.replace(
                    new SourceContent(SourceName.HTTPS, ImmutableList.of(), ImmutableSet.of(), ImmutableList.of(away)),
                    NOON);
            Finding finding = SetChecks.look(config, layout).getFirst();
            assertEquals("it is away", finding.message());
            assertEquals(Level.WARN, finding.level());
        }
    }

    @Test
    void aSourceThatHasAnsweredIsWellWithWhatItGave() throws IOException {
        AgentConfig config = config("{git: {url: 'file:///r'}}");
        try (StateStore store =
                StateStores.openForWriting(layout, Clock.systemUTC()).store()) {
            store.answered(SourceName.GIT, "file:///r", NOON);
            assertEquals(
                    "file:///r last answered at 2026-11-20T12:00:00Z",
                    SetChecks.look(config, layout).getFirst().message());

            store.take(
                    new StoredSet.Content(
                            new StoredSet(SourceName.GIT, "file:///r", "c1", 0, Optional.empty(), "d", NOON),
                            ImmutableList.of(),
                            ImmutableSortedMap.of()),
                    new SourceContent(SourceName.GIT, ImmutableList.of(), ImmutableSet.of(), ImmutableList.of()),
                    NOON);
        }
        Finding finding = SetChecks.look(config, layout).getFirst();
        assertEquals(Level.OK, finding.level());
        assertTrue(finding.message().endsWith(", version c1 is in force"), finding::message);
    }

    private AgentConfig config(String sources) throws IOException {
        AgentConfigReader.Result read = AgentConfigReader.read(
                Files.writeString(directory.resolve("agent.yaml"), "sources: " + sources + "\n"));
        AgentConfig config = read.config();
        assertNotNull(config, () -> read.errors().toString());
        return config;
    }
}
