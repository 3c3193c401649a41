package io.homeostat.actuate;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.install.Activator;
import io.homeostat.actuate.install.GarbageCollector;
import io.homeostat.actuate.install.Remover;
import io.homeostat.actuate.unpack.TarBuilder;
import io.homeostat.actuate.unpack.UnpackLimits;
import io.homeostat.actuate.unpack.Unpacker;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.Observation;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.install.InstallationMarker;
import io.homeostat.observe.install.InstallationObserver;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;
import java.util.SortedMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every verb that changes directories, ended before and after each of its steps, and then simply run again. */
final class InterruptedVerbsTest {
    private static final WorkloadId ID = Machine.ID;
    private static final String KEY = "a".repeat(64);
    private static final WorkloadId NEIGHBOUR = WorkloadId.plugin("greeter_2");

    @TempDir
    private Path temp;

    private byte[] archive = new byte[0];

    private interface Verb {
        void run(Machine machine, Disk disk) throws ActuationFailure, InterruptedException;
    }

    private interface Check {
        void check(Machine machine) throws IOException;
    }

    @BeforeEach
    void setUp() {
        archive = new TarBuilder()
                .program("run")
                .file("data", "new".repeat(1000))
                .symlink("link", "run")
                .tarGz();
    }

    @Test
    void unpackingEndsWithTheWholeInstallation() throws Exception {
        atEachStep(
                machine -> machine.cached(archive),
                (machine, disk) -> new Unpacker(machine.layout(), () -> UnpackLimits.DEFAULT, disk)
                        .unpack(ID, Machine.sha256(archive), "3", "greeter_3", "run"),
                machine -> {
                    for (Installation each : machine.installations(ID)) {
                        assertTrue(
                                Files.exists(machine.install(each.directory()).resolve("data"))
                                        || !each.revision().equals("3"),
                                "what is visible is whole");
                    }
                },
                machine -> assertEquals(
                        ImmutableList.of("greeter_1", "greeter_2", "greeter_3"), directories(machine, ID)));
    }

    @Test
    void activatingEndsWithTheNewOneAndNeverWithNone() throws Exception {
        atEachStep(
                machine -> {},
                (machine, disk) -> new Activator(machine.layout(), disk).activate(ID, "greeter_2"),
                machine -> assertTrue(machine.active(ID).isPresent()),
                machine -> {
                    assertEquals(Optional.of("greeter_2"), machine.active(ID));
                    assertTrue(Files.exists(machine.layout().active(ID).resolve("run")));
                });
    }

    @Test
    void collectingEndsWithoutTheSupersededAndNeverWithHalfOfIt() throws Exception {
        atEachStep(
                machine -> Files.createDirectories(machine.layout().staging(ID).resolve("stale/directory")),
                (machine, disk) -> new GarbageCollector(machine.layout(), disk)
                        .collect(ID, ImmutableList.of("greeter_2", "greeter_gone", "greeter_2_foreign")),
                this::requireWhole,
                machine -> {
                    assertEquals(ImmutableList.of("greeter_1"), directories(machine, ID));
                    assertFalse(Files.exists(machine.layout().staging(ID)));
                    assertEquals(Optional.of("greeter_1"), machine.active(ID));
                    assertTrue(Files.exists(machine.layout().log(ID)));
                });
    }

    @Test
    void removingEndsWithoutATrace() throws Exception {
        atEachStep(
                machine -> {},
                (machine, disk) -> new Remover(machine.layout(), disk).remove(ID),
                machine -> {
                    requireWhole(machine);
                    boolean anythingLeft = Files.exists(machine.layout().socket(ID, "1"))
                            || Files.exists(machine.layout().stateOwners(ID));
                    assertTrue(
                            !anythingLeft || traced(machine),
                            "who still has something has a trace, else nobody would remove the rest");
                },
                machine -> {
                    assertFalse(traced(machine));
                    assertFalse(Files.exists(machine.layout().staging(ID)));
                    assertFalse(Files.exists(machine.layout().stateOwners(ID)));
                    assertFalse(Files.exists(machine.layout().active(ID), LinkOption.NOFOLLOW_LINKS));
                    assertFalse(Files.exists(machine.layout().socket(ID, "1"), LinkOption.NOFOLLOW_LINKS));
                });
    }

