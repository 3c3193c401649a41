package io.homeostat.observe.install;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.Observation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A machine on which things are installed, and who looks at them. */
abstract class InstalledMachine {
    static final String KEY = "a".repeat(64);
    static final String SHA256 = "b".repeat(64);
    static final String UNVERIFIED = "unverified-" + "c".repeat(64);
    static final WorkloadId ID = WorkloadId.plugin("ops-agent");

    @TempDir
    Path temp;

    Layout layout;
    InstallationObserver observer;

    @BeforeEach
    void setUp() {
        layout = new Layout(temp.resolve("state"), temp.resolve("run"), "instance");
        observer = new InstallationObserver(layout);
    }

    Installation install(WorkloadId id, String revision, String directory) throws IOException {
        Path place = Files.createDirectories(layout.install(id, directory));
        Files.write(place.resolve(InstallationMarker.FILE), marker(id, revision, directory));
        return new Installation(directory, revision, KEY, SHA256);
    }

    static byte[] marker(WorkloadId id, String revision, String directory) {
        return new InstallationMarker(id, new Installation(directory, revision, KEY, SHA256), "").toJson();
    }

    @SuppressWarnings("unchecked")
    static <T> T seen(Observation<T> observation) {
        return ((Observation.Seen<T>) assertInstanceOf(Observation.Seen.class, observation)).value();
    }

    static void assertUnseen(Observation<?> observation, String expected) {
        String why = assertInstanceOf(Observation.Unseen.class, observation).why();
        assertTrue(why.contains(expected), why);
    }
}
