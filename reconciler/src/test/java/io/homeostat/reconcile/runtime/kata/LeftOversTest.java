package io.homeostat.reconcile.runtime.kata;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which containers were given up in a guest. */
class LeftOversTest {
    private static final WorkloadId WEB = new WorkloadId(Kind.CONTAINER, "web");
    private static final WorkloadId DB = new WorkloadId(Kind.CONTAINER, "db");
    private static final Instance SANDBOX = new Instance(
            "launch",
            new WorkloadId(Kind.SANDBOX, "guest"),
            "target",
            "r",
            null,
            ImmutableSortedMap.of(),
            Instant.parse("2026-11-20T12:00:00Z"),
            null,
            Phase.STARTED,
            "");

    @TempDir
    Path root;

    @Test
    void eachWorkloadHasItsOwnAndThatAnotherOneIsRemovedMeanwhileIsNoMatter() throws Exception {
        Layout layout = new Layout(root.resolve("s"), root.resolve("r"), "test");
        Path launch = layout.launch(SANDBOX.workload(), SANDBOX.launchId());
        Files.createDirectories(launch);
        LeftOvers leftOvers = new LeftOvers(layout);
        assertEquals(List.of(), leftOvers.of(WEB, SANDBOX));

        leftOvers.note(SANDBOX, WEB, "web-1");
        leftOvers.note(SANDBOX, DB, "db-1");
        // Listed, and not to be read any more.
        Files.createSymbolicLink(launch.resolve("left-over/web-2"), root.resolve("removed"));

        assertEquals(List.of("web-1"), leftOvers.of(WEB, SANDBOX));
        assertEquals(List.of("db-1"), leftOvers.of(DB, SANDBOX));
    }
}
