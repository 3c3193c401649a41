package io.homeostat.desired.source;

import static io.homeostat.desired.source.SourceFixture.NOW;
import static io.homeostat.desired.source.SourceFixture.messages;
import static io.homeostat.desired.source.SourceFixture.names;
import static io.homeostat.desired.source.SourceFixture.places;
import static io.homeostat.desired.source.SourceFixture.process;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.fleet.MachineLabels;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader.NotHere;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LocalSourceTest {
    @TempDir
    Path temporary;

    private Path directory;
    private SourceFixture files;

    @BeforeEach
    void directory() throws IOException {
        directory = Files.createDirectory(temporary.resolve("guest_agent"));
        files = new SourceFixture(directory);
    }

    @Test
    void eachDirectoryWithAManifestIsAPlugin() throws IOException {
        Path manifest = manifest("b", "plugin-b");
        manifest("a", "plugin-a");
        files.write("empty/readme", "no manifest");
        files.write("core_plugin", "a program");
        files.write(".hidden/manifest.yaml", process("hidden"));
        SourceSnapshot reading = read();
        assertEquals(List.of("plugin-a", "plugin-b"), names(reading));
        assertEquals(ImmutableList.of(), messages(reading));
        assertEquals(SourceName.LOCAL, reading.content().source());
        assertEquals(
                manifest.toString(), reading.content().documents().getLast().origin());
    }

    @Test
    void yamlBesideAPluginIsReadByTheRulesOfFiles() throws IOException {
        Path yaml = files.write("a/manifest.yaml", process("one", "two"));
        files.write("a/other.yaml", process("other"));
        assertEquals(List.of("one", "two"), names(read()));
        files.write("a/manifest.yaml", process("one", "-"));
        assertTrue(messages(read()).getFirst().startsWith(yaml + ":9:18: metadata.name: "));
        assertEquals(List.of("one", "two"), files.inForce());
    }

    @Test
    void yamlBesideAPluginMayBeForOtherMachines() throws IOException {
        Path manifest = files.write("a/manifest.yaml", process("a", "b", "c"));
        assertEquals(List.of("a", "b", "c"), names(read()));
        String placed = "placement: {matchLabels: {role: db}}\nspec:";
        files.write("a/manifest.yaml", process("a") + process("b", "c").replace("spec:", placed));
        files.write("d/manifest.yaml", process("d").replace("spec:", placed) + process("-"));

        SourceSnapshot reading = read();
        List<NotHere> left = source("c").notHere();

        assertEquals(List.of("a"), names(reading));
        assertEquals(List.of("a"), files.inForce());
        assertEquals(1, left.size(), left::toString);
        assertEquals("b", left.getFirst().read().workload().id().name());
        assertEquals(manifest.toString(), left.getFirst().read().file());
        assertEquals(
                "placement.matchLabels asks for role 'db', and this machine has 'web'",
                left.getFirst().reason());
    }

    @Test
    void aPackageThatIsRemovedWithdrawsItsPlugin() throws IOException {
        Path manifest = manifest("a", "a");
        manifest("b", "b");
        read();
        Files.delete(manifest);
        Files.delete(manifest.getParent());
        SourceSnapshot reading = read();
        assertEquals(ImmutableList.of(), messages(reading));
        assertEquals(List.of("b"), files.inForce());
    }

    @Test
    void aManifestThatAPackageManagerIsReplacingIsNotWithdrawn() throws IOException {
        Path manifest = manifest("a", "a");
        read();
        Files.delete(manifest);
        files.age(Duration.ofSeconds(1));
        SourceSnapshot reading = files.store(source().read(files.stored()));
        assertEquals(Optional.of(Duration.ofSeconds(1)), reading.lookAgain());
        assertEquals(List.of("a"), files.inForce());
    }

    @Test
    void aDisabledNameIsNotDeclaredThoughItsManifestIsBroken() throws IOException {
        manifest("a", "a");
        files.write("b/manifest.yaml", process("b1", "b2"));
        files.store(source().read(files.stored()));
        files.write("b/manifest.yaml", "b: [");
        files.write("a/manifest.binpb", "\u0007");
        files.age(Duration.ofHours(1));
        SourceSnapshot reading = files.store(source("a", "b2").read(files.stored()));
        assertEquals(2, reading.content().problems().size());
        assertEquals(List.of("b1"), files.inForce());
    }

    @Test
    void aDisabledNameIsWithdrawnAtOnce() throws IOException {
        manifest("a", "a");
        read();
        files.age(Duration.ZERO);
        assertEquals(List.of(), names(files.store(source("a").read(files.stored()))));
        assertEquals(List.of(), files.inForce());
    }

    @Test
    void aNameThatTwoManifestsDeclareIsAnErrorAtTheLaterOne() throws IOException {
        Path first = manifest("a", "same");
        Path second = manifest("b", "same");
        SourceSnapshot reading = read();
        assertEquals(List.of("manifest.binpb DUPLICATE plugin/same"), places(reading));
        assertTrue(
                messages(reading).getFirst().startsWith(second + ": "),
                () -> messages(reading).toString());
        assertTrue(
                messages(reading).getFirst().contains(" " + first + ";"),
                () -> messages(reading).toString());
        assertEquals(first.toString(), reading.content().documents().getFirst().origin());
        assertEquals(1, reading.content().documents().size());
    }

    @Test
    void aManifestThatIsNoneKeepsItsPluginAndSaysWhy() throws IOException {
        Path manifest = manifest("a", "a");
        read();
        Files.write(manifest, new byte[] {(byte) 0xff, 1, 2});
        assertEquals(
                ImmutableList.of(manifest + ": not a serialized ConfigurePlugin message; install the package again"),
                messages(read()));
        Files.write(manifest, new byte[(1 << 20) + 1]);
        assertEquals(
                ImmutableList.of(manifest + ": is longer than 1 MiB, so it is no manifest; replace it"),
                messages(read()));
        Files.write(manifest, new byte[0]);
        assertTrue(messages(read()).getFirst().startsWith(manifest + ": plugin.name: "));
        Files.delete(manifest);
        Files.createDirectory(manifest);
        assertEquals(ImmutableList.of(manifest + ": not a file; remove it"), messages(read()));
        Files.delete(manifest);
        Files.createSymbolicLink(manifest, Path.of("gone"));
        assertTrue(messages(read()).getFirst().startsWith(manifest + ": a symbolic link to nothing"));
        assertEquals(List.of("a"), files.inForce());
    }

    @Test
    void aPluginWhoseDirectoryBecomesALinkIsKeptWithAProblem() throws IOException {
        manifest("a", "a");
        read();
        Path elsewhere = Files.move(files.path("a"), temporary.resolve("elsewhere"));
        Path link = Files.createSymbolicLink(files.path("a"), elsewhere);
        assertEquals(
                ImmutableList.of(link + ": a symbolic link; put the plugin's directory itself here"), messages(read()));
        assertEquals(List.of("a"), files.inForce());
    }

    @Test
    void aDirectoryThatCanNotBeReadKeepsAllItsPlugins() throws IOException {
        manifest("a", "a");
        read();
        Files.move(directory, temporary.resolve("away"));
        assertTrue(messages(files.store(source().read(files.stored())))
                .getFirst()
                .startsWith(directory + ": no such directory. "));
        Files.createSymbolicLink(directory, directory);
        assertEquals(
                List.of(directory.getFileName() + " UNREADABLE"), places(files.store(source().read(files.stored()))));
        assertEquals(List.of("a"), files.inForce());
    }

    @Test
    void aDirectoryWithoutPermissionKeepsItsPlugin() throws IOException {
        Path manifest = manifest("a", "a");
        read();
        Files.setPosixFilePermissions(manifest.getParent(), PosixFilePermissions.fromString("---------"));
        try {
            assumeFalse(Files.isReadable(manifest), "root reads everything");
            assertEquals(
                    manifest.getFileName() + " UNREADABLE",
                    places(files.store(source().read(files.stored()))).getFirst());
            assertEquals(List.of("a"), files.inForce());
        } finally {
            Files.setPosixFilePermissions(manifest.getParent(), PosixFilePermissions.fromString("rwx------"));
        }
    }

    @Test
    void whateverBytesAreInAManifestNothingIsThrown() throws IOException {
        Path manifest = manifest("a", "a");
        read();
        byte[] good = Files.readAllBytes(manifest);
        Random random = new Random(11);
        for (int i = 0; i < 500; i++) {
            byte[] bytes = good.clone();
            for (int flips = 1 + random.nextInt(4); flips > 0; flips--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
            }
            Files.write(manifest, bytes);
            SourceFixture.changed(manifest, NOW.minusSeconds(60));
            SourceSnapshot reading = source().read(files.stored());
            assertTrue(
                    reading.content().problems().isEmpty()
                            ? reading.content().documents().size() == 1
                            : reading.content().retainedOrigins().equals(ImmutableSet.of(manifest.toString())),
                    reading::toString);
        }
    }

    private Path manifest(String name, String plugin) throws IOException {
        ConfigurePlugin.Builder message = ManifestReaderTest.installed();
        message.getPluginBuilder().setName(plugin);
        Path file = files.path(name + "/manifest.binpb");
        Files.createDirectories(file.getParent());
        return Files.write(file, message.build().toByteArray());
    }

    private LocalSource source(String... disabled) {
        Choice labels = new MachineLabels(ImmutableSortedMap.of("role", "web"), Optional.empty());
        return new LocalSource(
                ImmutableList.of(directory),
                TrustedPath.ANY,
                ImmutableSet.copyOf(disabled),
                labels,
                InstantSource.fixed(NOW));
    }

    /** With everything an hour old. */
    private SourceSnapshot read() throws IOException {
        files.age(Duration.ofHours(1));
        return files.store(source().read(files.stored()));
    }
}
