package io.homeostat.actuate.unpack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeout;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.Bytes;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.QuickDisk;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Small archives that would make a lot of work: of each kind of work there is a bound. */
final class LaboriousArchivesTest {
    /** Flags in the header of a gzip (RFC 1952). */
    private static final int FNAME = 8;

    private static final int FCOMMENT = 16;

    private static final UnpackLimits FEW = new UnpackLimits(1 << 20, 50, 0);

    @TempDir
    private Path temp;

    private Machine machine;

    @BeforeEach
    void setUp() {
        machine = Machine.in(temp);
    }

    @Test
    void directoriesThatAreOnlyImpliedByNamesAreEntriesToo() throws Exception {
        TarBuilder tar = new TarBuilder().program("run");
        for (int i = 0; i < 5; i++) {
            tar.file(i + "/deep".repeat(20), "");
        }

        assertRefused(tar, FEW, "more than the 50 entries that limits.entries allows");
    }

    @Test
    void aFewImpliedDirectoriesAreFine() throws Exception {
        String key =
                machine.cached(new TarBuilder().program("opt/agent/bin/run").tarGz());

        new Unpacker(machine.layout(), () -> FEW).unpack(Machine.ID, key, "1", "greeter_1", "opt/agent/bin/run");

        assertEquals(1, machine.installations(Machine.ID).size());
    }

    @Test
    void symlinksThatTakeForEverToFollowAreRefused() throws Exception {
        TarBuilder tar = new TarBuilder().program("run");
        String detour = "x/".repeat(400) + "../".repeat(400);
        for (int i = 0; i < 39; i++) {
            tar.symlink("hop" + i, detour + "hop" + (i + 1));
        }
        for (int i = 0; i < 400; i++) {
            tar.symlink("link" + i, "hop0");
        }

        assertTimeout(
                Duration.ofMinutes(1),
                () -> assertRefused(tar, UnpackLimits.DEFAULT, "one of more symlinks than can be followed"));
    }

    @Test
    void manyOrdinarySymlinksAreFollowed() throws Exception {
        TarBuilder tar = new TarBuilder().program("lib/python/site-packages/agent/run");
        tar.symlink("current", "lib/python");
        for (int i = 0; i < 500; i++) {
            tar.symlink("lib/python/site-packages/agent/link" + i, "../../../../current/site-packages/agent/run");
        }

        new Unpacker(machine.layout(), () -> UnpackLimits.DEFAULT, new QuickDisk())
                .unpack(Machine.ID, machine.cached(tar.tarGz()), "1", "greeter_1", "current/site-packages/agent/link7");

        assertTrue(Files.isExecutable(machine.install("greeter_1").resolve("lib/python/site-packages/agent/link499")));
    }

    @Test
    void namesAreBoundedTogether() throws Exception {
        String expected = "the names in it are longer than 65536 characters together";
        String deep = "d".repeat(250) + "/";
        TarBuilder files = new TarBuilder().program("run");
        TarBuilder links = new TarBuilder().program("run");
        for (int i = 0; i < 35; i++) {
            files.file(deep.repeat(8) + i, "");
            links.symlink("link" + i, deep.repeat(8) + i);
        }

        assertRefused(files, FEW, expected);
        assertRefused(links, FEW, expected);
    }

    @Test
    void namesThatTakeTwiceTheMemoryCountTwice() throws Exception {
        String wide = "\u0434".repeat(100) + "/";
        TarBuilder files = new TarBuilder().program("run");
        for (int i = 0; i < 42; i++) {
            files.file(wide.repeat(8) + i, "");
        }

        assertRefused(files, FEW, "the names in it are longer than 65536 characters together");
    }

    @Test
    void namesInTheHeaderOfAGzipAreBounded() throws Exception {
        byte[] tar = new TarBuilder().program("run").tar();
        byte[] first = Arrays.copyOf(tar, 700);
        byte[] rest = Arrays.copyOfRange(tar, 700, tar.length);
        byte[] plain = TarBuilder.gzip(first);

        for (int flag : new int[] {FNAME, FCOMMENT}) {
            String expected = "a gzip header is longer than 65536 bytes";
            assertRefused(withText(TarBuilder.gzip(tar), flag, 70_000), UnpackLimits.DEFAULT, expected);
            // Of a later one of several.
            assertRefused(
                    Bytes.concat(plain, withText(TarBuilder.gzip(rest), flag, 70_000)), UnpackLimits.DEFAULT, expected);
        }

        String key = machine.cached(
                Bytes.concat(withText(plain, FNAME, 60_000), withText(TarBuilder.gzip(rest), FCOMMENT, 60_000)));
        new Unpacker(machine.layout(), () -> FEW).unpack(Machine.ID, key, "1", "greeter_1", "run");
        assertEquals(1, machine.installations(Machine.ID).size());
    }

    /** A gzip with a name or a comment of that length. */
    private static byte[] withText(byte[] gzip, int flag, int length) {
        byte[] text = new byte[length + 1];
        Arrays.fill(text, 0, length, (byte) 'x');
        byte[] head = Arrays.copyOf(gzip, 10);
        head[3] |= (byte) flag;
        return Bytes.concat(head, text, Arrays.copyOfRange(gzip, 10, gzip.length));
    }

    private void assertRefused(TarBuilder tar, UnpackLimits limits, String expected) throws Exception {
        assertRefused(tar.tarGz(), limits, expected);
    }

    private void assertRefused(byte[] archive, UnpackLimits limits, String expected) throws Exception {
        String key = machine.cached(archive);
        Unpacker unpacker = new Unpacker(machine.layout(), () -> limits, new QuickDisk());

        ActuationFailure failure =
                assertThrows(ActuationFailure.class, () -> unpacker.unpack(Machine.ID, key, "1", "greeter_1", "run"));

        assertTrue(String.valueOf(failure.getMessage()).contains(expected), failure.getMessage());
        assertTrue(failure.fatal());
        assertEquals(ImmutableList.of(), machine.installations(Machine.ID));
    }
}
