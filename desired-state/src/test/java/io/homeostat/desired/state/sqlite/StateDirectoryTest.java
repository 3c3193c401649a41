package io.homeostat.desired.state.sqlite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MachineIdentity;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class StateDirectoryTest {
    private final Path parent;
    private final Path directory;

    StateDirectoryTest(@TempDir Path parent) {
        this.parent = parent;
        this.directory = parent.resolve("a/b");
    }

    @BeforeEach
    void root() {
        Assumptions.assumeTrue(TrustedPath.isRoot(), "only root can give files away");
    }

    @Test
    void oneThatIsMadeIsOfNobodyElse() throws IOException {
        StateDirectory.create(directory);

        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)));
    }

    @Test
    void oneThatSomebodyElseHasMadeFirstIsRefused() throws IOException {
        Files.createDirectories(directory);
        Files.setAttribute(directory, "unix:uid", 65534);

        assertRefused("it belongs to ");
    }

    @Test
    void soIsOneInADirectoryThatSomebodyElseHasMadeFirst() throws IOException {
        Files.createDirectories(directory.getParent());
        Files.setAttribute(directory.getParent(), "unix:uid", 65534);

        assertRefused(parent.resolve("a") + " belongs to ");
    }

    /** It was not there when it was decided where to work, and somebody has put it back since. */
    @Test
    void nothingIsReadThatSomebodyElseCanChange() throws IOException {
        Layout layout = Samples.layout(directory);
        StateStores.openForWriting(layout, Clock.systemUTC()).store().close();
        MachineState machine = new MachineState(layout);
        assertEquals(Optional.empty(), machine.claim("i", new MachineIdentity("i", "", "", ""), "news"));
        assertTrue(machine.owner().isPresent());
        StateStores.openForReading(layout).orElseThrow().close();

        Files.setAttribute(directory.getParent(), "unix:uid", 65534);

        assertRefused(parent.resolve("a") + " belongs to ", () -> StateStores.openForReading(layout));
        assertRefused(parent.resolve("a") + " belongs to ", machine::owner);
    }

    /** As from a backup that was restored with other owners; what belongs to workloads lies deeper. */
    @Test
    void soIsOneInWhichSomethingBelongsToSomebodyElse() throws IOException {
        Layout layout = Samples.layout(directory);
        StateStores.openForWriting(layout, Clock.systemUTC()).store().close();
        Path workload = Files.createDirectories(layout.stateDir().resolve("m/agent_state/web"));
        Files.setAttribute(workload, "unix:uid", 65534);
        StateStores.openForReading(layout).orElseThrow().close();

        Path above = workload.getParent();
        Files.setAttribute(above, "unix:uid", 65534);
        assertRefused(above + " belongs to ", () -> StateStores.openForReading(layout));
        Files.setAttribute(above, "unix:uid", 0);

        Path database = layout.database();
        Files.setAttribute(database, "unix:uid", 65534);
        assertRefused(database + " belongs to ", () -> StateStores.openForReading(layout));
        assertRefused(database + " belongs to ", () -> StateDirectory.create(layout.stateDir()));
    }

    private void assertRefused(String why) {
        assertRefused(why, () -> StateDirectory.create(directory));
    }

    private static void assertRefused(String why, Executable use) {
        String message = assertThrows(StoreException.class, use).getMessage();
        assertTrue(message.contains(why), message);
    }
}
