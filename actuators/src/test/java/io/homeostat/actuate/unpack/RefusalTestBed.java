package io.homeostat.actuate.unpack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.QuickDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** An unpacker and a cache before it. What is refused is refused as a whole, the message says why, and nothing of it is left. */
abstract class RefusalTestBed {
    @TempDir
    Path temp;

    Machine machine;

    @BeforeEach
    void setUp() {
        machine = Machine.in(temp);
    }

    static TarBuilder tar() {
        return new TarBuilder().program("run");
    }

    static ZipBuilder zip() {
        return new ZipBuilder().program("run");
    }

    void refused(byte[] archive, String expected) throws IOException {
        refused(archive, expected, UnpackLimits.DEFAULT);
    }

    void refused(byte[] archive, String expected, UnpackLimits limits) throws IOException {
        String key = machine.cached(archive);
        Files.createDirectories(machine.layout().staging(Machine.ID).getParent());
        var before = machine.everything();

        ActuationFailure failure = failure(key, limits);

        assertTrue(failure.fatal(), () -> "the checksum is declared, so it is final: " + failure.getMessage());
        String message = String.valueOf(failure.getMessage());
        assertTrue(message.contains(expected), message);
        assertTrue(message.startsWith("unpacking revision 1 of plugin/greeter failed: the archive is "), message);
        assertEquals(before, machine.everything());
        assertEquals(ImmutableList.of(), machine.installations(Machine.ID));
    }

    ActuationFailure failure(String key, UnpackLimits limits) {
        Unpacker unpacker = new Unpacker(machine.layout(), () -> limits, new QuickDisk());
        return assertThrows(ActuationFailure.class, () -> unpacker.unpack(Machine.ID, key, "1", "greeter_1", "run"));
    }
}
