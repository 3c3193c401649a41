package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Machine;
import io.homeostat.desired.model.WorkloadId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** An unpacker and a cache before it. */
abstract class UnpackTestBed {
    static final WorkloadId ID = Machine.ID;
    static final String DIRECTORY = "greeter_1";

    @TempDir
    Path temp;

    Machine machine;
    Unpacker unpacker;

    @BeforeEach
    void setUp() {
        machine = Machine.in(temp);
        unpacker = new Unpacker(machine.layout(), () -> UnpackLimits.DEFAULT);
    }

    static TarBuilder ordinary() {
        return new TarBuilder()
                .directory("./", 0700)
                .directory("./bin", 0775)
                .program("./bin/greeter")
                .file("share/text", 0664, "hello".getBytes(UTF_8))
                .symlink("greeter", "bin/greeter");
    }

    void assertOrdinary() throws IOException {
        Path place = machine.install(DIRECTORY);
        assertEquals("rwxr-xr-x", mode(place), "whatever the archive says of its root, others must be able to enter");
        assertEquals("rwxr-xr-x", mode(place.resolve("bin")));
        assertEquals("rwxr-xr-x", mode(place.resolve("bin/greeter")));
        assertEquals("rw-r--r--", mode(place.resolve("share/text")));
        assertEquals("hello", Files.readString(place.resolve("share/text")));
        assertEquals(Path.of("bin/greeter"), Files.readSymbolicLink(place.resolve("greeter")));
        assertFalse(Files.exists(machine.layout().staging(ID)), "nothing is left of the unpacking");
    }

    void unpack(String key, String entryPoint) throws ActuationFailure, InterruptedException {
        unpacker.unpack(ID, key, "1", DIRECTORY, entryPoint);
    }

    ActuationFailure failure(String key, String entryPoint) {
        return assertThrows(ActuationFailure.class, () -> unpack(key, entryPoint));
    }

    static void assertContains(ActuationFailure failure, String expected) {
        String message = String.valueOf(failure.getMessage());
        assertTrue(message.contains(expected), message);
    }

    static String mode(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }
}
