package io.homeostat.desired.state.sqlite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoredSet.Highest;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class KilledWriterTest {
    private static final int KILLS = Boolean.getBoolean("nightly") ? 4 : 2;

    @TempDir
    Path directory;

    @Test
    void everyAcknowledgedChangeSurvivesAKillAndNoneIsThereInParts() throws Exception {
        Layout layout = Samples.layout(directory);
        for (int kill = 1; kill <= KILLS; kill++) {
            List<String> acknowledged;
            try (ChildJvm writer =
                    ChildJvm.start(CommittingWriter.class, layout.stateDir().toString())) {
                writer.awaitLines(50 * kill);
                acknowledged = writer.kill();
            }
            try (StateStore store =
                    StateStores.openForWriting(layout, Samples.CLOCK).store()) {
                assertIsWhole(store, Long.parseLong(acknowledged.getLast()));
            }
        }
    }

    @Test
    void aSetThatIsTakenSurvivesAKillWithAllThatBelongsToItOrIsNotTaken() throws Exception {
        Layout layout = Samples.layout(directory);
        for (int kill = 1; kill <= KILLS; kill++) {
            List<String> acknowledged;
            try (ChildJvm writer =
                    ChildJvm.start(TakingWriter.class, layout.stateDir().toString())) {
                writer.awaitLines(50 * kill);
                acknowledged = writer.kill();
            }
            try (StateStore store =
                    StateStores.openForWriting(layout, Samples.CLOCK).store()) {
                assertIsTakenAsAWhole(store, Long.parseLong(acknowledged.getLast()));
            }
        }
    }

    private static void assertIsTakenAsAWhole(StateStore store, long acknowledged) {
        long taken = TakingWriter.sequence(store);
        assertTrue(
                taken == acknowledged || taken == acknowledged + 1,
                () -> acknowledged + " was acknowledged, " + taken + " is in force");
        String text = Long.toString(taken);
        assertEquals(ImmutableSortedMap.of("web.yaml", text), store.publishedDocuments(SourceName.ETCD));
        assertEquals(ImmutableList.of(new Highest("key", taken, text)), store.highestSequences(SourceName.ETCD));
        assertEquals(
                ImmutableList.of(text),
                store.declarations().stream()
                        .map(declaration -> declaration.workload().revision())
                        .collect(ImmutableList.toImmutableList()));
        ImmutableList<StoredEvent> events = store.events(0, 1_000_000).stream()
                .filter(stored -> stored.event().type() == EventType.AGENT_SET_TAKEN)
                .collect(ImmutableList.toImmutableList());
        assertEquals(taken, events.size());
        assertTrue(events.getLast().event().message().endsWith(", sequence " + taken));
    }

    private static void assertIsWhole(StateStore store, long acknowledged) {
        long stored = store.history(CommittingWriter.WRITER).observedGeneration();
        assertTrue(
                stored == acknowledged || stored == acknowledged + 1,
                () -> acknowledged + " was acknowledged, " + stored + " is stored");
        assertEquals(
                "h" + stored, store.history(CommittingWriter.WRITER).attempts().hash());
        assertEquals(
                ImmutableList.of(Samples.instance(CommittingWriter.WRITER, Long.toString(stored))),
                store.instances(CommittingWriter.WRITER));
        ImmutableList<StoredEvent> events = store.events(0, 1_000_000);
        assertEquals(2 * stored, events.size());
        for (int i = 0; i < events.size(); i++) {
            assertEquals(Integer.toString(1 + i / 2), events.get(i).event().message());
        }
    }
}
