package io.homeostat.desired.state.sqlite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
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

    private void assertRefused(String why) {
        String message = assertThrows(StoreException.class, () -> StateDirectory.create(directory))
                .getMessage();
        assertTrue(message.contains(why), message);
    }
}
