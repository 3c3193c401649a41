package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.MoreCollectors;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.actuate.stop.Stopper.StopResult.How;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PluginProtocolTest {
    private static final WorkloadId LONG_NAMED = WorkloadId.plugin("a-plugin-with-a-name");

    @TempDir
    Path root;

    private TestBed bed;

    @BeforeEach
    void setUp() {
        bed = new TestBed(root);
    }

    @AfterEach
    void tearDown() throws Exception {
        bed.close();
    }

    @Test
    void aPluginIsToldWhereToListenAfterItsOwnArguments() throws Exception {
        Path program = bed.program("p", "printf '%s\\n' \"$@\"");
        bed.ended(bed.launch(TestBed.PLUGIN, program, "--verbose"));

        assertEquals(
                List.of(
                        "--verbose",
                        "--protocol=unix",
                        "--address=" + bed.layout.socket(TestBed.PLUGIN, "r1"),
                        "--errorlogfile="
                                + bed.layout.workloadState(TestBed.PLUGIN).resolve("errors.log")),
                bed.log(TestBed.PLUGIN).lines().toList());
    }

    @Test
    void aSocketThatAFormerProcessLeftIsRemovedBeforeTheLaunch() throws Exception {
        Path socket = bed.layout.socket(TestBed.PLUGIN, "r1");
        Files.createDirectories(socket.getParent());
        Files.createFile(socket);

        bed.ended(bed.launch(TestBed.PLUGIN, bed.program("p", "[ ! -e '" + socket + "' ]")));

        assertFalse(Files.exists(socket));
    }

    @Test
    void theSocketOfAPluginThatWasKilledIsNotTakenForThatOfTheNext() throws Exception {
        Path socket = bed.layout.socket(TestBed.PLUGIN, "r1");
        Files.createDirectories(socket.getParent());
        try (ServerSocketChannel former = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            former.bind(UnixDomainSocketAddress.of(socket));
        }
        assertTrue(Files.exists(socket), "a socket's file outlives who listened");
        // A process that another test starts holds this JVM's descriptors until its exec.
        TestBed.soon().until(() -> bed.plugins.listening(socket).equals(Observation.seen(false)));

        bed.launch(TestBed.PLUGIN, bed.program("p", "exec sleep 1000"));

        assertFalse(Files.exists(socket));
        assertEquals(Observation.seen(false), bed.plugins.listening(socket));
    }

    @Test
    void nobodyElseCanListenInAPluginsPlace() throws Exception {
        bed.launch(TestBed.PLUGIN, bed.program("p", "exec sleep 1000"));

        Path directory = bed.layout.socket(TestBed.PLUGIN, "r1").getParent();
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)));
    }

    @Test
    void theLongestPathThatWeCanConnectToIsUsedAsItIs() throws Exception {
        Path socket = toldToAPluginWhosePathHas(Layout.MAX_SOCKET_PATH);

        assertEquals(LONG_NAMED.name() + "_r1.sock", socket.getFileName().toString());
        assertCanBeListenedOn(socket);
    }

    @Test
    void aPathThatIsOneByteLongerIsShortened() throws Exception {
        Path socket = toldToAPluginWhosePathHas(Layout.MAX_SOCKET_PATH + 1);

        assertFalse(socket.toString().contains(LONG_NAMED.name()), socket.toString());
        assertCanBeListenedOn(socket);
    }

    private Path toldToAPluginWhosePathHas(int bytes) throws Exception {
        String name = "plugin-connections/" + LONG_NAMED.name() + "_r1.sock";
        Path run = root.resolve("x".repeat(bytes - bytes(root) - name.length() - 2));
        assertEquals(bytes, bytes(run.resolve(name)));
        bed = new TestBed(root, run);
        bed.ended(bed.launch(LONG_NAMED, bed.program("p", "printf '%s\\n' \"$@\"")));
        String address = bed.log(LONG_NAMED)
                .lines()
                .filter(line -> line.startsWith("--address="))
                .collect(MoreCollectors.onlyElement());
        return Path.of(address.substring("--address=".length()));
    }

    private void assertCanBeListenedOn(Path socket) throws Exception {
        try (ServerSocketChannel plugin = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            plugin.bind(UnixDomainSocketAddress.of(socket));
            assertEquals(Observation.seen(true), bed.plugins.listening(socket));
        }
    }

    @Test
    void aRunDirectoryInWhichNoSocketCanBeIsRefusedBeforeAnythingIsStarted() throws Exception {
        bed = new TestBed(root, root.resolve("x".repeat(100)));
        Path program = bed.program("p", "exec sleep 1000");
        Instance instance = bed.instance(TestBed.PLUGIN);

        ActuationFailure failure = assertThrows(
                ActuationFailure.class,
                () -> bed.launch(new LaunchRequest(instance, program, ImmutableList.of(), ImmutableMap.of(), null)));

        assertTrue(TestBed.message(failure).contains("--run-dir"), TestBed.message(failure));
        assertFalse(Files.exists(bed.layout.launches(TestBed.PLUGIN)));
        assertEquals(
                How.ALREADY_GONE, bed.stop(instance, Duration.ofSeconds(20)).how());
    }

    @Test
    void stoppingAPluginRemovesTheSocketThatItLeft() throws Exception {
        Instance instance = bed.launch(TestBed.PLUGIN, bed.program("p", "exec sleep 1000"));
        Path socket = bed.layout.socket(TestBed.PLUGIN, "r1");
        try (ServerSocketChannel plugin = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            plugin.bind(UnixDomainSocketAddress.of(socket));
        }

        bed.stop(instance, Duration.ofSeconds(20));

        assertFalse(Files.exists(socket));
    }

    @Test
    void whatASymlinkInTheSocketsPlaceLeadsToIsLeftAlone() throws Exception {
        Instance instance = bed.launch(TestBed.PLUGIN, bed.program("p", "exec sleep 1000"));
        Path precious = Files.createFile(root.resolve("precious"));
        Path socket = Files.createSymbolicLink(bed.layout.socket(TestBed.PLUGIN, "r1"), precious);

        bed.stop(instance, Duration.ofSeconds(20));

        assertTrue(Files.exists(precious));
        assertFalse(Files.exists(socket, LinkOption.NOFOLLOW_LINKS));
    }

    private static int bytes(Path path) {
        return path.toString().getBytes(StandardCharsets.UTF_8).length;
    }
}
