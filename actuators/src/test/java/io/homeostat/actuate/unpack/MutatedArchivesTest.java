package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.google.common.base.Throwables;
import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.QuickDisk;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Archives with some bytes exchanged. Whatever the libraries that read them make of it: they are refused or installed whole. */
final class MutatedArchivesTest {
    private static final int SEEDS = Boolean.getBoolean("nightly") ? 150 : 25;
    private static final String INTERESTING = "\0\1\177\200\377/.-01789L;KxgSP";

    @TempDir
    private Path temp;

    @Test
    void aTarIsRefusedOrInstalled() throws Exception {
        mutate(tar(), UnaryOperator.identity());
    }

    @Test
    void aTarGzIsRefusedOrInstalled() throws Exception {
        mutate(tar(), TarBuilder::gzip);
    }

    @Test
    void aCompressedStreamIsRefusedOrInstalled() throws Exception {
        mutate(TarBuilder.gzip(tar()), UnaryOperator.identity());
    }

    @Test
    void aZipIsRefusedOrInstalled() throws Exception {
        mutate(
                new ZipBuilder()
                        .program("run")
                        .file("a/" + "long".repeat(20), 0644, "text".getBytes(UTF_8))
                        .symlink("link", "run")
                        .zip(),
                UnaryOperator.identity());
    }

    private static byte[] tar() {
        return new TarBuilder()
                .program("run")
                .directory("a", 0755)
                .file("a/" + "long".repeat(60), "text")
                .symlink("link", "a/../run")
                .hardLink("hard", "run")
                .tar();
    }

    private void mutate(byte[] archive, UnaryOperator<byte[]> packed) throws Exception {
        int refused = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            Random random = new Random(seed);
            byte[] mutated = archive.clone();
            for (int i = 0; i < 1 + random.nextInt(3); i++) {
                mutated[random.nextInt(mutated.length)] = random.nextBoolean()
                        ? (byte) random.nextInt(256)
                        : (byte) INTERESTING.charAt(random.nextInt(INTERESTING.length()));
            }
            Machine machine = Machine.in(Files.createDirectory(temp.resolve("seed" + seed)));
            if (!unpacks(machine, machine.cached(packed.apply(mutated)), seed)) {
                refused++;
            }
        }
        assertTrue(refused > SEEDS / 20, "too few of the changes mattered: " + refused);
    }

    private static boolean unpacks(Machine machine, String key, int seed) throws Exception {
        try {
            new Unpacker(machine.layout(), () -> UnpackLimits.DEFAULT, new QuickDisk())
                    .unpack(Machine.ID, key, "1", "greeter_1", "run");
            assertTrue(Files.isExecutable(machine.install("greeter_1").resolve("run")), "seed " + seed);
            assertEquals("", machine.installations(Machine.ID).getFirst().damage(), "seed " + seed);
            return true;
        } catch (ActuationFailure e) {
            assertFalse(String.valueOf(e.getMessage()).contains("null"), "seed " + seed + ": " + e.getMessage());
            assertEquals(ImmutableList.of(), machine.installations(Machine.ID), "seed " + seed);
            assertFalse(Files.exists(machine.layout().staging(Machine.ID)), "seed " + seed);
            return false;
        } catch (RuntimeException | Error e) {
            return fail("seed " + seed + ": " + Throwables.getStackTraceAsString(e));
        }
    }
}
