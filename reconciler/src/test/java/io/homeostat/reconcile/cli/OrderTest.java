package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workloads that depend on each other, or wait for their window, with real processes that tell when they begin and end. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class OrderTest {
    private static final WorkloadId WEB = WorkloadId.process("web");
    private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("HH:mm");

    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    @Test
    void whatDependsOnOthersIsStartedAfterThemAndStoppedBeforeThem() throws IOException {
        shell.write("all.yaml", teller("web", "dependsOn: [process/db]") + teller("db", ready("db")));

        Result applied = apply("all.yaml");
        assertEquals(0, applied.status(), applied::toString);
        assertEquals(List.of("db begins", "web begins"), told());

        Result deleted = shell.run("delete", "process/db", "process/web");
        assertEquals(0, deleted.status(), deleted::toString);
        assertEquals(List.of("db begins", "web begins", "web ends", "db ends"), told());
    }

    @Test
    void withoutAnAgentWhatConcernsOthersIsDoneWithoutTouchingThem() throws IOException {
        shell.write("all.yaml", Shell.sleeper("web", 600) + "  dependsOn: [process/db]\n" + Shell.sleeper("db", 600));
        assertEquals(0, apply("all.yaml").status());
        long web = shell.pid(WEB);

        for (String[] words : new String[][] {
            {"stop", "process/db"}, {"start", "process/db"}, {"stop", "process/web"}, {"start", "process/web"}
        }) {
            Result result = shell.run(words);
            assertEquals(0, result.status(), result::toString);
            assertEquals("", result.err());
            if (words[1].equals("process/db")) {
                assertEquals(web, shell.pid(WEB));
            }
        }
        Result deleted = shell.run("delete", "process/db");
        assertEquals(
                "homeostat: process/web depends on process/db, which was deleted: it is not started again until that is"
                        + " declared\n",
                deleted.err());
        assertTrue(deleted.out().contains("process/db   removed"), deleted::toString);
        deleted = shell.run("delete", "process/web");
        assertEquals(0, deleted.status(), deleted::toString);
        assertEquals("", deleted.err());
    }

    @Test
    void whatFailsKeepsEverybodyAfterItFromBeingStartedAndApplyDoesNotWaitForThem() throws IOException {
        shell.write(
                "all.yaml",
                teller("web", "dependsOn: [process/middle]")
                        + teller("middle", "dependsOn: [process/db]")
                        + Shell.sleeper("db", 600).replace("/bin/sleep", "/nowhere/db"));

        Result applied = shell.run("apply", "-f", directory.resolve("all.yaml").toString(), "--timeout", "10m");

        assertEquals(1, applied.status(), applied::toString);
        assertTrue(applied.out().contains("process/db does not become well"), applied.out());
        assertTrue(applied.out().contains("process/middle does not become well"), applied.out());
        assertFalse(Files.exists(directory.resolve("told")), "somebody was started");
        assertTrue(shell.run("status", "process/web").out().contains("process/middle does not become well"));
    }

    @Test
    void aDependencyThatSucceedsAtItsSecondTryIsWaitedFor() throws IOException {
        Path tried = directory.resolve("tried");
        shell.write("db.sh", "if [ ! -e %s ]; then touch %s; exit 1; fi; exec sleep 600".formatted(tried, tried));
        String db = Shell.sleeper("db", 600)
                .replace("/bin/sleep", "/bin/sh")
                .replace("\"600\"", "\"" + directory.resolve("db.sh") + "\"");
        shell.write("all.yaml", teller("web", "dependsOn: [process/db]") + db);

        Result applied = apply("all.yaml");

        assertEquals(0, applied.status(), applied::toString);
        assertEquals(List.of("web begins"), told());
    }

    @Test
    void aOneShotThatFailedIsWaitedForWhenItIsRunAgain() throws IOException {
        Path cause = directory.resolve("repaired");
        shell.write(
                "all.yaml",
                teller("web", "dependsOn: [process/db]")
                        + teller("db", "dependsOn: [process/init]")
                        + """
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: init}
                spec:
                  install: local
                  entryPoint: /usr/bin/test
                  arguments: ["-e", "%s"]
                  execution: {type: oneShot, triggers: {startup: true}}
                """.formatted(cause));
        Result failed = apply("all.yaml");
        assertEquals(1, failed.status(), failed::toString);
        assertTrue(failed.out().contains("process/init does not become well"), failed.out());

        Files.createFile(cause);
        String plan = shell.run("plan", "-f", directory.resolve("all.yaml").toString())
                .out();
        assertFalse(plan.contains("does not become well"), plan);
        Result applied = apply("all.yaml");
        assertEquals(0, applied.status(), applied::toString);
        assertFalse(applied.out().contains("does not become well"), applied.out());
        assertEquals(List.of("db begins", "web begins"), told());
    }

    @Test
    void outsideItsWindowItRunsOnAsItDidAndSaysUntilWhen() throws IOException {
        ZonedDateTime opens = ZonedDateTime.now(ZoneOffset.UTC).plusHours(12);
        String closed = "maintenanceWindow: {start: \"%s\", duration: 1h}".formatted(CLOCK.format(opens));
        shell.write("web.yaml", Shell.sleeper("web", 600) + "  " + closed + "\n");
        assertEquals(0, apply("web.yaml").status(), "a first installation waits for no window");
        long pid = shell.pid(WEB);

        shell.write("web.yaml", Shell.sleeper("web", 601) + "  " + closed + "\n");
        Result waiting = apply("web.yaml");
        assertEquals(1, waiting.status(), waiting::toString);
        String until =
                "its maintenance window is closed; no agent runs that would try again, the next homeostat apply of it does, from "
                        + opens.format(DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:'00Z'")) + " on";
        assertTrue(waiting.out().contains("process/web  waiting: "), waiting.out());
        assertTrue(waiting.out().contains(until), waiting.out());
        assertTrue(waiting.out().contains(" 0 removed, 1 waiting, 0 unchanged."), waiting.out());
        assertTrue(shell.run("plan").out().contains(until));
        assertTrue(shell.run("status", "process/web").out().contains(until));
        assertEquals(pid, shell.pid(WEB));

        shell.write(
                "web.yaml",
                Shell.sleeper("web", 601)
                        + "  maintenanceWindow: {start: \"%s\", duration: 20h}\n"
                                .formatted(CLOCK.format(opens.minusHours(21))));
        Result open = apply("web.yaml");
        assertEquals(0, open.status(), open::toString);
        assertFalse(ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false));
    }

    private Result apply(String file) {
        return shell.run("apply", "-f", directory.resolve(file).toString());
    }

    private List<String> told() throws IOException {
        return Files.readAllLines(directory.resolve("told"));
    }

    /** Is well once it has said that it begins. */
    private String ready(String name) {
        return "probe: {exec: {command: [/bin/grep, -q, %s begins, %s]}}".formatted(name, directory.resolve("told"));
    }

    private String teller(String name, String more) {
        Path told = directory.resolve("told");
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  arguments:
                    - "-c"
                    - |
                      trap 'echo %s ends >> %s; kill $!; exit' TERM
                      echo %s begins >> %s
                      sleep 600 & wait
                  stop: {timeout: 5s}
                  %s
                """.formatted(name, name, told, name, told, more);
    }
}
