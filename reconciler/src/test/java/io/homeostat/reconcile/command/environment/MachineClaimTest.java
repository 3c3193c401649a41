package io.homeostat.reconcile.command.environment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.controlplane.FakeMetadataServer;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.sqlite.MachineState;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.HeardLog;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a real store and a metadata server; the machine's id and its boots are the test's. */
class MachineClaimTest {
    private static final String MACHINE = "0123456789abcdef0123456789abcdef";

    private static final int OK = 200;
    private static final int SERVER_ERROR = 500;

    private final Path directory;
    private final Layout layout;
    private final FakeMetadataServer metadata = new FakeMetadataServer();

    MachineClaimTest(@TempDir Path directory) throws IOException {
        this.directory = directory;
        this.layout = new Layout(directory.resolve("s"), directory.resolve("r"), "unclaimed");
    }

    @BeforeEach
    void machine() throws IOException {
        Files.createDirectories(directory.resolve("proc/sys/kernel/random"));
        Files.createDirectory(layout.stateDir());
        Files.writeString(directory.resolve("machine-id"), MACHINE);
        boot("boot1");
    }

    @AfterEach
    void close() {
        metadata.close();
    }

    @Test
    void aCloneSetsTheStateOfItsSourceAsideAndBeginsWithNone() throws Exception {
        metadata.set("instance/id", "101");
        assertEquals("101", claim("auto").layout().instanceId());
        Instance instance = launched();

        boot("boot2");
        metadata.set("instance/id", "202");
        MachineClaim.Claimed clone = claim("auto");

        assertEquals("202", clone.layout().instanceId());
        try (StateStore store =
                StateStores.openForWriting(clone.layout(), Clock.systemUTC()).store()) {
            clone.tell(store, words -> {}, Clock.systemUTC());
            assertEquals(List.of(), store.instances());
            assertEquals(
                    EventType.AGENT_STATE_SET_ASIDE,
                    store.events(0, 10).getLast().event().type());
        }

        boot("boot3");
        metadata.set("instance/id", "101");
        try (StateStore store = StateStores.openForWriting(claim("auto").layout(), Clock.systemUTC())
                .store()) {
            assertEquals(List.of(instance), store.instances());
        }
    }

    @Test
    void whoWasKilledBeforeItWasSaidThatStateIsSetAsideSaysItTheNextTime() throws Exception {
        claim("web-1");
        launched();
        claim("web-2");

        MachineClaim.Claimed next = claim("web-2");

        assertTrue(next.news().orElseThrow().startsWith("this is instance web-2 and not web-1 any more"));
        try (StateStore store =
                StateStores.openForWriting(next.layout(), Clock.systemUTC()).store()) {
            next.tell(store, words -> {}, Clock.systemUTC());
        }
        assertEquals(Optional.empty(), claim("web-2").news());
    }

    @Test
    void aRebootIsNoNews() throws Exception {
        Layout first = claim("auto").layout();
        boot("boot2");

        assertEquals(new MachineClaim.Claimed(first, "1", Optional.empty(), Optional.empty()), claim("auto"));
    }

    @Test
    void whoCanNotFindOutWhetherItIsACloneSaysSo() throws Exception {
        metadata.set("instance/id", "101");
        assertEquals(Optional.empty(), claim("auto").doubt());

        boot("boot2");
        metadata.fail(SERVER_ERROR);
        MachineClaim.Claimed doubtful = claim("auto");

        assertEquals("101", doubtful.layout().instanceId());
        String words = doubtful.doubt().orElseThrow();
        assertTrue(words.startsWith("whether this is still instance 101 or a clone of it could not be found out: "));
        assertTrue(words.contains("status 500"), words);

        assertEquals(Optional.empty(), claim("auto").doubt(), "said once a boot");

        metadata.fail(OK);
        metadata.set("instance/id", "202");
        assertEquals("202", claim("auto").layout().instanceId());
    }

