package io.homeostat.reconcile.runtime.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.ProcFs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DriverOutputsTest {
    private static final String HANDSHAKE = "1|2|unix|/run/plugin|grpc|";

    @TempDir
    Path temp;

    private long nanos;
    private Path output;
    private DriverOutputs outputs;

    @BeforeEach
    void setUp() throws Exception {
        Layout layout = new Layout(temp.resolve("state"), temp.resolve("run"), "i");
        outputs = new DriverOutputs(new LaunchDirectories(layout, new ProcFs()), () -> nanos);
        output = new LaunchDirectory(layout.launch(new WorkloadId(Kind.DRIVER, "runner"), "l1")).outputFile();
        Files.createDirectories(output.getParent());
        Files.writeString(output, HANDSHAKE + "\n");
    }

    @Test
    void whatADriverPrintsIsGivenUpButForItsHandshake() throws Exception {
        print(DriverOutputs.BOUND);

        outputs.bound();

        assertEquals(Handshake.LONGEST, Files.size(output));
        assertEquals(HANDSHAKE, Handshake.line(output).orElseThrow());
        print(10);
        assertEquals(Handshake.LONGEST + 10, Files.size(output));
    }

    @Test
    void whatIsWithinBoundsStays() throws Exception {
        print(1000);
        long size = Files.size(output);

        outputs.bound();

        assertEquals(size, Files.size(output));
    }

    @Test
    void itIsLookedAtNowAndThen() throws Exception {
        outputs.bound();
        print(DriverOutputs.BOUND);

        outputs.bound();
        assertTrue(Files.size(output) > DriverOutputs.BOUND);

        nanos += Duration.ofMinutes(1).toNanos();
        outputs.bound();
        assertEquals(Handshake.LONGEST, Files.size(output));
    }

    @Test
    void aLinkInItsPlaceIsLeftAlone() throws Exception {
        Path precious = Files.write(temp.resolve("precious"), new byte[(int) DriverOutputs.BOUND + 1]);
        Files.delete(output);
        Files.createSymbolicLink(output, precious);

        outputs.bound();

        assertEquals(DriverOutputs.BOUND + 1, Files.size(precious));
    }

    @Test
    void aFifoInItsPlaceIsNotWaitedFor() throws Exception {
        Files.delete(output);
        assertEquals(0, new ProcessBuilder("mkfifo", output.toString()).start().waitFor());

        assertTimeoutPreemptively(Duration.ofSeconds(30), outputs::bound);
    }

    private void print(long bytes) throws Exception {
        Files.write(output, new byte[(int) bytes], StandardOpenOption.APPEND);
    }
}
