package io.homeostat.actuate.limits;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.observe.limits.CgroupLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GracePeriodTest {
    private static final String SELF = Long.toString(ProcessHandle.current().pid());

    @TempDir
    Path temp;

    private Path root;
    private Path proc;
    private final List<String> moves = new CopyOnWriteArrayList<>();

    @BeforeEach
    void setUp() throws IOException {
        root = Files.createDirectories(temp.resolve("cgroup"));
        proc = temp.resolve("proc");
        Files.createDirectories(proc.resolve("self"));
    }

    @Test
    void inVersion1WeAreMovedToWhereWeAre() throws Exception {
        group("memory", "1");
        group("memory/system/me", "4", SELF);
        Files.writeString(proc.resolve("self/cgroup"), "3:cpuset:/\n2:memory:/system/me\n0::/\n");

        begin();

        assertEquals(ImmutableList.of("memory/system/me/cgroup.procs " + SELF), moves);
    }

    @Test
    void inVersion2Too() throws Exception {
        Files.writeString(root.resolve("cgroup.controllers"), "cpu memory\n");
        group("", "1");
        group("system.slice");
        group("system.slice/homeostat.service");
        group("system.slice/homeostat.service/agent", SELF);
        Files.writeString(proc.resolve("self/cgroup"), "0::/system.slice/homeostat.service/agent\n");

        begin();

        assertEquals(ImmutableList.of("system.slice/homeostat.service/agent/cgroup.procs " + SELF), moves);
    }

    @Test
    void nothingIsMovedToAGroupThatDoesNotListIt() throws Exception {
        group("memory", "1");
        Files.writeString(proc.resolve("self/cgroup"), "2:memory:/\n");

        begin();

        assertEquals(ImmutableList.of(), moves);
    }

    private void group(String name, String... pids) throws IOException {
        Path group = Files.createDirectories(root.resolve(name));
        Files.writeString(group.resolve("cgroup.procs"), String.join("\n", pids) + "\n");
    }

    private void begin() {
        ControlFiles recording = new ControlFiles() {
            @Override
            public void makeGroup(Path group) {}

            @Override
            public void write(Path file, String text) {
                moves.add(root.relativize(file) + " " + text);
            }

            @Override
            public void removeGroup(Path group) {}
        };
        GracePeriod period = new GracePeriod(CgroupLayout.detect(root, proc, "homeostat"), proc, recording);
        period.begin();
        await().until(() -> !period.isUnderWay());
    }
}
