package io.homeostat.observe.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Size;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AgentGroupTest {
    private static final String UNIT = "system.slice/homeostat.service";

    @TempDir
    Path temp;

    @Test
    void whereSystemdStartsTheAgentInAGroupOfItsOwnThatIsIt() throws IOException {
        machineOfVersion2();
        assertEquals(Optional.of(UNIT + "/agent"), found(UNIT + "/agent", true));
    }

    @Test
    void inTheUnitsOwnGroupTheAgentMovesDown() throws IOException {
        machineOfVersion2();
        assertEquals(Optional.of(UNIT + "/supervisor"), found(UNIT, true));
        assertEquals(Optional.of(UNIT + "/supervisor"), found(UNIT + "/supervisor", true));
    }

    @Test
    void aUnitThatDoesNotAskForItIsSomebodyElsesOrFromBefore() throws IOException {
        machineOfVersion2();
        Path other = temp.resolve("cgroup/system.slice/other.service");
        Files.createDirectories(other);
        Files.writeString(other.resolve("cgroup.controllers"), "memory pids\n");
        mark(other);
        for (String group : List.of("system.slice/other.service/supervisor", "system.slice/other.service/agent")) {
            assertEquals(Optional.empty(), found(group, false));
            assertEquals(Optional.of(group), found(group, true), "one of us with another name");
        }
        for (String group : List.of(UNIT, UNIT + "/supervisor", UNIT + "/agent")) {
            assertEquals(Optional.empty(), found(group, false));
        }
    }

    @Test
    void whatIsNotDelegatedToUsIsLeftAlone() throws IOException {
        machineOfVersion2();
        assertEquals(Optional.empty(), found("user.slice/session-1.scope", true));
        assertEquals(Optional.empty(), found("system.slice/cron.service", true));
        assertEquals(Optional.empty(), found("system.slice/cron.service/agent", true));
        assertEquals(Optional.empty(), found("", true));
    }

    @Test
    void withoutVersion2ThereIsNone() throws IOException {
        Files.createDirectories(temp.resolve("cgroup").resolve(UNIT));
        assertEquals(Optional.empty(), found(UNIT, true));
        assertEquals(Optional.empty(), AgentGroup.limits(temp.resolve("cgroup"), temp.resolve("proc/self")));
    }

    @Test
    void theControllersAreThoseOfTheUnit() throws IOException {
        machineOfVersion2();
        found(UNIT, true);
        assertEquals(
                ImmutableSet.of(Controller.MEMORY),
                AgentGroup.find(temp.resolve("cgroup"), temp.resolve("proc"), true)
                        .orElseThrow()
                        .unit()
                        .controllers());
    }

    @Test
    void withoutControllersThereIsNothingToBoundItWith() throws IOException {
        machineOfVersion2();
        Files.writeString(temp.resolve("cgroup").resolve(UNIT).resolve("cgroup.controllers"), "pids\n");
        assertEquals(Optional.empty(), found(UNIT, true));
    }

    @Test
    void limitsAreThoseInForce() throws IOException {
        machineOfVersion2();
        found(UNIT + "/agent", true);
        Path group =
                Files.createDirectories(temp.resolve("cgroup").resolve(UNIT).resolve("agent"));
        Files.writeString(group.resolve("memory.max"), "1048576\n");
        assertEquals(
                Optional.of(new Limits(new Size(1 << 20), null, false)),
                AgentGroup.limits(temp.resolve("cgroup"), temp.resolve("proc/self")));
        found(UNIT, true);
        assertEquals(Optional.empty(), AgentGroup.limits(temp.resolve("cgroup"), temp.resolve("proc/self")));
    }

    @Test
    void commandsOfWorkloadsLeaveItForTheGroupOfTheKeepers() throws Exception {
        machineOfVersion2();
        found(UNIT + "/agent", true);
        Path keepers = temp.resolve("cgroup").resolve(UNIT).resolve("keepers");

        assertEquals("runs", said(apart()), "also where it can't enter it");
        Files.createDirectories(keepers);
        assertEquals("runs", said(apart()));

        assertEquals("0\n", Files.readString(keepers.resolve("cgroup.procs")));
    }

    @Test
    void whoHasNoGroupOfItsOwnLeavesNone() throws Exception {
        machineOfVersion2();
        found(UNIT, true);
        Path keepers =
                Files.createDirectories(temp.resolve("cgroup").resolve(UNIT).resolve("keepers"));

        assertEquals("runs", said(apart()));
        assertEquals("", apart().getLast());
        assertFalse(Files.exists(keepers.resolve("cgroup.procs")));
    }

    private List<String> apart() {
        Path root = temp.resolve("cgroup");
        Path proc = temp.resolve("proc");
        return AgentGroup.apart(CgroupLayout.detect(root, proc, "homeostat"), root, proc);
    }

    private static String said(List<String> prefix) throws Exception {
        Process process = new ProcessBuilder(ImmutableList.<String>builder()
                        .addAll(prefix)
                        .add("/bin/echo", "runs")
                        .build())
                .redirectErrorStream(true)
                .start();
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    }

    private void machineOfVersion2() throws IOException {
        Path unit = Files.createDirectories(temp.resolve("cgroup").resolve(UNIT));
        Files.writeString(temp.resolve("cgroup/cgroup.controllers"), "cpu memory pids\n");
        Files.writeString(unit.resolve("cgroup.controllers"), "memory pids\n");
    }

    /** As systemd marks what it delegates. */
    private static void mark(Path group) throws IOException {
        UserDefinedFileAttributeView attributes = Files.getFileAttributeView(group, UserDefinedFileAttributeView.class);
        assumeTrue(attributes != null, "this file system has no attributes of users");
        attributes.write("delegate", ByteBuffer.wrap("1".getBytes(StandardCharsets.US_ASCII)));
    }

    private Optional<String> found(String own, boolean isAsked) throws IOException {
        Path self = Files.createDirectories(temp.resolve("proc/self"));
        Files.writeString(self.resolve("cgroup"), "0::/" + own + "\n");
        Path root = temp.resolve("cgroup");
        return AgentGroup.find(root, temp.resolve("proc"), isAsked)
                .map(place -> root.relativize(place.group()).toString());
    }
}
