package io.homeostat.reconcile.runtime.task;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.LogTurns;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.ProcFs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the output of which launches is copied, and when. */
class TaskOutputsTest {
    private static final Instance LAUNCH = TaskBench.intended();
    private static final int LONG_AFTER = 1000;

    @TempDir
    Path root;

    private Layout layout;
    private Path launch;
    private long nanos;
    private TaskOutputs outputs;

    @BeforeEach
    void open() throws Exception {
        layout = new Layout(root.resolve("s"), root.resolve("r"), "i");
        launch = layout.launch(TaskBench.WEB, TaskBench.LAUNCH);
        Files.createDirectories(launch);
        Files.createDirectories(layout.workloadState(TaskBench.WEB));
        outputs = another();
    }

    /** The outputs as a program has them that has begun no launch itself. */
    private TaskOutputs another() {
        return new TaskOutputs(layout, new LaunchDirectories(layout, new ProcFs()), new LogTurns(), () -> nanos);
    }

    private void print(String text) throws Exception {
        Files.writeString(TaskOutputs.out(launch), text + "\n", StandardOpenOption.APPEND);
    }

    private String log() throws Exception {
        Path log = layout.log(TaskBench.WEB);
        return Files.exists(log) ? Files.readString(log) : "";
    }

    @Test
    void aLaunchPrintsIntoFilesOfItsOwn() throws Exception {
        outputs.begin(LAUNCH, Optional.empty());

        assertTrue(Files.exists(launch.resolve("stdout")));
        assertTrue(Files.exists(launch.resolve("stderr")));
    }

    @Test
    void aDriverOfAnotherUserMayWriteToThem() throws Exception {
        assumeTrue(Account.ourUid() == 0, "only root lets somebody else in");
        outputs.begin(LAUNCH, Optional.of(new Account("1001", 1001, 1002, "/", "/bin/sh")));

        assertEquals(1002, Files.getAttribute(launch, "unix:gid"));
        for (Path file : List.of(TaskOutputs.out(launch), TaskOutputs.err(launch))) {
            assertEquals(
                    List.of(0, 1002, 0100660),
                    List.of(
                            Files.getAttribute(file, "unix:uid"),
                            Files.getAttribute(file, "unix:gid"),
                            Files.getAttribute(file, "unix:mode")));
        }
        assertEquals(0100600, Files.getAttribute(launch.resolve("output-state"), "unix:mode"));
        print("a");
        outputs.copy(LAUNCH);
        assertEquals("a\n", log());
    }

    @Test
    void whatOneLaunchPrintsIsCopied() throws Exception {
        outputs.begin(LAUNCH, Optional.empty());
        print("a");
        outputs.copy(LAUNCH);
        assertEquals("a\n", log());
    }

    @Test
    void whatAFormerProgramHasBegunIsFound() throws Exception {
        outputs.begin(LAUNCH, Optional.empty());
        print("a");

        another().copyAll();

        assertEquals("a\n", log());
    }

    @Test
    void launchesThatNobodyHasBegunHereAreLookedForNowAndThen() throws Exception {
        TaskOutputs later = another();
        later.copyAll();
        outputs.begin(LAUNCH, Optional.empty());
        print("a");

        nanos += Duration.ofSeconds(30).toNanos() - 1;
        later.copyAll();
        assertEquals("", log());

        nanos += 1;
        later.copyAll();
        assertEquals("a\n", log());
    }

    @Test
    void aLaunchWithoutFilesOfOursIsNotCopied() throws Exception {
        Files.writeString(TaskOutputs.out(launch), "a\n");

        outputs.copyAll();

        assertEquals("", log());
    }

    @Test
    void whatHasPrintedNothingForLongIsLookedAtByTurns() throws Exception {
        outputs.begin(LAUNCH, Optional.empty());
        for (int round = 0; round < LONG_AFTER; round++) {
            outputs.copyAll();
        }
        // The rounds are counted from somewhere.
        print("a");
        int rounds = 1;
        outputs.copyAll();
        while (log().isEmpty()) {
            outputs.copyAll();
            rounds++;
        }
        assertTrue(rounds <= 4);

        for (int round = 0; round < LONG_AFTER; round++) {
            outputs.copyAll();
        }
        while (true) {
            print("b");
            outputs.copyAll();
            if (log().endsWith("b\n")) {
                break;
            }
        }
        print("c");
        outputs.copyAll();
        assertTrue(log().endsWith("c\n"), "one that prints again is looked at in each round");
    }

    @Test
    void allThatALaunchHasPrintedIsCopiedAtItsEnd() throws Exception {
        outputs.begin(LAUNCH, Optional.empty());
        Files.writeString(TaskOutputs.out(launch), "without an end");

        outputs.finish(LAUNCH);

        assertTrue(log().startsWith("without an end"));
        assertFalse(Files.exists(TaskOutputs.out(launch)));
        assertFalse(Files.exists(launch.resolve("output-state")));
    }

    @Test
    void aLaunchThatIsGoneIsForgotten() throws Exception {
        outputs.begin(LAUNCH, Optional.empty());
        outputs.copyAll();
        for (String file : new String[] {"stdout", "stderr", "output-state"}) {
            Files.delete(launch.resolve(file));
        }
        Files.delete(launch);
        nanos += Duration.ofSeconds(30).toNanos();

        assertDoesNotThrow(() -> outputs.copyAll());

        Files.createDirectories(launch);
        outputs.begin(LAUNCH, Optional.empty());
        print("again");
        outputs.copyAll();
        assertEquals("again\n", log());
    }

    @Test
    void whatCannotBeCopiedNowIsCopiedLater() throws Exception {
        outputs.begin(LAUNCH, Optional.empty());
        print("a");
        Path log = layout.log(TaskBench.WEB);
        Files.createDirectories(log.resolve("in the way"));

        assertDoesNotThrow(() -> outputs.copyAll());
        assertDoesNotThrow(() -> outputs.copy(LAUNCH));
        assertThrows(ActuationFailure.class, () -> outputs.finish(LAUNCH));

        Files.delete(log.resolve("in the way"));
        Files.delete(log);
        outputs.copyAll();
        assertEquals("a\n", log());
    }

    @Test
    void launchesThatCannotBeListedAreNoFailure() throws Exception {
        Path all = layout.launches(io.homeostat.desired.model.Kind.TASK);
        Files.move(all, all.resolveSibling("moved"));
        Files.createDirectories(Objects.requireNonNull(all.getParent()));
        Files.writeString(all, "no directory");

        assertDoesNotThrow(() -> outputs.copyAll());
        assertEquals("", log());
    }
}
