package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MachineIdentity;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.sqlite.MachineState;
import io.homeostat.observe.Observation;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Locale;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The keeper of the launch is process 99 and its main process 100, started at tick 5000. */
class UnknownLaunchesTest {
    private static final WorkloadId ID = Launches.ID;
    private static final String LAUNCH = "0b2e4a6c-0000-4000-8000-000000000001";
    private static final String ANOTHER = "0b2e4a6c-0000-4000-8000-000000000002";

    @TempDir
    Path temporary;

    private Path root;
    private Layout layout;
    private FakeProc proc;
    private int owner;

    @BeforeEach
    void setUp() throws Exception {
        // What leads here may be a link on this machine.
        root = temporary.toRealPath();
        layout = new Layout(root.resolve("state"), root.resolve("run"), "i");
        Files.createDirectories(layout.stateDir());
        owner = (int) Files.getAttribute(layout.stateDir(), "unix:uid");
        proc = new FakeProc(root.resolve("proc"));
        proc.process(1, 0, 1, 0).process(500, 1, 500, 100);
        link("self/ns/mnt", "mnt:[1]");
        link("self/ns/pid", "pid:[1]");
        keeper(layout.launch(ID, LAUNCH));
        proc.process(100, 99, 100, 5000, LaunchMarks.LAUNCH + "=" + LAUNCH);
    }

    private void keeper(Path directory) throws IOException {
        keeper(LAUNCH, directory.toString());
        users(owner, owner, owner, owner);
        link("99/root", "/");
        link("99/ns/mnt", "mnt:[1]");
        link("99/ns/pid", "pid:[1]");
    }

    private void keeper(String id, String directory) throws IOException {
        proc.process(99, 1, 99, 4999, LaunchMarks.KEEPER + "=" + id, LaunchMarks.KEEPER_DIRECTORY + "=" + directory);
    }

    private void users(int... ids) throws IOException {
        StringBuilder line = new StringBuilder("Name:\tsh\nUid:");
        for (int id : ids) {
            line.append('\t').append(id);
        }
        proc.write("99/status", line + "\nGid:\t0\t0\t0\t0\n");
    }

    private void link(String name, String target) throws IOException {
        Path link = proc.root.resolve(name);
        Files.createDirectories(link.getParent());
        Files.deleteIfExists(link);
        Files.createSymbolicLink(link, Path.of(target));
    }

    private ImmutableList<Instance> found() throws IOException {
        return new UnknownLaunches(layout, proc.procFs).of(ID);
    }

    private void assertNotFound() throws IOException {
        assertEquals(ImmutableList.of(), found());
        assertEquals(ImmutableSet.of(), traces(new UnknownLaunches(layout, proc.procFs)));
    }

    private static Object traces(UnknownLaunches unknown) {
        return assertInstanceOf(Observation.Seen.class, unknown.beside(Observation.seen(ImmutableSet.<WorkloadId>of())))
                .value();
    }

    @Test
    void itIsFoundByItsKeeper() throws Exception {
        Instance instance = Iterables.getOnlyElement(found());
        assertEquals(LAUNCH, instance.launchId());
        assertEquals(ID, instance.workload());
        assertEquals(new ProcessIdentity(100, 5000, FakeProc.BOOT), instance.process());
        assertEquals(Instant.ofEpochSecond(1_700_000_050), instance.launchedAt());
        assertTrue(instance.isUnknown());
        assertEquals(ImmutableSet.of(ID), traces(new UnknownLaunches(layout, proc.procFs)));
        assertEquals(
                ImmutableList.of(),
                new UnknownLaunches(layout, proc.procFs).of(WorkloadId.process(ID.name())),
                "another kind");
        assertEquals(
                ImmutableList.of(), UnknownLaunches.none(layout, proc.procFs).of(ID));
    }

    @Test
    void whatIsLeftOnDiskIsSeenBesideIt() {
        WorkloadId other = WorkloadId.process("other");
        assertEquals(
                Observation.seen(ImmutableSet.of(other, ID)),
                new UnknownLaunches(layout, proc.procFs).beside(Observation.seen(ImmutableSet.of(other))));
        Observation<ImmutableSet<WorkloadId>> blind = Observation.unseen("no disk");
        assertEquals(blind, new UnknownLaunches(layout, proc.procFs).beside(blind));
    }

