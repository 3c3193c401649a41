package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Limits hold, where this machine lets us limit: as root, with control groups of either version. */
final class LimitsTest {
    private static final long NANOS_A_TICK = Duration.ofMillis(10).toNanos();

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void aProgramThatNeedsMoreMemoryThanItMayIsKilledAndTheCauseIsSaid() {
        String go = homeostat.directory().resolve("go").toString();
        Document hungry = Document.script(
                        "hungry",
                        "while [ ! -e " + go + " ]; do sleep 0.1; done; dd if=/dev/zero of=/dev/null bs=200M count=1")
                .with("limits.memory", "64Mi");
        applyLimited(hungry);
        homeostat.end("process/hungry", _ -> homeostat.file("go", ""));

        JsonNode exit = homeostat.status("process/hungry").get("lastExit");

        assertEquals("OOM_KILLED", exit.get("reason").asText(), exit.toString());
        homeostat.run("plan").says("(drift: ").says("status 137").says("memory");
    }

    @Test
    void aProgramGetsNoMoreProcessorTimeThanItMay() throws IOException {
        applyLimited(Document.script("busy", "while :; do :; done").with("limits.cpu", "20%"));
        long pid = homeostat.pid("process/busy");
        long ticks = ticks(pid);
        long start = System.nanoTime();
        eventually().pollInterval(Duration.ofMillis(50)).until(() -> System.nanoTime() - start > 3_000_000_000L);

        double share = (double) (ticks(pid) - ticks) * NANOS_A_TICK / (System.nanoTime() - start);

        // Twenty percent, and what one more period may bring.
        assertTrue(share < 0.3, () -> "it got " + share + " of a core");
    }

    @Test
    void limitsThatAreChangedHoldForTheProcessThatRuns() {
        Document web = Document.script("web", "exec sleep 1000");
        applyLimited(web.with("limits.memory", "64Mi"));
        long pid = homeostat.pid("process/web");

        homeostat.apply(web.with("limits.memory", "96Mi")).exits(0).says("configured");

        assertEquals(pid, homeostat.pid("process/web"));
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    @Test
    void whatMustNotRunWithoutLimitsSaysWhatItLacks() {
        Document web =
                Document.script("web", "exec sleep 1000").with("limits", Map.of("memory", "64Mi", "required", true));
        Result applied = homeostat.apply(web);
        assumeTrue(applied.exit() != 0, "this machine can limit");

        applied.says("limits.required is true").says("Delegate=yes");
        assertEquals(0, homeostat.processes("process/web").size());
        assertEquals(
                "LIMITS_NOT_ENFORCEABLE",
                homeostat.plan().at("/changes/0/reason").asText());
    }

    private void applyLimited(Document document) {
        homeostat.applied(document);
        String limited = Homeostat.condition(homeostat.status(document.id()), "LimitsNotEnforced");
        assumeTrue(limited.equals("absent"), "this machine does not let us limit");
    }

    /** Processor time that a process has used, user and system, proc_pid_stat(5). */
    private static long ticks(long pid) throws IOException {
        String line = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
        String[] words = line.substring(line.lastIndexOf(')') + 2).split(" ", -1);
        return Long.parseLong(words[11]) + Long.parseLong(words[12]);
    }
}
