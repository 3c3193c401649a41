package io.homeostat.observe.process;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;

/** Launches as the launcher leaves them on disk. */
public final class Launches {
    public static final WorkloadId ID = WorkloadId.plugin("ops-agent");
    static final Instant LAUNCHED = Instant.parse("2026-11-20T12:00:00Z");

    private final Layout layout;

    public Launches(Layout layout) {
        this.layout = layout;
    }

    public static Instance instance(String launchId) {
        return instance(ID, launchId);
    }

    public static Instance instance(WorkloadId id, String launchId) {
        return new Instance(
                launchId,
                id,
                "target",
                "r1",
                null,
                ImmutableSortedMap.of("arguments", "a", "env", "b"),
                LAUNCHED,
                null,
                Phase.INTENDED,
                "");
    }

    public LaunchDirectory directory(Instance instance) {
        return new LaunchDirectory(layout.launch(instance.workload(), instance.launchId()));
    }

    public Instance noted(Instance instance, String bootId) throws IOException {
        Path file = directory(instance).noteFile();
        Files.createDirectories(file.getParent());
        Files.writeString(file, new LaunchNote(instance, bootId).toJson());
        return instance;
    }

    /** The process with this number has told who it is; its keeper's number is one less. */
    public void born(Instance instance, long pid, long startTicks, String bootId) throws IOException {
        String line = FakeProc.line(pid, "sh", "R", pid - 1, pid - 1, 1, startTicks);
        Files.writeString(directory(instance).identityFile(), line + "\n" + bootId + "\n");
    }

    /** The keeper has recorded an end. */
    public void exited(Instance instance, int status, String uptime) throws IOException {
        Files.writeString(directory(instance).exitFile(), status + " " + uptime + " 1.00\n");
    }
}