    @Test
    void aLaunchWithANoteIsKnown() throws Exception {
        new Launches(layout).noted(Launches.instance(LAUNCH), FakeProc.BOOT);
        assertNotFound();
    }

    @Test
    void aNameThatItsDirectoryDoesNotTellIsFoundWhenItIsAskedFor() throws Exception {
        WorkloadId longer = WorkloadId.plugin("n".repeat(200));
        keeper(layout.launch(longer, LAUNCH));
        UnknownLaunches unknown = new UnknownLaunches(layout, proc.procFs);
        assertEquals(longer, Iterables.getOnlyElement(unknown.of(longer)).workload());
        assertEquals(ImmutableSet.of(), traces(unknown));
    }

    @Test
    void whatHasEndedIsNotFoundAnyMoreNorWhoHasItsNumber() throws Exception {
        UnknownLaunches unknown = new UnknownLaunches(layout, proc.procFs);
        assertEquals(1, unknown.of(ID).size());
        proc.process(100, 1, 100, 6000);
        assertEquals(ImmutableList.of(), unknown.of(ID));
        assertEquals(ImmutableSet.of(), traces(unknown));
    }

    @Test
    void aKeeperWhoseProcessHasEndedLeadsToNothing() throws Exception {
        proc.process(100, "Z", 99, 100, 1, 5000);
        assertNotFound();
        proc.end(100);
        assertNotFound();
    }

    @Test
    void processesAreLookedAtOnce() throws Exception {
        proc.end(99);
        UnknownLaunches unknown = new UnknownLaunches(layout, proc.procFs);
        assertEquals(ImmutableList.of(), unknown.of(ID));
        keeper(layout.launch(ID, LAUNCH));
        assertEquals(ImmutableList.of(), unknown.of(ID));
    }

    @Test
    void whatCouldNotBeLookedAtIsNotTakenForNothing() throws Exception {
        UnknownLaunches unknown = new UnknownLaunches(layout, new ProcFs(root.resolve("none")));
        assertThrows(IOException.class, () -> unknown.of(ID));
        Observation.Unseen<?> blind = assertInstanceOf(
                Observation.Unseen.class, unknown.beside(Observation.seen(ImmutableSet.<WorkloadId>of())));
        assertTrue(blind.why().contains(root.resolve("none").toString()), blind.why());
    }

    @Test
    void nobodyButTheOwnerOfTheDirectoryIsBelieved() throws Exception {
        for (int one = 0; one < 4; one++) {
            int[] ids = {owner, owner, owner, owner};
            ids[one] = owner + 1;
            users(ids);
            assertNotFound();
        }
        proc.end(99);
        keeper(layout.launch(ID, LAUNCH));
        Files.delete(proc.root.resolve("99/status"));
        assertNotFound();
    }

    @Test
    void noProcessWithoutTheMarkOfThatLaunchIsAKeeper() throws Exception {
        keeper(ANOTHER, layout.launch(ID, LAUNCH).toString());
        assertNotFound();
        proc.write("99/environ", LaunchMarks.LAUNCH + "=" + LAUNCH + "\0");
        assertNotFound();
    }

    @Test
    void noKeeperOfAnotherDirectoryIsOurs() throws Exception {
        Layout other = new Layout(root.resolve("other"), layout.runDir(), "i");
        Files.createDirectories(other.stateDir());
        keeper(other.launch(ID, LAUNCH));
        assertNotFound();
        keeper(layout.stateDir().resolve("i/launches/nothings/p/" + LAUNCH));
        assertNotFound();
    }

    @Test
    void whoIsInAnotherPidNamespaceCouldEndNothingHere() throws Exception {
        link("99/ns/pid", "pid:[2]");
        assertNotFound();
        Files.delete(proc.root.resolve("99/ns/pid"));
        assertNotFound();
    }

    @Test
    void noIdThatWeHaveNotMadeIsBelieved() throws Exception {
        for (String id : new String[] {"..", "l1", LAUNCH.toUpperCase(Locale.ROOT), LAUNCH + "\u001b[2J"}) {
            keeper(id, layout.launch(ID, LAUNCH).resolveSibling(id).toString());
            users(owner, owner, owner, owner);
            assertNotFound();
        }
    }

