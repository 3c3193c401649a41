package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

final class MappedNumbersTest {
    @Test
    void theRangesOfTheKernelAreFollowedDown() {
        MappedNumbers numbers = MappedNumbers.parse("         0       1000          2\n         10     100000    3\n");

        assertTrue(numbers.contains(12));
        assertFalse(numbers.contains(13));
        assertFalse(numbers.contains(2));
        assertArrayEquals(new long[] {12, 11, 10, 1, 0}, numbers.downFrom(100).toArray());
        assertArrayEquals(new long[] {11, 10, 1, 0}, numbers.downFrom(11).toArray());
        assertArrayEquals(new long[] {1, 0}, numbers.downFrom(9).toArray());
    }

    @Test
    void thisProcessHasANumberOfEachKind() throws Exception {
        Path self = Path.of("/proc/self");

        assertTrue(MappedNumbers.users().contains((int) Files.getAttribute(self, "unix:uid")));
        assertTrue(MappedNumbers.groups().contains((int) Files.getAttribute(self, "unix:gid")));
    }
}
