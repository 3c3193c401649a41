package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.QuickDisk;
import io.homeostat.observe.install.InstallationMarker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Random;
import java.util.SortedMap;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Random archives made of the parts that escapes are made of. Whatever they do, nothing outside the installation changes. */
final class HostileArchivesTest {
    private static final int SEEDS = Boolean.getBoolean("nightly") ? 300 : 50;
    private static final ImmutableList<String> PARTS =
            ImmutableList.of("a", "b", "c", "link", "..", ".", "", "up", "run", "\\", "..\\x", InstallationMarker.FILE);

    @TempDir
    private Path temp;

    @Test
    void nothingIsEverWrittenOutside() throws Exception {
        int accepted = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            Path root = Files.createDirectory(temp.resolve("seed" + seed));
            Machine machine = Machine.in(root);
            Path outside = Files.createDirectories(root.resolve("outside/a"));
            Files.writeString(outside.resolve("b"), "precious");
            Files.createDirectories(machine.layout().installs(Machine.ID).resolve("a"));
            Random random = new Random(seed);
            String key = machine.cached(random.nextBoolean() ? tar(random, outside) : zip(random, outside));
            SortedMap<String, String> before = withoutInstallation(machine);
            try {
                new Unpacker(machine.layout(), () -> UnpackLimits.DEFAULT, new QuickDisk())
                        .unpack(Machine.ID, key, "1", "greeter_1", "run");
                accepted++;
                assertLinksStayInside(machine.install("greeter_1"), seed);
            } catch (ActuationFailure e) {
                assertEquals(ImmutableList.of(), machine.installations(Machine.ID), "seed " + seed);
            }
            assertEquals(before, withoutInstallation(machine), "seed " + seed);
        }
        assertTrue(accepted > SEEDS / 20, "of archives that are all refused nothing is learnt: " + accepted);
        assertTrue(accepted < SEEDS, "none of the archives was hostile");
    }

    private static byte[] tar(Random random, Path outside) {
        TarBuilder tar = new TarBuilder().program("run");
        for (int i = 0; i < 1 + random.nextInt(8); i++) {
            String name = path(random, outside);
            switch (random.nextInt(12)) {
                case 0, 1, 2 -> tar.file(name, mode(random), "evil".getBytes(UTF_8));
                case 3, 4 -> tar.directory(name, mode(random));
                case 5, 6, 7, 8 -> tar.symlink(name, path(random, outside));
                case 9, 10 -> tar.hardLink(name, path(random, outside));
                default -> tar.special(name, random.nextBoolean() ? TarConstants.LF_FIFO : TarConstants.LF_CHR);
            }
        }
        return random.nextBoolean() ? tar.tarGz() : tar.tar();
    }

    private static byte[] zip(Random random, Path outside) {
        ZipBuilder zip = new ZipBuilder().program("run");
        for (int i = 0; i < 1 + random.nextInt(8); i++) {
            String name = path(random, outside);
            if (random.nextBoolean()) {
                zip.file(name, mode(random), "evil".getBytes(UTF_8));
            } else {
                zip.symlink(name, path(random, outside));
            }
        }
        return zip.zip();
    }

    private static int mode(Random random) {
        return random.nextInt(20) == 0 ? random.nextInt(010000) : random.nextInt(01000);
    }

    private static String path(Random random, Path outside) {
        if (random.nextInt(25) == 0) {
            return outside + "/b";
        }
        StringBuilder path = new StringBuilder();
        for (int i = 0; i < 1 + random.nextInt(3); i++) {
            // The harmless parts mostly, else there would be no archive that gets far.
            int part = random.nextInt(8) == 0 ? random.nextInt(PARTS.size()) : random.nextInt(4);
            path.append(i == 0 ? "" : "/").append(PARTS.get(part));
        }
        return path.isEmpty() ? "." : path.toString();
    }

    private static SortedMap<String, String> withoutInstallation(Machine machine) throws IOException {
        SortedMap<String, String> all = machine.everything();
        String install = machine.root().relativize(machine.install("greeter_1")).toString();
        String staging = machine.root()
                .relativize(machine.layout().stagings(Machine.ID.kind()))
                .toString();
        all.keySet().removeIf(name -> name.equals(install) || name.startsWith(install + "/") || name.equals(staging));
        return all;
    }

    private static void assertLinksStayInside(Path install, int seed) throws IOException {
        try (Stream<Path> paths = Files.walk(install)) {
            for (Path path : (Iterable<Path>) paths::iterator) {
                if (Files.exists(path)) {
                    assertTrue(path.toRealPath().startsWith(install.toRealPath()), "seed " + seed + ": " + path);
                }
                assertEquals(
                        0,
                        (int) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) & 06000,
                        "seed " + seed + ": " + path);
            }
        }
    }
}
