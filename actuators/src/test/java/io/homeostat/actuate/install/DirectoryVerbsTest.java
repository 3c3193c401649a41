package io.homeostat.actuate.install;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.install.InstallationMarker;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

final class DirectoryVerbsTest {
    private static final WorkloadId ID = Machine.ID;
    private static final String KEY = "a".repeat(64);

    @TempDir
    private Path temp;

    private Machine machine;
    private Activator activator;
    private Remover remover;
    private GarbageCollector collector;

    @BeforeEach
    void setUp() throws IOException {
        machine = Machine.in(temp);
        activator = new Activator(machine.layout());
        remover = new Remover(machine.layout());
        collector = new GarbageCollector(machine.layout());
        install("1");
        install("2");
    }

    @Test
    void theSymlinkIsRelativeSoThatTheStateCanBeMoved() throws Exception {
        activator.activate(ID, "greeter_1");

        assertEquals(
                Path.of("greeter_1"), Files.readSymbolicLink(machine.layout().active(ID)));
        assertFalse(Files.exists(machine.layout().staging(ID)));
    }

    @Test
    void activatingAnotherRevisionReplacesTheSymlink() throws Exception {
        activator.activate(ID, "greeter_1");
        activator.activate(ID, "greeter_2");

        assertEquals(Optional.of("greeter_2"), machine.active(ID));
    }

    @Test
    void withoutASymlinkNoInstallationIsInUseAndAllCanBeCollected() throws Exception {
        activator.activate(ID, "greeter_1");

        activator.deactivate(ID);
        activator.deactivate(ID);
        collector.collect(ID, ImmutableList.of("greeter_1"));

        assertEquals(Optional.empty(), machine.active(ID));
        assertFalse(Files.exists(machine.layout().active(ID), LinkOption.NOFOLLOW_LINKS));
        assertFalse(Files.exists(machine.install("greeter_1")));
    }

    @Test
    void whatIsNotInstalledIsNotActivated() throws Exception {
        Files.createDirectories(machine.install("greeter_3"));

        String words = "is not an installation of it; it has to be unpacked again";
        assertFails(() -> activator.activate(ID, "greeter_3"), words);
        assertFails(() -> activator.activate(WorkloadId.plugin("other"), "greeter_1"), words);
        assertEquals(Optional.empty(), machine.active(ID));
    }

    @Test
    void aForeignDirectoryInTheSymlinksPlaceIsLeftAlone() throws Exception {
        Path foreign = Files.createDirectories(machine.layout().active(ID).resolve("precious"));

        assertFails(
                () -> activator.activate(ID, "greeter_1"),
                "is there and is no symlink, so it is not Homeostat's; move it away");
        remover.remove(ID);
        assertTrue(Files.exists(foreign));
    }

    @Test
    void aSymlinkThatSomebodyMadeLeadElsewhereIsPointedBackAndWhatItLedToIsLeftAlone() throws Exception {
        Path foreign = Files.createDirectories(temp.resolve("elsewhere"));
        Path precious = Files.writeString(foreign.resolve("precious"), "");
        activator.activate(ID, "greeter_1");
        Files.delete(machine.layout().active(ID));
        Files.createSymbolicLink(machine.layout().active(ID), foreign);

        activator.activate(ID, "greeter_1");

        assertEquals(Optional.of("greeter_1"), machine.active(ID));
        assertTrue(Files.exists(precious));
    }

    @Test
    void aSymlinkThatSomebodyMadeLeadElsewhereIsRemovedWithTheWorkloadAndWhatItLedToIsNot() throws Exception {
        Path foreign = Files.createDirectories(temp.resolve("elsewhere"));
        Path precious = Files.writeString(foreign.resolve("precious"), "");
        Files.createSymbolicLink(machine.layout().active(ID), foreign);

        remover.remove(ID);

        assertFalse(Files.exists(machine.layout().active(ID), LinkOption.NOFOLLOW_LINKS));
        assertTrue(Files.exists(precious));
    }

    @Test
    void removingWhatIsNotThereIsFine() throws Exception {
        remover.remove(WorkloadId.process("never-there"));

        assertEquals(2, machine.installations(ID).size());
    }

    @Test
    void whatIsNoSocketIsNotRemovedFromTheSocketsPlace() throws Exception {
        Path file = machine.layout().socket(ID, "1");
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.writeString(file, "precious");

        remover.remove(ID);

        assertTrue(Files.exists(file));
        assertEquals(ImmutableList.of(), machine.installations(ID));
    }

