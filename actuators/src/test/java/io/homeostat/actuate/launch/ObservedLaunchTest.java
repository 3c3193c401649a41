package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is seen of real processes; what real ones can't be made to do is in the observer's own tests. */
class ObservedLaunchTest {
    @TempDir
    Path root;

    private TestBed bed;

    @BeforeEach
    void setUp() {
        bed = new TestBed(root);
    }

    @AfterEach
    void tearDown() throws Exception {
        bed.close();
    }

    @Test
    void whatAProgramStartedInASessionOfItsOwnIsFoundWhenTheProgramIsGone() throws Exception {
        Instance instance = bed.launch(
                TestBed.PROCESS, bed.program("p", "setsid sleep 1000 &", "echo $! > " + root + "/child", "exit 3"));

        Liveness.Orphaned orphaned = orphaned(instance);
        assertEquals(3, orphaned.exit().code());
        assertEquals(1, orphaned.survivors());

        TestBed.signal(
                "KILL", Long.parseLong(Files.readString(root.resolve("child")).strip()));
        assertEquals(3, bed.ended(instance).exit().code());
    }

    @Test
    void aChildThatForkedTwiceIsFoundWhenTheProgramIsGone() throws Exception {
        Instance instance =
                bed.launch(TestBed.PROCESS, bed.program("p", "setsid sh -c 'sleep 1000 & sleep 1001 &' &", "wait"));

        // One that is just being executed has no environment for a moment.
        TestBed.soon().until(() -> orphaned(instance).survivors() == 2);
    }

    @Test
    void aChildThatThrewItsEnvironmentAwayIsFoundByItsSession() throws Exception {
        Path child = root.resolve("child");
        Path go = root.resolve("go");
        Instance instance = bed.launch(
                TestBed.PROCESS,
                bed.program(
                        "p",
                        "env -i sleep 1000 &",
                        "echo $! > " + child,
                        "while [ ! -e " + go + " ]; do sleep 0.02; done"));
        bed.awaitFile(child);
        long pid = Long.parseLong(Files.readString(child).strip());
        // It is certain only of one that is older than the end, by the kernel's ticks of 10 ms.
        TestBed.soon()
                .until(() -> bed.procFs
                                .age(bed.procFs.stat(pid).orElseThrow().startTicks())
                                .toMillis()
                        > 20);
        Files.createFile(go);

        assertEquals(1, orphaned(instance).survivors());
    }

    @Test
    void theTreeOfAProgramIsNotThatOfAnother() throws Exception {
        Instance other = bed.launch(TestBed.PROCESS, bed.program("other", "sleep 1000 &", "wait"));
        Instance instance = bed.launch(TestBed.PROCESS, bed.program("p", "exit 0"));

        assertEquals(0, bed.ended(instance).exit().code());
        TestBed.soon().until(() -> bed.members(other) == 2);
    }

    private Liveness.Orphaned orphaned(Instance instance) {
        return (Liveness.Orphaned)
                TestBed.soon().until(() -> bed.lookAtOver(instance), Liveness.Orphaned.class::isInstance);
    }

    @Test
    void aProcessWhoseIdentityWasNotStoredIsFoundByItsLaunch() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        Instance asStored = TestBed.instance(TestBed.PROCESS, instance.launchId(), instance.launchedAt());

        Liveness.Running running = assertInstanceOf(Liveness.Running.class, bed.look(asStored));

        assertEquals(instance.identity(), running.identity());
    }

    @Test
    void aLaunchThatNobodyRemembersIsSeenAsTheMachineKnowsIt() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        bed.directories.write(instance.withPhase(Phase.STARTED, "c0ffee"));

        ObservedInstance found = bed.found().get(0);

        assertFalse(found.remembered());
        assertEquals(instance.withPhase(Phase.STARTED, "c0ffee"), found.instance());
        assertInstanceOf(Liveness.Running.class, found.liveness());
    }

    @Test
    void launchesAreSeenOldestFirst() throws Exception {
        Instant now = Instant.now();
        Instance second = launchedAt(now);
        Instance first = launchedAt(now.minusSeconds(60));

        assertEquals(
                ImmutableList.of(first.launchId(), second.launchId()),
                bed.found().stream()
                        .map(process -> process.instance().launchId())
                        .collect(ImmutableList.toImmutableList()));
    }

    private Instance launchedAt(Instant at) throws Exception {
        return bed.launch(new LaunchRequest(
                bed.instance(TestBed.PROCESS, at), Path.of("/bin/true"), ImmutableList.of(), ImmutableMap.of(), null));
    }

    @Test
    void aProcessThatGotTheNumberOfOursIsNotTakenForIt() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        ProcessIdentity other = TestBed.identity(bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000"));

        for (long startTicks : new long[] {other.startTicks() - 1, other.startTicks() + 1, 0}) {
            Liveness seen =
                    bed.look(instance.withIdentity(new ProcessIdentity(other.pid(), startTicks, other.bootId())));
            assertFalse(seen instanceof Liveness.Running, seen.toString());
        }
        Liveness rebooted = bed.look(instance.withIdentity(
                new ProcessIdentity(other.pid(), other.startTicks(), "00000000-0000-0000-0000-000000000000")));
        assertInstanceOf(Liveness.Ended.class, rebooted);
    }

    @Test
    void aLaunchOfWhichNothingIsSeenYetIsPendingAndLaterOver() throws Exception {
        assertInstanceOf(Liveness.Pending.class, bed.look(bed.instance(TestBed.PROCESS)));
        assertInstanceOf(
                Liveness.Ended.class,
                bed.look(bed.instance(TestBed.PROCESS, Instant.now().minus(Duration.ofMinutes(1)))));
    }

    @Test
    void notesThatCanNotBeReadAreNotTakenForNone() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        Path note = bed.directory(instance).noteFile();
        String text = Files.readString(note);
        Files.writeString(note, text.substring(0, text.length() / 2));

        Observation.Unseen<?> unseen =
                assertInstanceOf(Observation.Unseen.class, bed.observer.look(TestBed.PROCESS, ImmutableList.of()));

        assertTrue(unseen.why().contains(note.toString()), unseen.why());
        Files.writeString(note, text);
    }
}
