package io.homeostat.observe.process;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Main is process 100, started at tick 5000, its keeper 99. */
class ProcessObserverTest {
    private static final ProcessIdentity MAIN = new ProcessIdentity(100, 5000, FakeProc.BOOT);
    private static final String KEEPER = LaunchMarks.KEEPER + "=l1";
    private static final String MARK = LaunchMarks.LAUNCH + "=l1";
    private static final Instant BOOTED = Instant.ofEpochSecond(1_700_000_000);

    @TempDir
    Path root;

    private Layout layout;
    private FakeProc proc;
    private Launches launches;
    private Instant now = Launches.LAUNCHED.plusSeconds(3600);

    @BeforeEach
    void setUp() throws Exception {
        layout = new Layout(root.resolve("state"), root.resolve("run"), "i");
        proc = new FakeProc(root.resolve("proc"));
        launches = new Launches(layout);
    }

    private Observation<ImmutableList<ObservedInstance>> look(Instance... instances) {
        return new ProcessObserver(
                        layout,
                        proc.procFs,
                        () -> now,
                        new LimitObserver(CgroupLayout.NONE),
                        ProcessTree.Extent.TREE,
                        new UnknownLaunches(layout, proc.procFs))
                .look(Launches.ID, ImmutableList.copyOf(instances));
    }

    private ImmutableList<ObservedInstance> seen(Instance... instances) {
        return switch (look(instances)) {
            case Observation.Seen<ImmutableList<ObservedInstance>>(ImmutableList<ObservedInstance> found) -> found;
            case Observation.Unseen<ImmutableList<ObservedInstance>>(String why) -> throw new AssertionError(why);
        };
    }

    private Liveness liveness(Instance instance) {
        return Iterables.getOnlyElement(seen(instance)).liveness();
    }

    @Test
    void whatMayStillRunIsNeitherOverNorLaunchedAgain() throws Exception {
        proc = new FakeProc(root.resolve("proc"), Duration.ofMillis(300));
        Instance instance = born();
        proc.process(110, 1, 110, 5100).silent(110);

        assertTrue(
                look(instance) instanceof Observation.Unseen<ImmutableList<ObservedInstance>>(String why)
                        && why.startsWith("can't see the processes of plugin/ops-agent: user ")
                        && why.contains("; kill -9 110, "),
                look(instance).toString());

        proc.end(110);
        assertInstanceOf(Liveness.Ended.class, liveness(instance));

        // What is known is stopped first.
        proc.process(110, 1, 110, 5100).silent(110).process(111, 1, 111, 5100, MARK);
        assertEquals(
                1, assertInstanceOf(Liveness.Orphaned.class, liveness(instance)).survivors());
    }

    private Instance born() throws Exception {
        Instance instance = launches.noted(Launches.instance("l1"), FakeProc.BOOT);
        launches.born(instance, 100, 5000, FakeProc.BOOT);
        return instance;
    }

    private static Exit unknown(Instant at) {
        return new Exit(null, null, Exit.Reason.UNKNOWN, at);
    }

    @Test
    void aProcessThatRunsIsFoundByWhatIsRememberedAndByWhatItHasTold() throws Exception {
        Instance instance = born();
        proc.process(100, 99, 100, 5000);
        Liveness running = new Liveness.Running(MAIN, Duration.ofSeconds(950), true, null);

        assertEquals(running, liveness(instance));
        assertEquals(running, liveness(instance.withIdentity(MAIN)));
        Files.delete(launches.directory(instance).identityFile());
        assertEquals(running, liveness(instance.withIdentity(MAIN)));
    }

    @Test
    void aLookAtWhatRunsReadsOfNoOtherProcess() throws Exception {
        proc.process(100, 99, 100, 5000).unreadable("424242/stat");

        assertInstanceOf(Liveness.Running.class, liveness(born()));
    }

    @Test
    void anotherProcessWithTheSameNumberIsNotTaken() throws Exception {
        Instance instance = born();
        proc.process(100, 1, 100, 5001);

        assertEquals(new Liveness.Ended(unknown(now)), liveness(instance));
    }

    @Test
    void anEndThatWasRecordedIsKnown() throws Exception {
        Instance instance = born();
        launches.exited(instance, 3, "60.00");

        Exit exit = assertInstanceOf(Liveness.Ended.class, liveness(instance)).exit();
        assertEquals(3, exit.code());
        assertEquals(Exit.Reason.EXITED, exit.reason());
    }

    @Test
    void ofWhatHasEndedItIsSaidWhoItWasAlsoWhenNobodyHasRememberedThat() throws Exception {
        Instance instance = born();
        launches.exited(instance, 3, "60.00");

        ObservedInstance process = Iterables.getOnlyElement(seen(instance));

        assertNull(instance.identity());
        assertEquals(
                new ProcessIdentity(100, 5000, FakeProc.BOOT),
                process.instance().identity());
    }

    @Test
    void ofALaunchThatNothingCameOfThereIsNobodyToName() throws Exception {
        Instance instance = launches.noted(Launches.instance("l1"), "another boot");

        ObservedInstance process = Iterables.getOnlyElement(seen(instance));

        assertInstanceOf(Liveness.Ended.class, process.liveness());
        assertNull(process.instance().identity());
    }

