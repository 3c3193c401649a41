package io.homeostat.observe;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.Handle.StartState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;

/** Launches as the launcher leaves them on disk. */
final class Launches {
    static final WorkloadId ID = WorkloadId.plugin("ops-agent");
    static final Instant LAUNCHED = Instant.parse("2026-11-20T12:00:00Z");

    private final Layout layout;

    Launches(Layout layout) {
        this.layout = layout;
    }

    static Handle handle(String launchId) {
        return handle(ID, launchId);
    }

    static Handle handle(WorkloadId id, String launchId) {
        return new Handle(
                launchId,
                id,
                "target",
                "r1",
                null,
                ImmutableSortedMap.of("arguments", "a", "env", "b"),
                LAUNCHED,
                null,
                StartState.NOT_SENT,
                "");
    }

    LaunchDirectory directory(Handle handle) {
        return new LaunchDirectory(layout.launch(handle.workload(), handle.launchId()));
    }

    Handle noted(Handle handle, String bootId) throws IOException {
        Path file = directory(handle).noteFile();
        Files.createDirectories(file.getParent());
        Files.writeString(file, new LaunchNote(handle, bootId).toJson());
        return handle;
    }

    /** The process with this number has told who it is; its keeper's number is one less. */
    void born(Handle handle, long pid, long startTicks, String bootId) throws IOException {
        String line = FakeProc.line(pid, "sh", "R", pid - 1, pid - 1, 1, startTicks);
        Files.writeString(directory(handle).identityFile(), line + "\n" + bootId + "\n");
    }

    /** The keeper has recorded an end. */
    void exited(Handle handle, int status, String uptime) throws IOException {
        Files.writeString(directory(handle).exitFile(), status + " " + uptime + " 1.00\n");
    }
}
