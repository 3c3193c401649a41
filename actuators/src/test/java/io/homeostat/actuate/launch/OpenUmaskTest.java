package io.homeostat.actuate.launch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.actuate.unpack.TarBuilder;
import io.homeostat.actuate.unpack.UnpackLimits;
import io.homeostat.actuate.unpack.Unpacker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Under umask 0 whatever is made without a mode is everybody's to change. */
class OpenUmaskTest {
    private static final String LAUNCH = "open-umask-1";
    private static final String ENTRY_POINT = "deep/er/program";

    @TempDir
    Path root;

    @Test
    void nothingIsOpenToOthersUnderAnOpenUmaskThatTheProgramStillGets() throws Exception {
        Path output = root.resolve("said");
        Process agent = new ProcessBuilder(
                        "/bin/sh",
                        "-c",
                        "umask 0; exec \"$@\"",
                        "sh",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        OpenUmaskTest.class.getName(),
                        root.toString())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try (TestBed bed = new TestBed(root)) {
            bed.adopt(TestBed.instance(TestBed.PROCESS, LAUNCH, Instant.now()));
            assertEquals(0, agent.waitFor(), () -> read(output));
            Path exit = bed.layout.launch(TestBed.PROCESS, LAUNCH).resolve("exit");
            TestBed.soon().until(() -> Files.exists(exit));

            assertEquals("0022\n", bed.log(TestBed.PROCESS));
            assertEquals("rwxr-xr-x", mode(bed.layout.install(TestBed.PROCESS, "node-exporter_1")), "the installation");
            assertEquals("rwx------", mode(bed.layout.archives()), "the cache");
            assertEquals("rwx--x--x", mode(bed.layout.installs(TestBed.PROCESS)));
            try (Stream<Path> notes = Files.list(exit.getParent())) {
                List<Path> files = notes.toList();
                assertFalse(files.isEmpty());
                files.forEach(file -> assertEquals("rw-------", mode(file), file.toString()));
            }
            try (Stream<Path> all = Files.walk(bed.layout.stateDir())) {
                assertEquals(
                        List.of(), all.filter(OpenUmaskTest::isWritableByOthers).toList());
            }
        } finally {
            agent.destroyForcibly();
        }
    }

    private static boolean isWritableByOthers(Path path) {
        return !Files.isSymbolicLink(path)
                && (mode(path).charAt(4) == 'w' || mode(path).charAt(7) == 'w');
    }

    private static String mode(Path path) {
        try {
            return PosixFilePermissions.toString(Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The agent: unpacks and launches. */
    public static void main(String[] arguments) throws Exception {
        TestBed bed = new TestBed(Path.of(arguments[0]));
        byte[] archive = new TarBuilder()
                .file(ENTRY_POINT, 0777, "#!/bin/sh\numask\n".getBytes(UTF_8))
                .directory("open", 0777)
                .tar();
        String key = Machine.sha256(archive);
        new LocalDisk().makeDirectories(bed.layout.archives());
        new LocalDisk().write(bed.layout.archive(key), archive);
        String directory = "node-exporter_1";
        new Unpacker(bed.layout, () -> UnpackLimits.DEFAULT).unpack(TestBed.PROCESS, key, "1", directory, ENTRY_POINT);
        bed.launcher.launch(
                new LaunchRequest(
                        TestBed.instance(TestBed.PROCESS, LAUNCH, Instant.now()),
                        bed.layout.install(TestBed.PROCESS, directory).resolve(ENTRY_POINT),
                        ImmutableList.of(),
                        ImmutableMap.of(),
                        null),
                CgroupPlan.NONE);
    }
}