    @Test
    void anEndThatNobodyRecordedIsUnknown() throws Exception {
        assertEquals(new Liveness.Ended(unknown(now)), liveness(born()));
    }

    @Test
    void aZombieHasEnded() throws Exception {
        Instance instance = born();
        proc.process(100, "Z", 99, 100, 1, 5000);

        assertInstanceOf(Liveness.Ended.class, liveness(instance));
    }

    @Test
    void theRecordOfAKeeperThatIsStillThereIsAwaited() throws Exception {
        Instance instance = born();
        proc.process(99, 1, 99, 4999, KEEPER);
        Path note = launches.directory(instance).path();
        try (var looking = Executors.newVirtualThreadPerTaskExecutor()) {
            var liveness = looking.submit(() -> liveness(instance));
            // As long as a busy machine may leave a keeper without a processor.
            await().during(Duration.ofMillis(300)).until(() -> !liveness.isDone());
            Files.writeString(note.resolve("exit.tmp"), "4 60.00 1.00\n");
            Files.move(note.resolve("exit.tmp"), note.resolve("exit"));

            assertEquals(
                    4,
                    assertInstanceOf(Liveness.Ended.class, liveness.get())
                            .exit()
                            .code());
        }
    }

    @Test
    void aKeeperThatDoesNotRecordIsNotAwaitedForEver() throws Exception {
        Instance instance = born();
        proc.process(99, 1, 99, 4999, KEEPER);

        assertEquals(new Liveness.Ended(unknown(now)), liveness(instance));
    }

    @Test
    void whatIsLaunchedAloneHasEndedWhateverItLeftBehind() throws Exception {
        Instance instance = born();
        launches.exited(instance, 0, "60.00");
        proc.process(110, 1, 100, 5500).process(111, 1, 111, 7000, MARK).process(112, 111, 111, 7001);
        ProcessObserver alone = new ProcessObserver(
                layout,
                proc.procFs,
                () -> now,
                new LimitObserver(CgroupLayout.NONE),
                ProcessTree.Extent.MAIN,
                new UnknownLaunches(layout, proc.procFs));

        var seen = assertInstanceOf(Observation.Seen.class, alone.look(Launches.ID, ImmutableList.of(instance)));
        ObservedInstance only = (ObservedInstance) ((ImmutableList<?>) seen.value()).getFirst();
        assertEquals(
                0,
                assertInstanceOf(Liveness.Ended.class, only.liveness()).exit().code());
    }

    @Test
    void whatNoNoteTellsOfIsSeenByItsKeeperUnlessItIsRemembered() throws Exception {
        String id = "0b2e4a6c-0000-4000-8000-000000000001";
        Files.createDirectories(layout.stateDir());
        Object owner = Files.getAttribute(layout.stateDir(), "unix:uid");
        proc.process(
                        99,
                        1,
                        99,
                        4999,
                        LaunchMarks.KEEPER + "=" + id,
                        LaunchMarks.KEEPER_DIRECTORY + "=" + layout.launch(Launches.ID, id))
                .process(100, 99, 100, 5000, LaunchMarks.LAUNCH + "=" + id);
        proc.write("99/status", "Uid:" + ("\t" + owner).repeat(4) + "\n");
        Files.createSymbolicLink(proc.root.resolve("99/root"), Path.of("/"));
        for (String process : new String[] {"99", "self"}) {
            Path namespaces = Files.createDirectories(proc.root.resolve(process + "/ns"));
            Files.createSymbolicLink(namespaces.resolve("mnt"), Path.of("mnt:[1]"));
            Files.createSymbolicLink(namespaces.resolve("pid"), Path.of("pid:[1]"));
        }

        ObservedInstance unknown = Iterables.getOnlyElement(seen());
        assertTrue(unknown.instance().isUnknown());
        assertFalse(unknown.remembered());
        assertEquals(
                MAIN,
                assertInstanceOf(Liveness.Running.class, unknown.liveness()).identity());

        assertEquals(
                ImmutableList.of(true),
                seen(unknown.instance()).stream()
                        .map(ObservedInstance::remembered)
                        .collect(ImmutableList.toImmutableList()));
    }

    @Test
    void whatTheProcessLeftBehindIsCounted() throws Exception {
        Instance instance = born();
        launches.exited(instance, 0, "60.00");
        proc.process(110, 1, 100, 5500).process(111, 1, 111, 7000, MARK).process(112, 111, 111, 7001);

        Liveness.Orphaned orphaned = assertInstanceOf(Liveness.Orphaned.class, liveness(instance));
        assertEquals(3, orphaned.survivors());
        assertEquals(0, orphaned.exit().code());
    }

    @Test
    void everythingThatWasLaunchedBeforeTheBootHasEndedWithIt() throws Exception {
        Instance told = launches.noted(Launches.instance("l1"), "boot-before");
        launches.born(told, 100, 5000, "boot-before");
        proc.process(100, 1, 100, 5000, MARK);
        Instance untold = launches.noted(Launches.instance("l2"), "boot-before");
        now = Launches.LAUNCHED.plusMillis(1);

        assertEquals(
                new Liveness.Ended(unknown(BOOTED)), seen(told, untold).get(0).liveness());
        assertEquals(
                new Liveness.Ended(unknown(BOOTED)), seen(told, untold).get(1).liveness());
    }

