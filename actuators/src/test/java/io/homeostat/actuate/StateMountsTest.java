package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.Observation;
import io.homeostat.observe.install.InstallationObserver;
import io.homeostat.observe.process.UserMounts;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class StateMountsTest {
    private static final WorkloadId THEIRS = WorkloadId.process("theirs");
    private static final WorkloadId OTHER = WorkloadId.process("other");

    @TempDir
    private Path temp;

    private Layout layout = new Layout(Path.of("/"), Path.of("/"), "m");
    private Path state = Path.of("/");

    @BeforeEach
    void make() throws IOException {
        layout = new Layout(temp.toRealPath(), temp.resolve("run"), "m");
        state = Files.createDirectories(layout.workloadState(THEIRS));
        Files.createFile(layout.log(THEIRS));
        Files.createDirectories(layout.workloadState(OTHER));
    }

    private static void atOnce(Executable work) {
        assertTimeoutPreemptively(Duration.ofMinutes(1), work);
    }

    private void assertAllAreFound() throws IOException {
        InstallationObserver observer = new InstallationObserver(layout);

        assertEquals(Observation.seen(ImmutableSet.of(OTHER, THEIRS)), observer.traces());
        assertEquals(Observation.seen(true), observer.residue(THEIRS));
        assertThrows(FileSystemException.class, () -> UserMounts.check(layout, THEIRS));
        UserMounts.check(layout, OTHER);
    }

    @Test
    void whatIsMountedOverTheStateOfOneWorkloadHidesNone() throws Exception {
        try (ForeignMount _ = ForeignMount.at(state)) {
            atOnce(this::assertAllAreFound);
        }
    }

    @Test
    void norDoesWhatNeverAnswers() throws Exception {
        try (ForeignMount _ = ForeignMount.silent(state)) {
            atOnce(this::assertAllAreFound);
        }
    }

    @Test
    void soIsWhatIsMountedOverTheirSockets() throws Exception {
        Path sockets = Files.createDirectories(temp.toRealPath().resolve("run/u65534"));
        try (ForeignMount _ = ForeignMount.at(sockets)) {
            assertEquals(1, UserMounts.now().overSockets(layout.runDir()).size());

            atOnce(() -> new StateMounts(layout).clear(OTHER));

            assertEquals(List.of(), UserMounts.now().overSockets(layout.runDir()));
            assertTrue(Files.isWritable(sockets));
        }
    }

    @Test
    void itIsUnmountedAndWhatItHidIsThereAgain() throws Exception {
        try (ForeignMount _ = ForeignMount.silent(state)) {
            atOnce(() -> new StateMounts(layout).clear(THEIRS));
            atOnce(() -> assertTrue(Files.exists(layout.log(THEIRS))));
        }
    }

    @Test
    void soIsWhatIsMountedOverItsLog() throws Exception {
        try (ForeignMount _ = ForeignMount.silent(layout.log(THEIRS))) {
            atOnce(this::assertAllAreFound);
            atOnce(() -> new StateMounts(layout).clear(THEIRS));
            atOnce(() -> assertTrue(Files.isRegularFile(layout.log(THEIRS))));
        }
    }

    @Test
    void whatRootHasMountedThereStays() throws Exception {
        Path larger = Files.createDirectory(temp.resolve("larger"));
        Files.createFile(larger.resolve("file"));
        try (ForeignMount _ = ForeignMount.at(state)) {
            new StateMounts(layout).clear(THEIRS);
            Optional<String> problem = new Mounts().bind(larger, state);
            assumeTrue(problem.isEmpty(), problem::toString);
            try (ForeignMount _ = ForeignMount.silent(state)) {
                atOnce(() -> new StateMounts(layout).clear(THEIRS));
                atOnce(() -> assertTrue(Files.exists(state.resolve("file"))));
                new StateMounts(layout).clear(THEIRS);
                assertTrue(Files.exists(state.resolve("file")));
            } finally {
                new Mounts().clear(state);
            }
        }
    }

    @Test
    void whatAWorkloadMountsForItselfStays() throws Exception {
        Path data = Files.createDirectory(state.resolve("data"));
        try (ForeignMount _ = ForeignMount.at(data)) {
            new StateMounts(layout).clear(THEIRS);
            assertTrue(new Mounts().below(state).contains(data));
            assertTrue(UserMounts.now().over(Kind.PROCESS, state).isEmpty());
        }
    }

    @Test
    void whatNeverAnswersIsDeletedLikeAllElse() throws Exception {
        try (ForeignMount _ = ForeignMount.silent(state)) {
            atOnce(() -> new LocalDisk().deleteTree(state));
            assertFalse(Files.exists(state));
        }
    }
}
