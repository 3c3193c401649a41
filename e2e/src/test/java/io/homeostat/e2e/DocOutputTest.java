package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the tests of the documentation take for equal, and what they find. */
final class DocOutputTest {
    @TempDir
    Path directory;

    @Test
    void whatDiffersFromTimeToTimeIsEqualAndNothingElse() {
        assertMatch("process/web  RUNNING  1  31707  1s  0", "process/web RUNNING 1 999 1m12s 0");
        assertMatch("2026-11-28T05:10:30Z  web", "2027-01-01T00:00:00.123Z web");
        assertMatch("12.5 MiB, 30 %, 12 ms", "3 KiB, 1.5 %, 7 ms");
        assertMatch(
                "launch 015de704-1f81-47aa-be47-ca635e25d6f3, pid 107",
                "launch 7c300a4c-9a3d-41d4-8415-02b6bb3aa792, pid 22609");
        assertMatch("installed", "homeostat: apply: after 10s: process/web launching\ninstalled");
        assertNoMatch("installed", "homeostat: apply: process/web failed\ninstalled");
        assertNoMatch("process/web  RUNNING  1", "process/web  STOPPED  1");
        assertNoMatch("Apply: 1 installed", "Apply: 2 installed");
        assertNoMatch("revision 2 runs", "revision 3 runs");
        assertNoMatch("--prune", "prune");
    }

    @Test
    void dotsAreAnyNumberOfLinesAndALineMoreOrLessIsADifference() {
        assertMatch("first\n...\nlast", "first\nlast");
        assertMatch("first\n...\nlast", "first\na\nb\nlast");
        assertNoMatch("first\n...\nlast", "first\na");
        assertNoMatch("first", "first\nsecond");
        assertNoMatch("first\nsecond", "first");
        assertEquals(
                "  first\n- second\n+ third",
                DocOutput.of(List.of("first", "second"), "first\nthird\n").difference());
    }

    @Test
    void linesMayComeInAnotherOrderButNoOthers() {
        assertTrue(DocOutput.of(List.of("a 1s", "b"), "b\na 2s\n").matchesInAnyOrder());
        assertFalse(DocOutput.of(List.of("a", "b"), "b\nb\n").matchesInAnyOrder());
        assertFalse(DocOutput.of(List.of("a"), "a\na\n").matchesInAnyOrder());
    }

    @Test
    void onlyAProcessThatWasShownIsKilled() {
        Map<String, String> numbers = new HashMap<>();
        DocOutput.of(List.of("process/web  RUNNING  31707"), "process/web  RUNNING  456\n")
                .learn(numbers);

        assertEquals("kill -9 456", DocOutput.here("kill -9 31707", numbers));
        assertThrows(IllegalArgumentException.class, () -> DocOutput.here("kill -9 31708", numbers));
    }

    @Test
    void aCommandThatNoTestRunsIsFound() throws IOException {
        Path page = Files.writeString(
                Files.createDirectories(Distribution.checkout().resolve("e2e/target"))
                        .resolve("page-" + directory.getFileName() + ".md"),
                """
                ```console
                $ homeostat status
                ```
                ```sh
                systemctl status homeostat
                ./homeostat status
                rm -r /
                ```
                ```text
                $ homeostat plan
                a sentence about homeostat, which is none
                ```
                """);
        try {
            assertEquals(
                    List.of("./homeostat status", "rm -r /", "$ homeostat plan"),
                    DocPage.read(page).untested(Set.of("systemctl")).stream()
                            .map(line -> line.substring(line.indexOf(": ") + 2))
                            .toList());
        } finally {
            Files.delete(page);
        }
    }

    private static void assertMatch(String page, String program) {
        DocOutput output = DocOutput.of(page.lines().toList(), program);
        assertTrue(output.matches(), output::difference);
    }

    private static void assertNoMatch(String page, String program) {
        DocOutput output = DocOutput.of(page.lines().toList(), program);
        assertFalse(output.matches(), output::toString);
    }
}