    @Test
    void anEndThatWasRecordedBeforeTheBootIsStillKnown() throws Exception {
        Instance instance = launches.noted(Launches.instance("l1"), "boot-before");
        launches.born(instance, 100, 5000, "boot-before");
        launches.exited(instance, 5, "60.00");

        assertEquals(
                5,
                assertInstanceOf(Liveness.Ended.class, liveness(instance))
                        .exit()
                        .code());
    }

    @Test
    void aYoungLaunchWithoutAProcessIsPending() throws Exception {
        Instance noted = launches.noted(Launches.instance("l1"), FakeProc.BOOT);
        now = Launches.LAUNCHED.plusMillis(1900);

        assertEquals(new Liveness.Pending(), liveness(noted));
        now = Launches.LAUNCHED.plusMillis(2000);
        assertEquals(new Liveness.Ended(unknown(now)), liveness(noted));
    }

    @Test
    void aLaunchWithAKeeperIsPendingHoweverOldItIs() throws Exception {
        Instance noted = launches.noted(Launches.instance("l1"), FakeProc.BOOT);
        proc.process(99, 1, 99, 4999, KEEPER);

        assertEquals(new Liveness.Pending(), liveness(noted));
    }

    @Test
    void aLaunchOfWhichThereIsNoNoteIsPendingWhileItIsYoung() throws Exception {
        now = Launches.LAUNCHED;
        assertEquals(new Liveness.Pending(), liveness(Launches.instance("l1")));
        now = Launches.LAUNCHED.plusSeconds(60);
        assertEquals(new Liveness.Ended(unknown(now)), liveness(Launches.instance("l1")));
    }

    @Test
    void aLaunchTimeInTheFutureMakesNoLaunchPendingForEver() throws Exception {
        Instance noted = launches.noted(Launches.instance("l1"), FakeProc.BOOT);
        now = Launches.LAUNCHED.minusSeconds(3600);

        assertEquals(new Liveness.Ended(unknown(now)), liveness(noted));
    }

    @Test
    void aLaunchThatEndedBeforeItToldWhoItIsHasEnded() throws Exception {
        Instance noted = launches.noted(Launches.instance("l1"), FakeProc.BOOT);
        launches.exited(noted, 125, "60.00");
        now = Launches.LAUNCHED;

        assertEquals(
                125,
                assertInstanceOf(Liveness.Ended.class, liveness(noted)).exit().code());
    }

    @Test
    void aLaunchThatNobodyRemembersIsFoundWithEverythingThatIsKnownOfIt() throws Exception {
        Instance instance = born();
        proc.process(100, 99, 100, 5000);

        ObservedInstance found = Iterables.getOnlyElement(seen());
        assertEquals(instance, found.instance());
        assertEquals(List.of(false), List.of(found.remembered()));
        assertInstanceOf(Liveness.Running.class, found.liveness());
        assertTrue(Iterables.getOnlyElement(seen(instance)).remembered());
    }

    @Test
    void aDirectoryWithoutANoteIsNoLaunch() throws Exception {
        Files.createDirectories(layout.launch(Launches.ID, "l9"));

        assertEquals(List.of(), seen());
    }

    @Test
    void whatCanNotBeSeenIsNotSaidToBeGone() throws Exception {
        Instance instance = born();
        proc.unreadable("100/stat");
        assertUnseen("100/stat", instance);

        // Who has seen it once need not look again.
        proc = new FakeProc(root.resolve("proc")).end(100);
        proc.unreadable("sys/kernel/random/boot_id");
        assertUnseen("boot_id", instance);
    }

    @Test
    void aNoteThatCanNotBeReadIsNotSaidToBeNone() throws Exception {
        Files.createDirectories(launches.directory(Launches.instance("l1")).noteFile());

        assertUnseen("launch.json");
    }

    @Test
    void aNoteThatAPowerFailureHasSpoiltIsNone() throws Exception {
        Path note = launches.directory(Launches.instance("l1")).noteFile();
        Files.createDirectories(note.getParent());
        Files.writeString(note, "{\"boot");
        assertUnseen("launch.json");

        Files.setLastModifiedTime(note, FileTime.from(Instant.EPOCH));
        assertEquals(ImmutableList.of(), seen());
    }

    @Test
    void survivorsThatCanNotBeSeenAreNotSaidToBeNone() throws Exception {
        Instance instance = born();
        launches.exited(instance, 0, "60.00");
        proc.unreadable("200/stat");

        assertUnseen("200/stat", instance);
    }

    private void assertUnseen(String words, Instance... instances) {
        var unseen = assertInstanceOf(Observation.Unseen.class, look(instances));
        assertTrue(unseen.why().startsWith("can't see the processes of plugin/ops-agent: "), unseen.why());
        assertTrue(unseen.why().contains(words), unseen.why());
    }
}