    /** Else all that has the mark of the other's launch would be stopped. */
    @Test
    void noIdOfALaunchThatIsKnownIsBelievedOfAnother() throws Exception {
        new Launches(layout).noted(Launches.instance(LAUNCH), FakeProc.BOOT);
        keeper(layout.launch(WorkloadId.plugin("another"), LAUNCH));
        assertNotFound();
    }

    @Test
    void anIdIsFoundOnce() throws Exception {
        proc.process(101, 99, 100, 5001, LaunchMarks.LAUNCH + "=" + LAUNCH);
        assertEquals(
                new ProcessIdentity(100, 5000, FakeProc.BOOT),
                Iterables.getOnlyElement(found()).process());
    }

    @Test
    void whateverOthersCallTheirDirectoryIsPassedOver() throws Exception {
        for (String directory :
                new String[] {"/launches/", "/launches/x", "/\u00ff/launches/plugins/p/l1", "/../launches/a/b/c/d"}) {
            keeper(LAUNCH, directory);
            users(owner, owner, owner, owner);
            assertNotFound();
        }
    }

    @Test
    void inAContainerTheSamePathIsAnotherDirectory() throws Exception {
        Path container = Files.createDirectories(root.resolve("container"));
        link("99/root", container.toString());
        link("99/ns/mnt", "mnt:[2]");
        assertNotFound();
        Path same = container.resolve(Path.of("/").relativize(layout.stateDir()));
        Files.createDirectories(same);
        assertNotFound();
        // A link in there leads elsewhere in there, whatever it leads to here.
        Files.delete(same);
        Files.createSymbolicLink(same, layout.stateDir());
        assertNotFound();
        // With another root alone, too.
        link("99/ns/mnt", "mnt:[1]");
        assertNotFound();
    }

    @Test
    void aServiceThatHasMountsOfItsOwnIsNoContainer() throws Exception {
        link("99/ns/mnt", "mnt:[2]");
        assertEquals(1, found().size());
    }

    @Test
    void aDirectoryMayBeCalledByALinkToIt() throws Exception {
        Path link = Files.createSymbolicLink(root.resolve("link"), layout.stateDir());
        keeper(new Layout(link, layout.runDir(), "i").launch(ID, LAUNCH));
        assertEquals(1, found().size());
        link("99/ns/mnt", "mnt:[2]");
        assertNotFound();
    }

    /** A disk was cloned, or the machine was given another id: the former one's state is set aside, and may come back. */
    @Test
    void whatAnotherMachineLaunchedIsLeftToItsState() throws Exception {
        Layout former = layout.of("former");
        claim("former", "former");
        keeper(former.launch(ID, LAUNCH));
        // Not set aside yet: an agent would do that first.
        assertNotFound();
        claim("former", "i");
        assertTrue(Files.exists(former.machineDirectory().resolve("homeostat.db")));
        assertNotFound();
        Files.delete(former.machineDirectory().resolve("homeostat.db"));
        assertEquals(LAUNCH, Iterables.getOnlyElement(found()).launchId());
    }

    private void claim(String former, String now) throws IOException {
        new MachineState(layout).claim(former, new MachineIdentity(now, "", "", FakeProc.BOOT), "");
        Files.writeString(layout.database(), "");
    }

    @Test
    void whoseStateThisIsHasToBeKnownForThat() throws Exception {
        keeper(layout.of("former").launch(ID, LAUNCH));
        Files.writeString(layout.database(), "");
        Files.createDirectory(layout.machineFile());
        StoreException failure = assertThrows(StoreException.class, this::found);
        assertTrue(String.valueOf(failure.getMessage())
                .contains(layout.machineFile().toString()));
    }

    /** Whoever makes it anew may call the machine otherwise: that may not hide what runs, neither from others nor from itself. */
    @Test
    void whereTheDirectoryWasEmptiedAnyIdCountsAlsoWhenItIsClaimed() throws Exception {
        keeper(layout.of("metadata-1").launch(ID, LAUNCH));
        assertEquals(LAUNCH, Iterables.getOnlyElement(found()).launchId());
        assertEquals(ImmutableSet.of(ID), traces(new UnknownLaunches(layout, proc.procFs)));
        claim("i", "i");
        assertEquals(LAUNCH, Iterables.getOnlyElement(found()).launchId());
    }

