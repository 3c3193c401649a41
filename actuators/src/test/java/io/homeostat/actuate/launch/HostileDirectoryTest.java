package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.install.GarbageCollector;
import io.homeostat.actuate.install.Remover;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is removed from a hostile directory is what was to be removed, to the byte; the seed of each run is in its name. */
@Timeout(120)
class HostileDirectoryTest {
    private static final int SEEDS = Boolean.getBoolean("nightly") ? 10 : 1;
    private static final int STRANGERS = Boolean.getBoolean("nightly") ? 10_000 : 200;

    @TempDir
    Path temp;

    static List<Long> seeds() {
        List<Long> seeds = new ArrayList<>();
        for (long seed = 1; seed <= SEEDS; seed++) {
            seeds.add(seed);
        }
        return seeds;
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("seeds")
    void collectingTakesTheNamedInstallationsOfThatWorkloadAndNothingElse(long seed) throws Exception {
        Random dice = new Random(seed);
        Machine machine = Machine.in(temp);
        HostileDirectory directory = new HostileDirectory(machine, dice);
        GarbageCollector collector = new GarbageCollector(machine.layout());
        for (WorkloadId id : directory.workloads()) {
            SortedMap<String, String> before = machine.everything();
            List<String> superseded = directory.superseded(id);
            List<String> named = new ArrayList<>(superseded);
            directory.workloads().stream()
                    .filter(other -> !other.equals(id))
                    .forEach(other -> named.addAll(directory.installed(other)));
            for (int i = 0; i < 10; i++) {
                named.add(directory.strangeName());
            }
            named.removeIf(name -> directory.installed(id).contains(name) && !superseded.contains(name));
            named.removeIf(name -> pointsTo(machine.layout(), id, name));

            collector.collect(id, ImmutableList.copyOf(named));

            List<Path> gone = new ArrayList<>(List.of(machine.layout().staging(id)));
            superseded.forEach(name -> gone.add(machine.layout().install(id, name)));
            assertOnlyGone(machine, before, gone);
        }
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("seeds")
    void removingAWorkloadTakesAllOfItAndNothingElse(long seed) throws Exception {
        Machine machine = Machine.in(temp);
        Layout layout = machine.layout();
        HostileDirectory directory = new HostileDirectory(machine, new Random(seed));
        for (WorkloadId id : directory.workloads()) {
            SortedMap<String, String> before = machine.everything();
            List<Path> gone =
                    new ArrayList<>(List.of(layout.staging(id), layout.workloadState(id), layout.launches(id)));
            directory.installed(id).forEach(name -> gone.add(layout.install(id, name)));
            if (machine.active(id).isPresent()) {
                gone.add(layout.active(id));
            }

            new Remover(layout).remove(id);

            assertOnlyGone(machine, before, gone);
        }
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("seeds")
    void leftoversAreWhatIsInTheWorkloadsOwnStagingDirectory(long seed) throws Exception {
        Machine machine = Machine.in(temp);
        HostileDirectory directory = new HostileDirectory(machine, new Random(seed));
        for (WorkloadId id : directory.workloads()) {
            SortedMap<String, String> before = machine.everything();

            new GarbageCollector(machine.layout()).collectLeftovers(id);

            assertOnlyGone(machine, before, List.of(machine.layout().staging(id)));
        }
    }

    @Test
    void amongThousandsOfStrangersAWorkloadIsFoundAndRemoved() throws Exception {
        Machine machine = Machine.in(temp);
        HostileDirectory directory = new HostileDirectory(machine, new Random(7));
        WorkloadId id = directory.workloads().getFirst();
        for (int i = 0; i < STRANGERS; i++) {
            Files.createDirectory(machine.layout().installs(id).resolve(id.name() + "_" + i + "x"));
        }

        new Remover(machine.layout()).remove(id);

        assertEquals(ImmutableList.of(), machine.installations(id));
        assertTrue(Files.exists(machine.layout().installs(id).resolve(id.name() + "_" + (STRANGERS - 1) + "x")));
    }

    @Test
    void whatCanNotBeLookedIntoMayBeAnInstallationSoNothingIsRemoved() throws Exception {
        assumeFalse(Files.isWritable(Path.of("/proc/1/environ")), "root may look into everything");
        Machine machine = Machine.in(temp);
        HostileDirectory directory = new HostileDirectory(machine, new Random(7));
        WorkloadId id = directory.workloads().getFirst();
        Path closed = Files.createDirectory(machine.layout().install(id, id.name() + "_closed"));
        Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("---------"));
        try {
            assertFalse(removes(machine, id));
            assertTrue(Files.exists(machine.layout().workloadState(id)));
        } finally {
            Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("rwx------"));
        }
    }

    private static boolean removes(Machine machine, WorkloadId id) {
        try {
            new Remover(machine.layout()).remove(id);
            return true;
        } catch (ActuationFailure e) {
            return false;
        }
    }

    /** A stranger's symlink may lie where ours would, and point to something of the workload: then that is the active one. */
    private static boolean pointsTo(Layout layout, WorkloadId id, String name) {
        try {
            return Files.readSymbolicLink(layout.active(id)).toString().equals(name);
        } catch (IOException e) {
            return false;
        }
    }

    private static void assertOnlyGone(Machine machine, SortedMap<String, String> before, List<Path> gone)
            throws IOException {
        for (Path path : gone) {
            assertFalse(Files.exists(path, LinkOption.NOFOLLOW_LINKS), path + " is still there");
        }
        SortedMap<String, String> expected = new TreeMap<>(before);
        expected.keySet().removeIf(name -> gone.stream().anyMatch(machine.root().resolve(name)::startsWith));
        assertEquals(expected, machine.everything());
    }
}
