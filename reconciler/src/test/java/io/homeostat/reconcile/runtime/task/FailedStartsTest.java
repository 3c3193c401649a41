package io.homeostat.reconcile.runtime.task;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.FailedStart;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.runtime.DriverMachine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests which failed starts are noted of a driver, and for how long. */
class FailedStartsTest {
    private static final Instance DRIVER = DriverMachine.runner("launch");
    private static final WorkloadId WEB = new WorkloadId(Kind.TASK, "web");
    private static final WorkloadId OTHER = new WorkloadId(Kind.TASK, "other");

    @TempDir
    Path root;

    private LaunchDirectory directory;
    private FailedStarts failed;

    @BeforeEach
    void open() throws Exception {
        LaunchDirectories launches =
                new LaunchDirectories(new Layout(root.resolve("s"), root.resolve("r"), "i"), new ProcFs());
        directory = launches.of(DRIVER);
        Files.createDirectories(directory.path());
        failed = new FailedStarts(launches);
    }

    private String noted() throws Exception {
        ImmutableList<FailedStart> all = FailedStart.of(directory);
        return all.stream().map(one -> one.task() + ": " + one.words()).collect(Collectors.joining(", "));
    }

    @Test
    void theLastThreeAreKept() throws Exception {
        failed.failed(DRIVER, WEB, "a");
        assertEquals("task/web: a", noted());
        failed.failed(DRIVER, OTHER, "b");
        failed.failed(DRIVER, WEB, "c");
        assertEquals("task/web: a, task/other: b, task/web: c", noted());

        failed.failed(DRIVER, WEB, "d");

        assertEquals("task/other: b, task/web: c, task/web: d", noted());
    }

    @Test
    void aStartThatSucceedsEndsThem() throws Exception {
        failed.failed(DRIVER, WEB, "a");

        failed.succeeded(DRIVER);

        assertFalse(Files.exists(directory.failedStartsFile()));
        failed.succeeded(DRIVER);
        assertFalse(Files.exists(directory.failedStartsFile()));
    }

    @Test
    void thoseOfATaskThatIsNoMoreAreForgotten() throws Exception {
        failed.failed(DRIVER, WEB, "a");
        failed.failed(DRIVER, OTHER, "b");

        failed.forget(WEB);
        assertEquals("task/other: b", noted());

        failed.forget(OTHER);
        assertFalse(Files.exists(directory.failedStartsFile()));
    }

    @Test
    void nothingIsWrittenWhenNothingChanges() throws Exception {
        failed.failed(DRIVER, WEB, "a");
        Object before =
                Files.readAttributes(directory.failedStartsFile(), "unix:ino").get("ino");

        failed.forget(OTHER);

        assertEquals(
                before,
                Files.readAttributes(directory.failedStartsFile(), "unix:ino").get("ino"));
    }

    @Test
    void wordsAreOneLineOfBoundedLength() throws Exception {
        failed.failed(DRIVER, WEB, "a\nb\u0007" + "c".repeat(1000));

        String words = FailedStart.of(directory).getFirst().words();

        assertTrue(words.startsWith("a b?c"), words);
        assertEquals(300, words.length());
    }

    @Test
    void aNoteThatCannotBeWrittenIsNoFailure() throws Exception {
        Files.createDirectories(directory.failedStartsFile().resolve("in the way"));

        assertDoesNotThrow(() -> failed.failed(DRIVER, WEB, "a"));
        assertDoesNotThrow(() -> failed.succeeded(DRIVER));
        assertDoesNotThrow(() -> failed.forget(WEB));
    }
}
