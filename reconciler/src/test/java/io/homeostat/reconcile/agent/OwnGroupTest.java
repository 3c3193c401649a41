package io.homeostat.reconcile.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MountTable.Mount;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.reconcile.HeardLog;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files in a directory stand for the kernel's, so that it can be tried on any machine. */
class OwnGroupTest {
    private static final String UNIT = "system.slice/homeostat.service";
    private static final AgentConfig.Bounds DEFAULTS =
            AgentConfigReader.defaults().limits();

    private static final Layout LAYOUT = new Layout(Path.of("/var/lib/homeostat"), Path.of("/run/homeostat"), "i");

    @TempDir
    Path temp;

    private final HeardLog log = HeardLog.ofThisThread(OwnGroup.class);
    private Path cgroups;

    @BeforeEach
    void startUnit() throws IOException {
        cgroups = temp.resolve("cgroup");
        Path self = Files.createDirectories(temp.resolve("proc/self"));
        Files.writeString(self.resolve("cgroup"), "0::/" + UNIT + "\n");
        group("", "cgroup.controllers", "cpu memory\n");
        group(UNIT, "cgroup.controllers", "cpu memory\n");
        group(UNIT, "cgroup.procs", "");
    }

    @AfterEach
    void stopListening() {
        log.close();
    }

    @Test
    void itIsBoundedAsTheConfigurationSaysAlsoByALaterOneAndLeftInTheEnd() throws IOException {
        group("homeostat.slice/keepers", "cgroup.procs", "");
        group(UNIT, "cgroup.subtree_control", "cpu memory\n");
        supervisor();

        try (OwnGroup group = enter(true)) {
            assertEquals(Long.toString(ProcessHandle.current().pid()), read("cgroup.procs"));
            assertEquals("536870912", read("memory.max"));
            assertEquals("100000 100000", read("cpu.max"));

            group.use(new AgentConfig.Bounds(
                    DEFAULTS.downloadBytes(),
                    DEFAULTS.unpackedBytes(),
                    DEFAULTS.entries(),
                    DEFAULTS.logBytesPerWorkload(),
                    DEFAULTS.events(),
                    DEFAULTS.cacheBytes(),
                    DEFAULTS.cacheAge(),
                    new Size(128 << 20),
                    new Cpu(50)));
            assertEquals("134217728", read("memory.max"));
            assertEquals("50000 100000", read("cpu.max"));
        }
        assertTrue(Files.readString(cgroups.resolve(UNIT).resolve("cgroup.subtree_control"))
                .startsWith("-"));
    }

    @Test
    void withoutItTheAgentWorksAndSaysThatItIsNotBounded() {
        try (OwnGroup group = enter(true)) {
            group.use(DEFAULTS);
        }
        String missing =
                cgroups.resolve(UNIT).resolve("supervisor/cgroup.procs").toString();
        assertTrue(
                log.lines().stream()
                        .anyMatch(each ->
                                each.startsWith("the agent itself is not fully bounded: ") && each.contains(missing)),
                log.lines()::toString);
    }

    @Test
    void aUnitThatDoesNotSayThatItCanBeStartedAgainIsLeftAsItIs() {
        try (OwnGroup group = enter(false)) {
            group.use(DEFAULTS);
        }
        assertFalse(Files.exists(cgroups.resolve(UNIT).resolve("supervisor")));
    }

    @Test
    void memoryIsNotBoundedWhereTheFilesThatTheAgentWritesAreMemory() throws IOException {
        for (String fileSystem : List.of("tmpfs", "ramfs")) {
            group("homeostat.slice/keepers", "cgroup.procs", "");
            group(UNIT, "cgroup.subtree_control", "cpu memory\n");
            supervisor();
            int before = log.lines().size();

            try (OwnGroup group = enter(true, fileSystem)) {
                group.use(DEFAULTS);
                assertEquals("max", read("memory.max"));
                assertEquals("100000 100000", read("cpu.max"));
            }
            assertEquals(
                    List.of("limits.memory does not hold for the agent: /var/lib/homeostat is on " + fileSystem
                            + ", and what is written there would count; move it to a disk"),
                    log.lines().subList(before, log.lines().size()));
        }
    }

    @Test
    void aFileSystemThatCanNotBeSeenKeepsTheAgentFromNothing() throws IOException {
        assertEquals(
                Files.getFileStore(temp).type(),
                OwnGroup.mount(temp).orElseThrow().type());
        assertEquals(Optional.empty(), OwnGroup.mount(temp.resolve("missing")));
        group(UNIT, "cgroup.subtree_control", "cpu memory\n");
        supervisor();
        try (OwnGroup _ = OwnGroup.enter(cgroups, temp.resolve("proc"), true, LAYOUT, Optional.empty(), DEFAULTS)) {
            assertEquals("536870912", read("memory.max"));
        }
    }

    private void supervisor() throws IOException {
        for (String file : List.of("cgroup.procs", "memory.max", "cpu.max")) {
            group(UNIT + "/supervisor", file, "");
        }
    }

    private OwnGroup enter(boolean isAsked) {
        return enter(isAsked, "ext4");
    }

    private OwnGroup enter(boolean isAsked, String fileSystem) {
        Mount mount =
                new Mount("30", "27", 1, Path.of("/var/lib"), ImmutableSet.of("rw"), fileSystem, ImmutableSet.of("rw"));
        return OwnGroup.enter(cgroups, temp.resolve("proc"), isAsked, LAYOUT, Optional.of(mount), DEFAULTS);
    }

    private void group(String group, String file, String text) throws IOException {
        Files.writeString(Files.createDirectories(cgroups.resolve(group)).resolve(file), text);
    }

    private String read(String file) throws IOException {
        return Files.readString(cgroups.resolve(UNIT).resolve("supervisor").resolve(file));
    }
}
