package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Processors that a task has for itself. All tests of that are here, one after the other: they take them from each other. */
@Tag("nightly")
@Execution(ExecutionMode.SAME_THREAD)
final class TaskCoresTest {
    private static final Path CPUSETS = Path.of("/sys/fs/cgroup/cpuset");
    private static final int ALL = Runtime.getRuntime().availableProcessors();

    @TempDir
    static Path directory;

    private static SampleDriver sample;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @BeforeAll
    static void unpack() {
        sample = SampleDriver.in(directory);
        assumeTrue(Files.isWritable(CPUSETS.resolve("cgroup.procs")), "no cpusets of version 1 that we may write to");
        assumeTrue(ALL > 1, "one processor is nobody's own");
    }

    private static Document task(String name, int cores) {
        return Document.task(name, "runner", """
                        echo "own $NOMAD_CPU_CORES"
                        while :; do
                          grep Cpus_allowed_list: /proc/self/status
                          sleep 0.1
                        done""").with("limits.cores", cores);
    }

    private List<String> lines(String workload) {
        return homeostat.run("logs", workload).exits(0).out().lines().toList();
    }

    /** Those that a task was on when it last said so. */
    private Set<Integer> processors(String workload) {
        return lines(workload).stream()
                .filter(line -> line.startsWith("Cpus_allowed_list:"))
                .reduce((_, last) -> last)
                .map(line -> set(line.replaceAll(".*:", "")))
                .orElse(Set.of());
    }

    private static Set<Integer> set(String list) {
        return Stream.of(list.strip().split(",", -1))
                .map(range -> range.split("-", -1))
                .flatMap(ends -> IntStream.rangeClosed(
                                Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]))
                        .boxed())
                .collect(Collectors.toSet());
    }

    @Test
    void theyAreItsOwnUntilItEndsAndAllOthersShareTheRest() {
        homeostat.declare("driver.yaml", sample.local("runner", "1"));
        homeostat.declare("first.yaml", task("first", 1));
        homeostat.declare("other.yaml", task("other", 0));
        homeostat.agent();
        homeostat.awaitRunning("task/first");
        homeostat.awaitRunning("task/other");

        eventually().until(() -> processors("task/first").size() == 1);
        Set<Integer> own = processors("task/first");
        assertEquals(own, set(lines("task/first").getFirst().replaceAll("own ", "")));
        assertEquals("own ", lines("task/other").getFirst());
        eventually()
                .until(() -> processors("task/other"), others -> others.size() == ALL - 1 && !others.containsAll(own));

        homeostat.withdraw("first.yaml");

        eventually().until(() -> processors("task/other").size() == ALL);
    }

    @Test
    void moreThanThereAreIsRefusedAndMoreThanAreFreeIsNotStarted() {
        homeostat.applied(sample.local("runner", "1"), task("first", ALL - 1));

        homeostat
                .apply(
                        sample.local("runner", "1"),
                        task("first", ALL - 1),
                        task("second", 1).with("start.attempts", 1))
                .exits(1)
                .says("reserve none");
        assertEquals(0, homeostat.processes("task/second").size());
        homeostat.awaitRunning("task/first");

        Path file = homeostat.file("third.yaml", task("third", ALL));
        homeostat
                .run("validate", "-f", file.toString())
                .exits(1)
                .says("third.yaml:")
                .says("ask for " + (ALL - 1) + " at most");
    }
}