    @Test
    void theSocketOfALaunchThatHasNoInstallationIsRemovedWithTheWorkload() throws Exception {
        new LaunchDirectories(machine.layout(), new ProcFs()).write(instance("local"));
        Path socket = listenedOn(machine.layout().socket(ID, "local"));
        Files.createSymbolicLink(machine.layout().launch(ID, "stray"), temp);

        remover.remove(ID);

        assertFalse(Files.exists(socket));
        assertTrue(Files.exists(temp.resolve("run")), "what a stray symlink leads to");
    }

    @Test
    void theSocketOfAWorkloadOfAnotherKindThatHasTheSameNameStays() throws Exception {
        WorkloadId process = WorkloadId.process(ID.name());
        WorkloadId other = new WorkloadId(new Kind("Other", "others", ProcessSpec.class), ID.name());
        new LaunchDirectories(machine.layout(), new ProcFs()).write(instance(process, "1"));
        Path removed = listenedOn(machine.layout().socket(process, "1"));
        Path kept = listenedOn(machine.layout().socket(other, "1"));

        remover.remove(process);

        assertFalse(Files.exists(removed));
        assertTrue(Files.exists(kept));
    }

    private static Path listenedOn(Path socket) throws IOException {
        Files.createDirectories(socket.toAbsolutePath().getParent());
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(socket));
        }
        return socket;
    }

    @Test
    void notesThatAreNoneOfOursAreNotForgottenAndLeadNowhere() throws Exception {
        LaunchDirectories launches = new LaunchDirectories(machine.layout(), new ProcFs());
        launches.write(instance("local"));
        Path outside = Files.createDirectories(temp.resolve("outside"));
        Files.writeString(outside.resolve("precious"), "");
        Files.createSymbolicLink(machine.layout().launch(ID, "link"), outside);
        Files.writeString(machine.layout().launch(ID, "file"), "");

        assertEquals(ImmutableList.of("l1"), launches.noted(ID));
        launches.forget(ID, "link");
        launches.forget(ID, "l1");

        assertTrue(Files.exists(outside.resolve("precious")));
        assertEquals(ImmutableList.of(), launches.noted(ID));
    }

    private static Instance instance(String revision) {
        return instance(ID, revision);
    }

    private static Instance instance(WorkloadId id, String revision) {
        return new Instance(
                "l1", id, "hash", revision, null, ImmutableSortedMap.of(), Instant.EPOCH, null, Phase.INTENDED, "");
    }

    @Test
    void aWorkloadWhoseFilesCanNotBeSeenIsNotHalfRemoved() throws Exception {
        WorkloadId process = WorkloadId.process("p");
        Files.writeString(machine.layout().installs(process), "a file where the directory should be");
        Files.createDirectories(machine.layout().workloadState(process));

        assertFails(() -> remover.remove(process), "removing process/p failed: ");
        assertTrue(Files.exists(machine.layout().workloadState(process)));
    }

    @Test
    void theActiveRevisionIsNotCollected() throws Exception {
        activator.activate(ID, "greeter_1");

        assertFails(
                () -> collector.collect(ID, ImmutableList.of("greeter_2", "greeter_1")), "greeter_1 is the active one");
        assertEquals(2, machine.installations(ID).size());
    }

    @Test
    void aDirectoryThatLeadsElsewhereIsNotCollected() throws Exception {
        Path outside = Files.createDirectories(temp.resolve("state/instance/greeter_9"));
        Files.write(
                outside.resolve(InstallationMarker.FILE),
                new InstallationMarker(ID, new Installation("greeter_9", "9", KEY, KEY), "").toJson());

        collector.collect(ID, ImmutableList.of("../greeter_9", "/etc", "greeter_2/../../greeter_9"));

        assertTrue(Files.exists(outside));
        assertEquals(2, machine.installations(ID).size());
    }

    private void install(String revision) throws IOException {
        String directory = "greeter_" + revision;
        Path place = Files.createDirectories(machine.install(directory));
        Files.write(
                place.resolve(InstallationMarker.FILE),
                new InstallationMarker(ID, new Installation(directory, revision, KEY, KEY), "").toJson());
    }

    private static void assertFails(Executable verb, String expected) {
        ActuationFailure failure = assertThrows(ActuationFailure.class, verb);
        assertFalse(failure.fatal());
        assertTrue(String.valueOf(failure.getMessage()).contains(expected), failure.getMessage());
    }
}
