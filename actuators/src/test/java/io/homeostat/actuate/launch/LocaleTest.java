package io.homeostat.actuate.launch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.unpack.TarBuilder;
import io.homeostat.actuate.unpack.UnpackLimits;
import io.homeostat.actuate.unpack.Unpacker;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A JVM knows one locale for all its life, so each of these has its own. */
final class LocaleTest {
    @TempDir
    private Path temp;

    @Test
    void lettersOfAllAlphabetsWorkInALocaleThatHasThem() throws Exception {
        assertEquals("unpacked", unpackIn("C.UTF-8"));

        Path place = Machine.in(temp).install("greeter_1");
        // The name as bytes, because the JVM of this test may be in any locale.
        assertEquals(
                0,
                new ProcessBuilder("sh", "-c", "test -e \"$0/$(printf 'caf\\303\\251')\"", place.toString())
                        .start()
                        .waitFor());
    }

    @Test
    void elsewhereTheLocaleIsBlamedAndNotTheArchive() throws Exception {
        String said = unpackIn("C");

        assertTrue(said.contains("run Homeostat in one with UTF-8, for example LC_ALL=C.UTF-8"), said);
        assertTrue(said.endsWith(" fatal: false"), said);
        assertTrue(Files.exists(Machine.in(temp).layout().archive(Machine.sha256(archive()))));
    }

    private static byte[] archive() {
        return new TarBuilder().program("run").file("caf\u00e9", "x").tarGz();
    }

    private String unpackIn(String locale) throws Exception {
        String key = Machine.in(temp).cached(archive());
        ProcessBuilder java = new ProcessBuilder(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                // Nothing in this module logs to anything, and SLF4J would say so.
                "-Dslf4j.internal.verbosity=ERROR",
                "-cp",
                System.getProperty("java.class.path"),
                LocaleTest.class.getName(),
                temp.toString(),
                key));
        java.environment().put("LC_ALL", locale);
        Process process = java.redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), UTF_8).strip();
        assertEquals(0, process.waitFor(), said);
        return said;
    }

    /** Unpacks and says how it went. */
    public static void main(String[] arguments) throws InterruptedException {
        Machine machine = Machine.in(Path.of(arguments[0]));
        try {
            new Unpacker(machine.layout(), () -> UnpackLimits.DEFAULT)
                    .unpack(Machine.ID, arguments[1], "1", "greeter_1", "run");
            System.out.println("unpacked");
        } catch (ActuationFailure e) {
            System.out.println(e.getMessage() + " fatal: " + e.fatal());
        }
    }
}
