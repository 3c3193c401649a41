package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.TestBed;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Starts a shell in place of a keeper. */
class KeepersTest {
    @TempDir
    Path root;

    static Stream<Optional<MethodHandle>> waysOfClosing() {
        return Stream.of(Keepers.Calls.CLOSE_FROM, Optional.<MethodHandle>empty())
                .distinct();
    }

    @ParameterizedTest
    @MethodSource("waysOfClosing")
    void itGetsNoneOfOurDescriptors(Optional<MethodHandle> closeFrom) throws Exception {
        Path ours = Files.writeString(root.resolve("ours"), "");
        try (FileInputStream open = new FileInputStream(ours.toFile())) {
            assertTrue(targets(Path.of("/proc/self/fd"), open).contains(ours.toString()));

            String seen = said(new Keepers(() -> closeFrom), "for fd in /proc/$$/fd/*; do readlink $fd; done");

            assertFalse(seen.contains(ours.toString()), seen);
        }
    }

    private static String targets(Path directory, FileInputStream open) throws IOException {
        assertTrue(open.getFD().valid());
        StringBuilder targets = new StringBuilder();
        try (Stream<Path> descriptors = Files.list(directory)) {
            for (Path each : descriptors.toList()) {
                try {
                    targets.append(Files.readSymbolicLink(each)).append('\n');
                } catch (NoSuchFileException closed) {
                    // Another thread of this program has closed it since.
                }
            }
        }
        return targets.toString();
    }

    @Test
    void itIgnoresAndBlocksNoSignalAndHasASessionOfItsOwn() throws Exception {
        // By the shell itself, which blocks signals while it starts others.
        String seen = said(
                new Keepers(),
                "while read -r name mask; do case $name in SigBlk:|SigIgn:) echo $name $mask;; esac;"
                        + " done < /proc/self/status; read -r stat < /proc/self/stat; set -- $stat; echo $1 $6");

        List<String> lines = seen.lines().toList();
        assertEquals("SigBlk: 0000000000000000", lines.get(0));
        assertEquals("SigIgn: 0000000000000000", lines.get(1));
        List<String> pidAndSession = List.of(lines.get(2).split(" "));
        assertEquals(pidAndSession.get(0), pidAndSession.get(1));
    }

    @Test
    void itsEnvironmentIsWhatItIsGiven() throws Exception {
        assertEquals("A=\u00e4\nPWD=/\n", said(new Keepers(), "cd /; unset OLDPWD; env | grep -v ^_= | sort"));
    }

    private String said(Keepers keepers, String script) throws Exception {
        Path out = root.resolve("out");
        int pid = keepers.start(List.of("/bin/sh", "-c", "{ " + script + "; } > " + out), Map.of("A", "\u00e4"));
        TestBed.soon().until(() -> keepers.hasEnded(pid));
        return Files.readString(out);
    }

    @Test
    void whatCanNotBeExecutedIsAnError() {
        IOException failure =
                assertThrows(IOException.class, () -> new Keepers().start(List.of("/no/such/shell"), Map.of()));

        assertEquals("posix_spawn of /no/such/shell failed: there is no such file", failure.getMessage());
    }

    @Test
    void whatIsTooLongIsSaidInWords() {
        IOException failure = assertThrows(
                IOException.class,
                () -> new Keepers().start(List.of("/bin/sh", "-c", "exit", "x".repeat(3_000_000)), Map.of()));

        assertEquals(
                "posix_spawn of /bin/sh failed: arguments and environment are too long together", failure.getMessage());
    }

    @Test
    void whatRunsIsNotCollectedAndWhatHasEndedIs() throws Exception {
        Keepers keepers = new Keepers();
        Path go = root.resolve("go");
        int pid = keepers.start(
                List.of("/bin/sh", "-c", "while [ ! -e " + go + " ]; do sleep 0.02; done"),
                Map.of("PATH", "/usr/bin:/bin"));
        Path process = Path.of("/proc", Integer.toString(pid));

        keepers.collect();
        assertTrue(Files.exists(process));
        assertFalse(keepers.hasEnded(pid));
        Files.createFile(go);

        TestBed.soon().until(() -> {
            keepers.collect();
            return Files.notExists(process);
        });
        assertTrue(keepers.hasEnded(pid));
    }
}
