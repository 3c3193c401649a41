package io.homeostat.reconcile.command.output;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.channel.ChannelStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.controlplane.ControlPlane.ControlPlaneStatus;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What people see of the connection with the control plane. */
class StatusOfControlPlaneTest {
    private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");

    @Test
    void aConnectionIsShownWithItsAgeAndWhatIsUnderWay() {
        assertEquals(
                "control plane: unix:/run/acs.sock, connected for 5m0s, last heard 2s ago, 1 unacknowledged, 3 events queued",
                line(new ControlPlaneStatus(
                        channel(NOW.minusSeconds(300), NOW.minusSeconds(2), "an old error"), 3, 0, 0, 0)));
    }

    @Test
    void whyThereIsNoneIsShownInOneLineWithWhatWasLost() {
        assertEquals(
                "control plane: unix:/run/acs.sock, not connected, 1 unacknowledged, 3 events queued, 4 dropped, 5 refused, 6 refusals withheld: no such?file",
                line(new ControlPlaneStatus(channel(null, null, "no such\u001bfile"), 3, 4, 5, 6)));
    }

    private static ChannelStatus channel(@Nullable Instant since, @Nullable Instant heard, String error) {
        return new ChannelStatus("unix:/run/acs.sock", since, heard, 1, error);
    }

    private static String line(ControlPlaneStatus status) {
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        StatusText.controlPlane(
                status,
                NOW,
                new Console(
                        new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8),
                        new PrintStream(err, false, StandardCharsets.UTF_8),
                        OutputFormat.TEXT,
                        new Ansi(false)));
        return err.toString(StandardCharsets.UTF_8).strip();
    }
}
