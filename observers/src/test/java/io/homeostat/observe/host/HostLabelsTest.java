package io.homeostat.observe.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.fleet.MachineLabels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostLabelsTest {
    @TempDir
    Path directory;

    @Test
    void labelsAreThoseOfTheFileAndWhatTheHostIs() throws IOException {
        Path release = Files.writeString(directory.resolve("os-release"), "ID=debian\nVERSION_ID=\"13\"\n");
        Files.writeString(directory.resolve("arch"), "aarch64\n");
        Files.writeString(directory.resolve("hostname"), "web-1\n");

        assertEquals(
                new MachineLabels(
                        ImmutableSortedMap.<String, String>naturalOrder()
                                .put("role", "web")
                                .put("host.arch", "aarch64")
                                .put("host.name", "web-1")
                                .put("instance.id", "i-1")
                                .put("os.ID", "debian")
                                .put("os.VERSION_ID", "13")
                                .buildOrThrow(),
                        Optional.empty()),
                labels(release));
    }

    @Test
    void anOlderKernelsArchitectureIsThatOfTheRuntime() throws IOException {
        String architecture = labels(Files.createFile(directory.resolve("os-release")))
                .labels()
                .get("host.arch");
        assertTrue(ImmutableList.of("x86_64", "aarch64").contains(architecture), architecture);
    }

    @Test
    void whatCantBeReadIsNotTakenForNothing() throws IOException {
        MachineLabels labels = labels(Files.createDirectory(directory.resolve("os-release")));

        assertTrue(labels.unseen().orElseThrow().startsWith(directory + "/os-release can't be read: "));
        assertFalse(labels.labels().containsKey("os.ID"));
    }

    private MachineLabels labels(Path release) {
        return new HostLabels(new OsRelease(ImmutableList.of(release)), new Kernel(directory))
                .look(ImmutableMap.of("role", "web"), "i-1");
    }
}