    /** Nobody but the machine of that id would read them. */
    @Test
    void soItIsWhereOnlyTheNotesOnItsLaunchesWereLeft() throws Exception {
        Layout former = layout.of("metadata-1");
        new Launches(former).noted(Launches.instance(LAUNCH), FakeProc.BOOT);
        keeper(former.launch(ID, LAUNCH));
        assertEquals(LAUNCH, Iterables.getOnlyElement(found()).launchId());
    }

    /** It would be made by us, as the directory of this test was. */
    @Test
    void whereTheDirectoryWasDeletedWhatRunsIsFoundAndNoneIsMade() throws Exception {
        Files.delete(layout.stateDir());
        assertEquals(LAUNCH, Iterables.getOnlyElement(found()).launchId());
        assertEquals(ImmutableSet.of(ID), traces(new UnknownLaunches(layout, proc.procFs)));
        assertTrue(Files.notExists(layout.stateDir()));
        link("99/ns/mnt", "mnt:[2]");
        assertEquals(1, found().size());
    }

    /** A metadata server may call it otherwise than its machine-id, and nobody who only looks asks that. */
    @Test
    void whereTheDirectoryWasDeletedItIsNotKnownWhatTheMachineWasCalledThere() throws Exception {
        keeper(layout.of("metadata-1").launch(ID, LAUNCH));
        Files.delete(layout.stateDir());
        assertEquals(LAUNCH, Iterables.getOnlyElement(found()).launchId());
    }

    @Test
    void soItIsWhereWhatIsAboveTheDirectoryWasDeletedWithIt() throws Exception {
        layout = new Layout(root.resolve("above/state"), layout.runDir(), "i");
        keeper(layout.launch(ID, LAUNCH));
        assertEquals(1, found().size());
        keeper(new Layout(root.resolve("beside/state"), layout.runDir(), "i").launch(ID, LAUNCH));
        assertNotFound();
    }

    @Test
    void whereTheDirectoryWasDeletedNobodyElseIsBelievedEither() throws Exception {
        Files.delete(layout.stateDir());
        for (int one = 0; one < 4; one++) {
            int[] ids = {owner, owner, owner, owner};
            ids[one] = owner + 1;
            users(ids);
            assertNotFound();
        }
        users(owner, owner, owner, owner);
        link("99/ns/pid", "pid:[2]");
        assertNotFound();
        link("99/ns/pid", "pid:[1]");
        keeper(ANOTHER, layout.launch(ID, LAUNCH).toString());
        assertNotFound();
    }

    @Test
    void whereTheDirectoryWasDeletedOneThatAnotherProcessHasIsAnother() throws Exception {
        Files.delete(layout.stateDir());
        Path container = Files.createDirectories(root.resolve("container"));
        link("99/root", container.toString());
        link("99/ns/mnt", "mnt:[2]");
        assertNotFound();
        // What is above it is another one there, whether or not the directory is missing.
        Path above = container.resolve(Path.of("/").relativize(root));
        Files.createDirectories(above);
        assertNotFound();
        Files.createDirectory(above.resolve("state"));
        assertNotFound();
        // Nor does a link prove anything that leads to where it was deleted.
        Files.delete(above.resolve("state"));
        Files.createSymbolicLink(above.resolve("state"), layout.stateDir());
        assertNotFound();
        link("99/root", "/");
        Files.createSymbolicLink(layout.stateDir(), root.resolve("nowhere"));
        assertNotFound();
    }

    @Test
    void whereTheDirectoryWasDeletedAnotherNameOfItIsNotKnown() throws Exception {
        Path link = Files.createSymbolicLink(root.resolve("link"), layout.stateDir());
        keeper(new Layout(link, layout.runDir(), "i").launch(ID, LAUNCH));
        Files.delete(layout.stateDir());
        assertNotFound();
        // What is above it can still be compared.
        Path above = Files.createSymbolicLink(root.resolve("above"), root);
        keeper(new Layout(above.resolve("state"), layout.runDir(), "i").launch(ID, LAUNCH));
        assertEquals(1, found().size());
        link("99/ns/mnt", "mnt:[2]");
        assertNotFound();
    }
}
