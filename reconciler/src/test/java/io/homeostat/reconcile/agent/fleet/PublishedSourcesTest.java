package io.homeostat.reconcile.agent.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.fleet.MachineLabels;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.Choice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which sources count, as the configuration of the moment has it. */
final class PublishedSourcesTest {
    private static final String HTTPS = "https: {url: 'https://127.0.0.1:1/set.json'}";
    private static final String GIT = "git: {url: 'file:///nowhere'}";

    @TempDir
    Path directory;

    private Layout layout;
    private StateStore store;
    private PublishedSources sources;
    private int role;
    private Runnable meanwhile = () -> {};

    @BeforeEach
    void open() {
        layout = new Layout(directory.resolve("s"), directory.resolve("r"), "test");
        store = StateStores.openForWriting(layout, Clock.systemUTC()).store();
        sources = new PublishedSources(
                layout,
                path -> new MetadataServer.Answer.Unreachable("nobody asks"),
                store,
                Clock.systemUTC(),
                new ReentrantLock(),
                () -> {},
                new PublishedSources.Member("i-1", "1.0", this::labels, new ReportedWorkloads()));
    }

    @AfterEach
    void close() {
        sources.close();
        store.close();
    }

    private MachineLabels labels() {
        meanwhile.run();
        return new MachineLabels(ImmutableSortedMap.of("role", "r" + role), Optional.empty());
    }

    private AgentConfig config(String... configured) throws IOException {
        Path file = Files.writeString(
                directory.resolve("agent.yaml"), "sources: {" + String.join(", ", configured) + "}\n");
        return Objects.requireNonNull(AgentConfigReader.read(file).config());
    }

    /** Has a source have given something once. */
    private void gave(SourceName source, String name) {
        SetReader reader =
                new SetReader(new AgentConfig.SignedSets(false, ImmutableList.of(), "default"), TrustedKeys.NONE);
        new PublishedSource(
                        source, name, reader, () -> Choice.ALL, store, Clock.systemUTC(), new ReentrantLock(), () -> {})
                .fetched(PublishedSourceTest.set("v1", 7, source.word()));
    }

    private ImmutableSet<SourceName> giving() {
        return store.publishedSets().stream()
                .filter(standing -> standing.set().isPresent())
                .map(standing -> standing.source())
                .collect(ImmutableSet.toImmutableSet());
    }

    @Test
    void whatIsNotNamedAnyMoreIsWithdrawn() throws Exception {
        gave(SourceName.HTTPS, "https://127.0.0.1:1/set.json");
        gave(SourceName.GIT, "file:///nowhere");

        sources.use(config(HTTPS, GIT));
        assertEquals(ImmutableSet.of(SourceName.HTTPS, SourceName.GIT), giving());
        sources.use(config(GIT));
        assertEquals(ImmutableSet.of(SourceName.GIT), giving());
        sources.use(config());
        assertEquals(ImmutableSet.of(), giving());
    }

    @Test
    void whatCouldNotBeWithdrawnIsTriedAgain() throws Exception {
        gave(SourceName.HTTPS, "https://127.0.0.1:1/set.json");
        gave(SourceName.GIT, "file:///nowhere");
        PublishedSourceTest.sql(
                layout, "CREATE TRIGGER refuse BEFORE DELETE ON published_set BEGIN SELECT RAISE(ABORT, 'full'); END");

        sources.use(config(GIT));
        assertEquals(ImmutableSet.of(SourceName.HTTPS, SourceName.GIT), giving());
        PublishedSourceTest.sql(layout, "DROP TRIGGER refuse");
        role++;
        sources.refreshWhatMoved();
        assertEquals(ImmutableSet.of(SourceName.GIT), giving());
    }

    /** Labels change, and the configuration is read again, at the same time. */
    @Test
    void whatIsNamedStaysWhateverHappensWhileTheConfigurationIsReadAgain() throws Exception {
        gave(SourceName.HTTPS, "https://127.0.0.1:1/set.json");
        gave(SourceName.GIT, "file:///nowhere");
        meanwhile = () -> {
            Runnable again = meanwhile;
            meanwhile = () -> {};
            role++;
            sources.refreshWhatMoved();
            meanwhile = again;
        };

        sources.use(config(HTTPS, GIT));

        assertEquals(ImmutableSet.of(SourceName.HTTPS, SourceName.GIT), giving());
    }
}
