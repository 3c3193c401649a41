package io.homeostat.observe.install;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.Observation;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** What its marker makes an installation, and what is none although it looks like one. */
final class InstallationMarkerTest extends InstalledMachine {
    @Test
    void anInstallationWhoseNameCouldBeAnotherWorkloadsIsToldByItsMarker() throws IOException {
        WorkloadId shorter = WorkloadId.plugin("a");
        WorkloadId longer = WorkloadId.plugin("a_b");
        Installation ofShorter = install(shorter, "b_1", "a_b_1~1111111111111111");
        Installation ofLonger = install(longer, "1", "a_b_1~2222222222222222");

        assertEquals(Observation.seen(ImmutableList.of(ofShorter)), observer.installations(shorter));
        assertEquals(Observation.seen(ImmutableList.of(ofLonger)), observer.installations(longer));
        assertEquals(Observation.seen(ImmutableSet.of(shorter, longer)), observer.traces());
    }

    @Test
    void whatOthersPutThereIsNotSeen() throws IOException {
        Path installs = Files.createDirectories(layout.installs(ID));
        Files.createDirectory(installs.resolve("ops-agent_without-marker"));
        Files.writeString(installs.resolve("ops-agent_file"), "");
        Path elsewhere = Files.createDirectory(temp.resolve("ops-agent_elsewhere"));
        Files.write(elsewhere.resolve(InstallationMarker.FILE), marker(ID, "1", "ops-agent_elsewhere"));
        Files.createSymbolicLink(installs.resolve("ops-agent_elsewhere"), elsewhere);
        Files.createSymbolicLink(installs.resolve("other"), elsewhere);

        assertEquals(Observation.seen(ImmutableList.of()), observer.installations(ID));
        assertEquals(Observation.seen(ImmutableSet.of()), observer.traces());
    }

    @Test
    void aCopyOfAnInstallationIsNotAnInstallation() throws IOException {
        Path copy = Files.createDirectories(layout.install(ID, "ops-agent_1.bak"));
        Files.write(copy.resolve(InstallationMarker.FILE), marker(ID, "1", "ops-agent_1"));

        assertEquals(Observation.seen(ImmutableList.of()), observer.installations(ID));
    }

    @Test
    void aMarkerOfAnotherKindInThisKindsDirectoryIsNotSeen() throws IOException {
        Path directory = Files.createDirectories(layout.install(ID, "ops-agent_1"));
        Files.write(
                directory.resolve(InstallationMarker.FILE),
                marker(WorkloadId.process("ops-agent"), "1", "ops-agent_1"));

        assertEquals(Observation.seen(ImmutableList.of()), observer.installations(ID));
        assertEquals(Observation.seen(ImmutableSet.of()), observer.traces());
    }

    @Test
    void hostileMarkersAreNotSeen() throws IOException {
        String good = new String(marker(ID, "1", "ops-agent_1"), StandardCharsets.UTF_8);
        ImmutableList<String> hostile = ImmutableList.of(
                "",
                "{",
                "[]",
                "null",
                good + "{}",
                good.replace("\"formatVersion\":\"1\"", "\"formatVersion\":\"2\""),
                good.replace("\"formatVersion\":\"1\"", "\"formatVersion\":1"),
                good.replace("\"name\":\"ops-agent\"", "\"name\":\"../../etc\""),
                good.replace("\"name\":\"ops-agent\"", "\"name\":\"ops-agent\",\"name\":\"ops-agent\""),
                good.replace("ops-agent_1", "ops-agent_1/../x"),
                good.replace("ops-agent_1", "other_1"),
                good.replace(KEY, "../../" + KEY),
                good.replace(SHA256, "x"),
                good.replace("\"revision\":\"1\"", "\"revision\":\"\""),
                good.replace("Plugin", "Daemon"),
                "[".repeat(100_000),
                good + " ".repeat(InstallationMarker.MAX_BYTES));
        Path file = Files.createDirectories(layout.install(ID, "ops-agent_1")).resolve(InstallationMarker.FILE);
        Files.writeString(file, good);
        assertEquals(1, seen(observer.installations(ID)).size(), "the marker that the others are made of is good");

        for (String text : hostile) {
            Files.writeString(file, text);
            assertEquals(Observation.seen(ImmutableList.of()), observer.installations(ID), text);
        }
    }

    @Test
    void aMarkerThatIsASymlinkOrADirectoryIsNotSeen() throws IOException {
        Path directory = Files.createDirectories(layout.install(ID, "ops-agent_1"));
        Path real = Files.write(temp.resolve("marker"), marker(ID, "1", "ops-agent_1"));
        Files.createSymbolicLink(directory.resolve(InstallationMarker.FILE), real);
        Files.createDirectories(layout.install(ID, "ops-agent_2").resolve(InstallationMarker.FILE));

        assertEquals(Observation.seen(ImmutableList.of()), observer.installations(ID));
    }

    @Test
    void aFifoInTheMarkersPlaceIsNotWaitedFor() throws Exception {
        Path directory = Files.createDirectories(layout.install(ID, "ops-agent_1"));
        Process mkfifo = new ProcessBuilder(
                        "mkfifo", directory.resolve(InstallationMarker.FILE).toString())
                .start();
        assertEquals(0, mkfifo.waitFor());

        assertEquals(Observation.seen(ImmutableList.of()), observer.installations(ID));
    }
}
