package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.e2e.NomadDrivers.Driver;
import io.homeostat.e2e.NomadDrivers.Found;
import io.homeostat.proto.nomad.base.PluginInfoRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.opentest4j.TestAbortedException;

class NomadDriversTest {
    @TempDir
    Path directory;

    @Test
    void withoutADirectoryThereIsNoneAndTheTestIsSkippedWithTheReason() {
        Found none = new NomadDrivers("").find(Driver.RAW_EXEC);
        assertEquals(Optional.empty(), none.program());
        TestAbortedException skipped = assertThrows(TestAbortedException.class, none::orSkip);
        assertTrue(String.valueOf(skipped.getMessage()).contains("HOMEOSTAT_NOMAD_DRIVERS names a directory"));
    }

    @Test
    void aDriverIsAnExecutableFileWithItsName() throws IOException {
        NomadDrivers drivers = new NomadDrivers(directory.toString());
        assertTrue(drivers.find(Driver.MOCK).reason().endsWith("there is no file " + directory.resolve("mock")));
        Path mock = Files.createFile(directory.resolve("mock"));
        Files.setPosixFilePermissions(mock, PosixFilePermissions.fromString("rw-r--r--"));
        assertTrue(drivers.find(Driver.MOCK).reason().contains("is not executable"));
        Files.setPosixFilePermissions(mock, PosixFilePermissions.fromString("rwxr-xr-x"));
        assertEquals(new Found(Optional.of(mock), ""), drivers.find(Driver.MOCK));
        assertEquals(mock, drivers.find(Driver.MOCK).orSkip());
    }

    @ParameterizedTest
    @EnumSource
    void aRealDriverThatIsThereSaysWhoItIs(Driver driver) {
        Path program = NomadDrivers.named().find(driver).orSkip();
        try (DriverProcess real = DriverProcess.launch(directory, program.toString())) {
            assertEquals(
                    driver.title(),
                    real.base()
                            .pluginInfo(PluginInfoRequest.getDefaultInstance())
                            .getName());
        }
    }
}
