package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.platform.MappedNumbers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UnusedUserTest {
    /** 998 and 997 have accounts; the files of 1001 become those of 996. */
    @ParameterizedTest
    @CsvSource({
        "0 0 4294967295, 65535",
        "0 1 65536, 65535",
        "0 1 65535, 65533",
        "0 1 1024, 1023",
        "0 1 1002, 1000",
        "0 1 999, 995",
        "100 1 900, 999",
        "0 1 10|65534 100 1, 9"
    })
    void theNumberIsMappedAndNobodys(String map, int number) throws Exception {
        assertEquals(number, unused(map).find(1001, 996));
    }

    @ParameterizedTest
    @CsvSource({"0 1 1", "0 1 1|996 1 3|1001 1 1", "0 1 1|65534 1 1", "0 1 1|100000 1 65536"})
    void whereThereIsNoneItIsSaidWhatToDo(String map) {
        IOException failure = assertThrows(IOException.class, () -> unused(map).find(1001, 996));

        assertTrue(String.valueOf(failure.getMessage()).contains("/proc/self/uid_map"), failure.getMessage());
        assertTrue(String.valueOf(failure.getMessage()).contains("map more"), failure.getMessage());
    }

    private static UnusedUser unused(String map) {
        MappedNumbers numbers = MappedNumbers.parse(map.replace('|', '\n'));
        return new UnusedUser(numbers, numbers, Set.of(997, 998)::contains);
    }

    /** Its user may become each of them, by newuidmap(1). */
    @Test
    void aSubordinateNumberIsSomebodys(@TempDir Path temp) throws Exception {
        Path file = Files.writeString(temp.resolve("subuid"), "# comment\n\npodman:1:999\npodman:1001:10\nx:y:z\n");

        assertTrue(UnusedUser.isSubordinate(999, file));
        assertFalse(UnusedUser.isSubordinate(1000, file));
        assertTrue(UnusedUser.isSubordinate(1010, file));
        assertFalse(UnusedUser.isSubordinate(1011, file));
        assertFalse(UnusedUser.isSubordinate(1, temp.resolve("missing")));
    }
}
