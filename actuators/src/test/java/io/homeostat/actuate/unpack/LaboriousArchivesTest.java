package io.homeostat.actuate.unpack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeout;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.QuickDisk;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Small archives that would make a lot of work: of each kind of work there is a bound. */
final class LaboriousArchivesTest {
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

    private void assertRefused(TarBuilder tar, UnpackLimits limits, String expected) throws Exception {
        String key = machine.cached(tar.tarGz());
        Unpacker unpacker = new Unpacker(machine.layout(), () -> limits, new QuickDisk());

        ActuationFailure failure =
                assertThrows(ActuationFailure.class, () -> unpacker.unpack(Machine.ID, key, "1", "greeter_1", "run"));

        assertTrue(String.valueOf(failure.getMessage()).contains(expected), failure.getMessage());
        assertTrue(failure.fatal());
        assertEquals(ImmutableList.of(), machine.installations(Machine.ID));
    }
}
