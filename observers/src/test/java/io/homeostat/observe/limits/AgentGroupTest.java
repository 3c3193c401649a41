package io.homeostat.observe.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Size;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
        assertEquals(Optional.of(UNIT + "/agent"), found(UNIT + "/agent", false));
    }

    @Test
    void inTheUnitsOwnGroupOnlyAUnitThatUndoesItLetsTheAgentMove() throws IOException {
        machineOfVersion2();
        assertEquals(Optional.empty(), found(UNIT, false));
        assertEquals(Optional.of(UNIT + "/supervisor"), found(UNIT, true));
        assertEquals(Optional.of(UNIT + "/supervisor"), found(UNIT + "/supervisor", true));
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

    private void machineOfVersion2() throws IOException {
        Path unit = Files.createDirectories(temp.resolve("cgroup").resolve(UNIT));
        Files.writeString(temp.resolve("cgroup/cgroup.controllers"), "cpu memory pids\n");
        Files.writeString(unit.resolve("cgroup.controllers"), "memory pids\n");
    }

    private Optional<String> found(String own, boolean mayMove) throws IOException {
        Path self = Files.createDirectories(temp.resolve("proc/self"));
        Files.writeString(self.resolve("cgroup"), "0::/" + own + "\n");
        Path root = temp.resolve("cgroup");
        return AgentGroup.find(root, temp.resolve("proc"), mayMove)
                .map(place -> root.relativize(place.group()).toString());
    }
}