    private void requireWhole(Machine machine) throws IOException {
        for (Installation each : machine.installations(ID)) {
            assertEquals(
                    "#!/bin/sh\n",
                    Files.readString(machine.install(each.directory()).resolve("run")));
        }
    }

    private static boolean traced(Machine machine) {
        return new InstallationObserver(machine.layout()).traces() instanceof Observation.Seen<?>(Object ids)
                && ids.toString().contains(ID + ",");
    }

    private interface Preparation {
        void prepare(Machine machine) throws IOException;
    }

    private void atEachStep(Preparation preparation, Verb verb, Check between, Check end) throws Exception {
        int steps = 0;
        boolean crashed = true;
        for (int step = 1; crashed; step++) {
            crashed = false;
            for (boolean after : new boolean[] {false, true}) {
                Machine machine = populated(step + (after ? "after" : "before"));
                preparation.prepare(machine);
                SortedMap<String, String> others = others(machine);
                FailingDisk disk = new FailingDisk(step, after);
                try {
                    verb.run(machine, disk);
                } catch (FailingDisk.Crash e) {
                    crashed = true;
                    steps = step;
                }
                between.check(machine);

                // The program begins anew, more than once: doing it again changes nothing.
                for (int i = 0; i < 2; i++) {
                    verb.run(machine, new LocalDisk());
                    end.check(machine);
                    assertEquals(others, others(machine), "step " + step);
                }
            }
        }
        assertTrue(steps >= 3, "only " + steps + " steps were seen");
    }

    /** A workload with two revisions, and others around it whose things look like its. */
    private Machine populated(String name) throws IOException {
        Machine machine = Machine.in(Files.createDirectory(temp.resolve(name)));
        install(machine, ID, "1", "greeter_1");
        install(machine, ID, "2", "greeter_2");
        install(machine, NEIGHBOUR, "1", "greeter_2_1~0123456789abcdef");
        Files.createDirectories(machine.install("greeter_2_foreign"));
        Files.createSymbolicLink(machine.layout().active(ID), Path.of("greeter_1"));
        for (WorkloadId id : ImmutableList.of(ID, NEIGHBOUR)) {
            Files.createDirectories(machine.layout().workloadState(id));
            Files.writeString(machine.layout().log(id), "log");
            Files.createDirectories(machine.layout().stateOwners(id).resolveSibling(""));
            Files.writeString(machine.layout().stateOwners(id), "0");
            Files.createDirectories(machine.layout().launch(id, "1"));
            socket(machine.layout().socket(id, "1"));
        }
        Path precious = Files.createDirectories(machine.root().resolve("precious"));
        Files.writeString(precious.resolve("file"), "precious");
        Files.createSymbolicLink(machine.layout().workloadState(ID).resolve("out"), precious);
        Files.createSymbolicLink(machine.install("greeter_1").resolve("out"), precious);
        return machine;
    }

    private static void install(Machine machine, WorkloadId id, String revision, String directory) throws IOException {
        Path place = Files.createDirectories(machine.layout().install(id, directory));
        Files.writeString(place.resolve("run"), "#!/bin/sh\n", UTF_8);
        Files.write(
                place.resolve(InstallationMarker.FILE),
                new InstallationMarker(id, new Installation(directory, revision, KEY, KEY), "").toJson());
    }

    private static void socket(Path path) throws IOException {
        Files.createDirectories(path.toAbsolutePath().getParent());
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(path));
        }
    }

    private static ImmutableList<String> directories(Machine machine, WorkloadId id) {
        return machine.installations(id).stream().map(Installation::directory).collect(ImmutableList.toImmutableList());
    }

    /** Everything that is not this workload's. */
    private static SortedMap<String, String> others(Machine machine) throws IOException {
        SortedMap<String, String> all = machine.everything();
        String plugins =
                machine.root().relativize(machine.layout().installs(ID)).toString();
        all.keySet()
                .removeIf(name -> name.matches(plugins + "(/greeter(_[0-9])?(/.*)?|/\\.staging.*)")
                        || name.matches(".*/(plugins|plugin-connections)/greeter(_1\\.sock)?(/.*)?"));
        assertTrue(all.containsKey("precious/file"), "what is compared is there");
        assertTrue(
                all.keySet().stream().anyMatch(name -> name.contains("plugin-connections/greeter_2_1~")),
                all.toString());
        return all;
    }
}
