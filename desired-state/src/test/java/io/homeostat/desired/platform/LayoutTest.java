package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Directories of workloads, whatever they and their revisions are called. */
final class LayoutTest {
    private static final int NAME_MAX = 255;

    private static final List<String> NAMES = List.of(
            "a",
            "a_b",
            "a b",
            "a~b",
            "a%20b",
            "..",
            ".",
            "../a",
            ".staging",
            "-",
            "_",
            "a/b",
            "a\u0000b",
            "a\nb",
            "für",
            "fu\u0308r",
            "A b",
            "a~7Eb",
            "~",
            "a".repeat(63),
            "a".repeat(64),
            "a".repeat(120),
            "a".repeat(121),
            "/".repeat(40),
            "/".repeat(41),
            "\ud83d\ude00".repeat(1000),
            "x".repeat(10_000));

    private final Layout layout = new Layout(Path.of("/state"), Path.of("/run"), "1");

    @Test
    void tasksOfOneNameInTwoStateDirectoriesAreNotMistakenForEachOther() {
        WorkloadId web = new WorkloadId(Kind.TASK, "web");
        Layout other = new Layout(Path.of("/other"), Path.of("/run"), "1");

        assertEquals(
                layout.allocation(web).getFileName(),
                new Layout(Path.of("/state"), Path.of("/run2"), "1")
                        .allocation(web)
                        .getFileName());
        assertNotEquals(
                layout.allocation(web).getFileName(), other.allocation(web).getFileName());
    }

    @Test
    void whatYamlCanHaveKeepsItsDirectories() {
        WorkloadId plain = WorkloadId.plugin("ops-agent");
        WorkloadId underscore = WorkloadId.plugin("a_b");

        assertEquals(Path.of("/state/1/plugins/ops-agent"), layout.active(plain));
        assertEquals(Path.of("/state/1/plugins/a_b~"), layout.active(underscore));
        assertEquals(Path.of("/state/1/agent_state/plugins/a_b"), layout.workloadState(underscore));
        assertEquals("ops-agent_1.2.3", Layout.installName(plain, "1.2.3", null));
        assertEquals("a_b_1~f92b04e3f778d2bc", Layout.installName(underscore, "1", null));
        assertEquals(Path.of("/run/plugin-connections/ops-agent_1.sock"), layout.socket(plain, "1"));
    }

    @Test
    void everyNameHasADirectoryOfItsOwnThatStaysWhereItIs() {
        Map<String, String> taken = new HashMap<>();
        for (String name : NAMES) {
            WorkloadId id = WorkloadId.plugin(name);
            for (Path path : List.of(
                    layout.active(id),
                    layout.workloadState(id),
                    layout.stateOwners(id),
                    layout.staging(id),
                    layout.launches(id))) {
                assertEquals(path, path.normalize(), name);
                assertTrue(bytes(path.getFileName().toString()) <= 121, path::toString);
            }
            assertEquals(layout.installs(id), layout.active(id).getParent());
            String other = taken.put(layout.active(id).getFileName().toString(), name);
            assertEquals(null, other, name);
            assertFalse(layout.active(id).equals(layout.stagings(Kind.PLUGIN)), name);
        }
    }

    @Test
    void aNameIsReadBackFromItsDirectoryUnlessThatIsAHash() {
        for (String name : NAMES) {
            String directory = Layout.directoryName(WorkloadId.plugin(name));

            assertEquals(
                    directory.contains("~~") ? Optional.empty() : Optional.of(WorkloadId.plugin(name)),
                    Layout.workload(Kind.PLUGIN, directory),
                    directory);
        }
        for (String foreign : List.of("lost+found", "a~", "a~4", "a~zz", "~61", "a~20b~", "")) {
            assertEquals(Optional.empty(), Layout.workload(Kind.PLUGIN, foreign), foreign);
        }
    }

    @Test
    void everyRevisionHasADirectoryOfItsOwn() {
        Map<String, String> taken = new HashMap<>();
        for (String name : NAMES) {
            for (String revision : NAMES) {
                for (String content : new String[] {null, "0123"}) {
                    WorkloadId id = WorkloadId.plugin(name);
                    String directory = Layout.installName(id, revision, content);
                    assertTrue(directory.startsWith(Layout.directoryName(id) + "_"), directory);
                    assertTrue(bytes(directory) + "trash-".length() <= NAME_MAX, directory);
                    assertTrue(directory.matches("[A-Za-z0-9._~-]+"), directory);
                    String what = name + "\0" + revision + "\0" + content;
                    assertEquals(null, taken.put(directory, what), directory);
                    assertTrue(bytes(layout.socket(id, revision).toString()) <= Layout.MAX_SOCKET_PATH, directory);
                }
            }
        }
    }

    @Test
    void aDriverHasADirectoryForSocketsWithRoomForTheirNames() {
        assertEquals(Path.of("/run/driver-connections/raw-exec"), layout.driverSockets(driver("raw-exec")));
        Map<Path, String> taken = new HashMap<>();
        for (String name : NAMES) {
            Path directory = layout.driverSockets(driver(name));
            assertEquals(Path.of("/run/driver-connections"), directory.getParent(), name);
            assertEquals(directory, directory.normalize(), name);
            assertTrue(
                    bytes(directory.resolve("plugin-dir4294967295").toString()) <= Layout.MAX_SOCKET_PATH,
                    directory::toString);
            assertEquals(null, taken.put(directory, name), name);
        }
    }

    @Test
    void aDriversNameIsReplacedByAHashWhereItsSocketsWouldHaveNoRoom() {
        String readable = "/driver-connections/a-driver-with-a-name";
        String longest = "/" + "r".repeat(Layout.MAX_SOCKET_PATH - 24 - readable.length() - 1);

        assertEquals(Path.of(longest + readable), inRun(longest).driverSockets(driver("a-driver-with-a-name")));
        Path shortened = inRun(longest).driverSockets(driver("a-driver-with-a-name2"));
        assertTrue(shortened.toString().matches(longest + "/driver-connections/[0-9a-f]+"), shortened::toString);
    }

    @Test
    void aRunDirectoryInWhichNoDriverCouldListenIsRefused() {
        Layout deep = inRun("/" + "r".repeat(80));

        IllegalStateException refused =
                assertThrows(IllegalStateException.class, () -> deep.driverSockets(driver("raw-exec")));
        String words = String.valueOf(refused.getMessage());
        assertTrue(
                words.startsWith("the run directory " + deep.runDir() + " is too long for unix sockets of drivers: "
                        + deep.runDir()),
                words);
        assertTrue(words.endsWith(", at most 82 are possible; choose a shorter --run-dir"), words);
    }

    private static WorkloadId driver(String name) {
        return new WorkloadId(Kind.DRIVER, name);
    }

    private static Layout inRun(String run) {
        return new Layout(Path.of("/state"), Path.of(run), "1");
    }

    @Test
    void randomNamesDoNotMeet() {
        Random random = new Random(11);
        Map<String, String> taken = new HashMap<>();
        for (int i = 0; i < 20_000; i++) {
            StringBuilder name = new StringBuilder();
            for (int length = 1 + random.nextInt(5); length > 0; length--) {
                name.append("ab~_.-%/ 2E".charAt(random.nextInt(11)));
            }
            String before = taken.put(Layout.directoryName(WorkloadId.plugin(name.toString())), name.toString());
            assertTrue(before == null || before.contentEquals(name), () -> before + " and " + name);
        }
    }

    private static int bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }
}
