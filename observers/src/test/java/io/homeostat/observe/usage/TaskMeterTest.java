package io.homeostat.observe.usage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskGroupName;
import io.homeostat.observe.process.FakeProc;
import io.homeostat.observe.process.Libc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A task on machines of files: whose numbers are taken for what it uses. */
class TaskMeterTest {
    private static final TaskGroupName NAME = new TaskGroupName("allocation", "web");
    private static final Meter.Measured COUNTED = new Meter.Measured(1, 1L, 7);

    @TempDir
    Path root;

    private final Counting driver = new Counting();
    private FakeProc proc;
    private long nanos;

    private static final class Counting implements Meter {
        private boolean closed;

        @Override
        public Optional<Measured> measure(ImmutableList<Instance> launches, Duration interval, Processes processes) {
            closed = false;
            return Optional.of(COUNTED);
        }

        @Override
        public void close() {
            closed = true;
        }
    }

    @BeforeEach
    void setUp() throws Exception {
        proc = new FakeProc(root.resolve("proc"));
        proc.process(100, 1, 100, 5000);
    }

    private TaskMeter meter() {
        return new TaskMeter(NAME, new TaskCgroups(root.resolve("cgroup")), () -> nanos, driver);
    }

    private Optional<Meter.Measured> measured(TaskMeter meter) throws IOException {
        return meter.measure(
                ImmutableList.of(),
                Duration.ofSeconds(1),
                new UsageSampler.ReadOnce(new ProcessTable.Reader(proc.procFs, () -> nanos)));
    }

    private void write(String file, String text) throws IOException {
        Path path = root.resolve("cgroup").resolve(file);
        Files.createDirectories(Objects.requireNonNull(path.getParent()));
        Files.writeString(path, text);
    }

    @Test
    void aScopeOfVersion2CountsAsLongAsAnybodyIsInIt() throws Exception {
        String scope = "nomad.slice/share/allocation.web.scope/";
        write("cgroup.controllers", "cpu memory\n");
        write(scope + "cgroup.procs", "100\n");
        write(scope + "cgroup.events", "populated 1\n");
        write(scope + "cpu.stat", "usage_usec 1000\n");
        write(scope + "memory.current", "4096\n");
        TaskMeter meter = meter();
        assertEquals(Optional.of(new Meter.Measured(0, null, 4096)), measured(meter));
        nanos = 1_000_000_000;
        write(scope + "cpu.stat", "usage_usec 251000\n");

        assertEquals(Optional.of(new Meter.Measured(1_000_000_000, 250_000_000L, 4096)), measured(meter));

        assertTrue(driver.closed, "its driver is not asked meanwhile");
        write(scope + "cgroup.events", "populated 0\n");
        assertEquals(Optional.of(COUNTED), measured(meter));
        assertFalse(driver.closed);
    }

    @Test
    void inVersion1WhatIsInItsGroupsIsAddedUpWhereTheyDoNotCount() throws Exception {
        for (String controller : new String[] {"freezer", "cpu", "memory"}) {
            write(controller + "/cgroup.procs", "");
            write(controller + "/nomad/allocation.web/cgroup.procs", "100\n");
        }
        write("memory/nomad/allocation.web/memory.usage_in_bytes", "8193\n");
        TaskMeter meter = meter();
        assertEquals(8193, measured(meter).orElseThrow().memoryBytes());
        Files.delete(root.resolve("cgroup/memory/nomad/allocation.web/memory.usage_in_bytes"));
        meter.moved();

        assertEquals(0, measured(meter).orElseThrow().memoryBytes() % Libc.pageSize());
        assertTrue(driver.closed);
    }

    @Test
    void withoutGroupsItsDriverCounts() throws Exception {
        assertEquals(Optional.of(COUNTED), measured(meter()));
    }
}