    @Test
    void whoChoosesAnotherIdBeginsWithNoStateAtOnceAndIsToldOfWhatRuns() throws Exception {
        claim("web-1");
        Instance instance = launched();

        MachineClaim.Claimed other = claim("web-2");

        assertEquals("web-2", other.layout().instanceId());
        assertEquals(
                "this is instance web-2 and not web-1 any more; the state of the former one is set aside in "
                        + layout.of("web-1").machineDirectory()
                        + "; what that one started in this boot and still runs is not this one's, and is left alone:"
                        + " restart the machine to be rid of it",
                other.news().orElseThrow());
        try (StateStore store =
                StateStores.openForWriting(other.layout(), Clock.systemUTC()).store()) {
            assertEquals(List.of(), store.instances());
        }
        try (StateStore store = StateStores.openForWriting(claim("web-1").layout(), Clock.systemUTC())
                .store()) {
            assertEquals(List.of(instance), store.instances());
        }
    }

    @Test
    void aDamagedNoteIsSaidAndWhatRunsKeepsItsPaths() throws Exception {
        metadata.set("instance/id", "101");
        assertEquals("101", claim("auto").layout().instanceId());
        Instance instance = launched();
        Files.createDirectories(layout.of("101").installs(Kind.PROCESS));
        Files.writeString(layout.machineFile(), "{");
        metadata.set("instance/id", "202");
        Layout claimed;
        List<String> lines;
        try (HeardLog log = HeardLog.ofThisThread(MachineState.class)) {
            claimed = claim("auto").layout();
            lines = log.lines();
        }
        assertEquals("101", claimed.instanceId());
        try (StateStore store =
                StateStores.openForWriting(claimed, Clock.systemUTC()).store()) {
            assertEquals(List.of(instance), store.instances());
        }
        assertEquals(
                List.of(layout.machineFile() + " is damaged and does not say whose state this is;"
                        + " it is taken for that of instance 101, whose "
                        + layout.of("101").machineDirectory() + " is the only one without a database of its own"),
                lines);
    }

    @Test
    void whereNobodySaysThereIsAMetadataServerNoneIsAsked() throws Exception {
        MachineClaim.Claimed claimed = new MachineClaim(
                        environment(Map.of()), new ProcFs(directory.resolve("proc")), directory.resolve("machine-id"))
                .claim(layout, "auto");

        assertEquals(List.of(), metadata.asked());
        // Unless this test itself runs on one of Google's machines.
        assertFalse(claimed.layout().instanceId().isEmpty());
    }

    @Test
    void aChosenIdIsAskedOfNobody() throws Exception {
        assertEquals("web-1", claim("web-1").layout().instanceId());
        assertEquals(List.of(), metadata.asked());
    }

    @Test
    void stateOfAVersionThatClaimedNothingStaysWhereItIs() throws Exception {
        Files.createDirectory(layout.stateDir().resolve(MACHINE));
        metadata.set("instance/id", "101");

        assertEquals(MACHINE, claim("auto").layout().instanceId());

        boot("boot2");
        assertEquals(MACHINE, claim("auto").layout().instanceId());
        metadata.set("instance/id", "202");
        boot("boot3");
        assertTrue(claim("auto").news().isEmpty(), "nothing was there to be set aside");
        assertEquals("202", claim("auto").layout().instanceId());
    }

    private MachineClaim.Claimed claim(String configured) throws InterruptedException {
        return new MachineClaim(
                        environment(Map.of("GCE_METADATA_HOST", metadata.host())),
                        new ProcFs(directory.resolve("proc")),
                        directory.resolve("machine-id"))
                .claim(layout, configured);
    }

    private Instance launched() {
        try (StateStore store =
                StateStores.openForWriting(layout, Clock.systemUTC()).store()) {
            Instance instance = new Instance(
                    "launch",
                    WorkloadId.process("a"),
                    "hash",
                    "1",
                    null,
                    ImmutableSortedMap.of(),
                    Instant.EPOCH,
                    null,
                    Phase.INTENDED,
                    "");
            store.commit(Change.ofInstance(instance));
            return instance;
        }
    }

    private void boot(String id) throws IOException {
        Files.writeString(directory.resolve("proc/sys/kernel/random/boot_id"), id + "\n");
    }

    private Environment environment(Map<String, String> variables) {
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
        return new Environment(
                ImmutableMap.copyOf(variables),
                directory,
                0,
                InputStream.nullInputStream(),
                nowhere,
                nowhere,
                false,
                false,
                Clock.systemUTC(),
                Ticker.systemTicker(),
                DocumentFormat.STANDARD,
                Interrupts.none());
    }
}
