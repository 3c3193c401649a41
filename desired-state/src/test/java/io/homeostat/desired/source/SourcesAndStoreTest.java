package io.homeostat.desired.source;

import static io.homeostat.desired.source.SourceFixture.NOW;
import static io.homeostat.desired.source.SourceFixture.process;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.fleet.MachineLabels;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader.NotHere;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A source beside a real store, as an agent has them. */
class SourcesAndStoreTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId B = WorkloadId.process("b");

    @TempDir
    Path temporary;

    private SourceFixture files;
    private FilesSource source;
    private StateStore store;

    @BeforeEach
    void open() throws IOException {
        Path directory = Files.createDirectory(temporary.resolve("desired.d"));
        files = new SourceFixture(directory);
        source = new FilesSource(ImmutableList.of(directory), TrustedPath.ANY, Choice.ALL, InstantSource.fixed(NOW));
        Layout layout = new Layout(temporary.resolve("state"), temporary.resolve("run"), "1");
        store = StateStores.openForWriting(layout, Clock.fixed(NOW, ZoneOffset.UTC))
                .store();
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void aLookThatFindsNothingNewChangesNothing() throws IOException {
        files.write("a.yaml", process("a", "b"));
        assertEquals(ImmutableSet.of(A, B), look());
        assertEquals(ImmutableSet.of(), look());
        files.write("a.yaml", "a: [\n}");
        assertEquals(ImmutableSet.of(), look());
        int events = store.events(0, 100).size();
        assertEquals(ImmutableSet.of(), look());
        assertEquals(events, store.events(0, 100).size());
    }

    @Test
    void aBrokenFileStaysInForceUntilItIsRepairedOrRemoved() throws IOException {
        Path file = files.write("a.yaml", process("a", "b"));
        look();
        files.write("a.yaml", process("a", "-", "_"));
        assertEquals(ImmutableSet.of(), look());
        assertEquals(2, store.declarations().size());
        assertEquals(2, store.problems().size());
        files.write("a.yaml", process("a"));
        assertEquals(ImmutableSet.of(B), look());
        assertEquals(ImmutableList.of(), store.problems());
        Files.delete(file);
        assertEquals(ImmutableSet.of(A), look());
        assertEquals(ImmutableList.of(), store.declarations());
    }

    @Test
    void aWorkloadThatMovesToAnotherFileKeepsItsGeneration() throws IOException {
        files.write("1.yaml", process("a"));
        look();
        Files.move(files.path("1.yaml"), files.path("2.yaml"));
        assertEquals(ImmutableSet.of(), look());
        StoredDeclaration moved = store.declarations().getFirst();
        assertEquals(files.path("2.yaml").toString(), moved.origin());
        assertEquals(1, moved.generation());
        Files.delete(files.path("2.yaml"));
        assertEquals(ImmutableSet.of(A), look());
    }

    @Test
    void whatALookWouldStoreIsWhatTheNextOneStores() throws IOException {
        files.write("1.yaml", process("a", "b"));
        files.write("2.yaml", process("c"));
        assertForetold();
        files.write("1.yaml", process("a").replace("/bin/true", "/bin/false"));
        files.write("2.yaml", "a: [\n}");
        assertForetold();
        assertEquals(2, store.declarations().size());
        Files.delete(files.path("2.yaml"));
        Files.move(files.path("1.yaml"), files.path("3.yaml"));
        assertForetold();
        assertEquals(1, store.declarations().size());
    }

    @Test
    void whoeverOnlyLooksTakesWhatWasJustRemovedForWithdrawn() throws IOException {
        files.write("a.yaml", process("a"));
        look();
        Files.delete(files.path("a.yaml"));
        SourceFixture.changed(temporary.resolve("desired.d"), NOW);

        assertEquals(ImmutableList.of(), foretold());
        ImmutableSet<String> retained = source.read(StoredWorkloads.of(SourceName.FILES, store.declarations()))
                .content()
                .retainedOrigins();
        assertEquals(ImmutableSet.of(files.path("a.yaml").toString()), retained);
    }

    /** Of a wrong file what it declared before stays. */
    @Test
    void documentsForOtherMachinesAreNamedOfFilesThatAreNotWrong() throws IOException {
        String elsewhere = process("b").replace("spec:", "placement: {matchLabels: {role: db}}\nspec:");
        files.write("a.yaml", process("a") + elsewhere);
        files.write("wrong.yaml", elsewhere.replace("name: b", "name: c") + "---\nkind: Nonsense\n");
        Choice labels = new MachineLabels(ImmutableSortedMap.of("role", "web"), Optional.empty());
        MachineSources sources = new MachineSources(
                AgentConfigReader.defaults(),
                () -> ImmutableList.of(temporary.resolve("missing"), temporary.resolve("desired.d")),
                labels,
                false);

        ImmutableList<NotHere> left = sources.notHere(Clock.systemUTC());

        assertEquals(1, left.size(), left::toString);
        assertEquals(B, left.getFirst().read().workload().id());
        assertEquals(files.path("a.yaml").toString(), left.getFirst().read().file());
        String reason = left.getFirst().reason();
        assertTrue(reason.contains("'db'") && reason.contains("'web'"), reason);
    }

    private void assertForetold() throws IOException {
        files.age(Duration.ofHours(1));
        ImmutableSet<StoredDeclaration> foretold = ImmutableSet.copyOf(foretold());
        look();
        assertEquals(ImmutableSet.copyOf(store.declarations()), foretold);
    }

    private ImmutableList<StoredDeclaration> foretold() {
        MachineSources sources = new MachineSources(
                AgentConfigReader.defaults(),
                () -> ImmutableList.of(temporary.resolve("desired.d")),
                Choice.ALL,
                false);
        ImmutableList<StoredDeclaration> next = store.declarations();
        for (SourceContent content : sources.contents(next, ImmutableSet.of(), InstantSource.fixed(NOW))) {
            next = StoredState.replaced(next, content);
        }
        return next;
    }

    private ImmutableSet<WorkloadId> look() throws IOException {
        files.age(Duration.ofHours(1));
        SourceSnapshot reading = source.read(StoredWorkloads.of(SourceName.FILES, store.declarations()));
        return store.replace(reading.content(), NOW);
    }
}
