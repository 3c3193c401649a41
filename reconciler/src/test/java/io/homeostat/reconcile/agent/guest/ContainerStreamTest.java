package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.actuate.launch.LogRotation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ContainerStreamTest {
    @TempDir
    Path directory;

    @Test
    void whatTheLogCouldNotHoldUntilItWasReadIsSaidInItsPlace() throws Exception {
        Path log = directory.resolve("log");
        ContainerStream stream = new ContainerStream(log, directory.resolve("position"));
        Files.writeString(log, "one\n");
        assertEquals("one\n", next(stream));
        Files.writeString(log, "two ".repeat(250) + "\nthree\n", StandardOpenOption.APPEND);
        long lost = new LogRotation().rotate(log, 600, 4).getAsLong();
        assertEquals(1005, lost, "with what was read");

        assertEquals(
                "\nhomeostat: 1001 bytes that it printed are lost here: nobody took it in time, and"
                        + " limits.logBytesPerWorkload of the guest holds no more\n",
                next(stream));
        assertEquals("three\n", next(stream));
        assertEquals("", next(stream));
    }

    private static String next(ContainerStream stream) throws Exception {
        return stream.read(0, () -> true).toStringUtf8();
    }
}
