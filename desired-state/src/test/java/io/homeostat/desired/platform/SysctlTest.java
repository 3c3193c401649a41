package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

final class SysctlTest {
    @Test
    void allDigitsAreRead() throws Exception {
        Path file = Path.of("/proc/sys/kernel/overflowuid");
        Process cat = new ProcessBuilder("cat", file.toString()).start();
        String said = new String(cat.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);

        assertEquals(said.strip(), String.valueOf(Sysctl.number(file)));
    }
}
