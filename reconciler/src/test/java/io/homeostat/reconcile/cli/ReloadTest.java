package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A program that reads its file again when it is told to, by commands, without an agent. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class ReloadTest {
    private static final WorkloadId WEB = WorkloadId.process("web");

    @TempDir
    Path directory;

    private Shell shell;
    private Path conf;
    private Path read;

    @BeforeEach
    void openShell() throws IOException {
        shell = new Shell(directory);
        conf = shell.write("web.conf", "one");
        read = directory.resolve("read");
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    private String document(String reload) {
        return """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  arguments: ["-c", "trap 'cat %s >> %s' HUP; while :; do sleep 0.1; done"]
                  env: {WEB_TOKEN: s3cr3t-s3cr3t}
                  stop: {timeout: 5s}
                  health: {timeout: 20s}
                """.formatted(conf, read) + reload;
    }

    private String bySignal() {
        return document("  reload: {signal: SIGHUP, watch: [" + conf + "]}\n");
    }

    private String byCommand(String script) {
        return document(
                "  reload:\n    exec: {command: [sh, \"-c\", \"" + script + "\"]}\n    watch: [" + conf + "]\n");
    }

    private Result apply(String document) throws IOException {
        return shell.run("apply", "-f", shell.write("web.yaml", document).toString());
    }

    private String events() {
        return shell.run("events").out();
    }

    @Test
    void aChangedFileIsShownByPlanAndReloadedOnceByApplyWithoutARestart() throws IOException {
        assertEquals(0, apply(bySignal()).status());
        long pid = shell.pid(WEB);
        assertEquals(0, shell.run("plan", "--detailed-exitcode").status());

        Files.writeString(conf, "two");

        Result plan = shell.run("plan", "--detailed-exitcode");
        assertEquals(2, plan.status(), plan::toString);
        assertTrue(plan.out().contains("~ process/web"), plan.out());
        assertTrue(plan.out().contains("(watched file changed: " + conf + ")"), plan.out());
        assertTrue(shell.run("status", "process/web").out().contains("reload (watched file changed"));
        Result applied = apply(bySignal());
        assertEquals(0, applied.status(), applied::toString);
        assertTrue(applied.out().contains("reloaded (watched file changed: " + conf + ")"), applied.out());
        await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> assertEquals("two", Files.readString(read)));
        assertEquals(pid, shell.pid(WEB));
        assertTrue(events().contains("watched file changed: " + conf + "; told by SIGHUP"), events());

        assertTrue(apply(bySignal()).out().contains("1 unchanged"));
        assertEquals("two", Files.readString(read));
    }

    @Test
    void aFileThatIsAwayIsNoChangeAndSaidInStatus() throws IOException {
        assertEquals(0, apply(bySignal()).status());

        Files.delete(conf);
        assertEquals(0, shell.run("plan", "--detailed-exitcode").status());
        Result status = shell.run("status", "process/web");
        assertEquals(0, status.status(), status::toString);
        assertTrue(status.out().contains("watched file " + conf + " can't be read: it does not exist"), status.out());

        Files.writeString(conf, "one");
        assertEquals(0, shell.run("plan", "--detailed-exitcode").status());
        Files.writeString(conf, "two");
        assertEquals(2, shell.run("plan", "--detailed-exitcode").status());
    }

    @Test
    void anotherWayToReloadIsAnUpdateInPlaceWithoutAReload() throws IOException {
        assertEquals(0, apply(document("")).status());
        long pid = shell.pid(WEB);

        Result first = apply(bySignal());
        Result second = apply(byCommand("exit 1"));

        assertTrue(first.out().contains("updated (spec.reload.signal"), first.out());
        assertTrue(second.out().contains("updated (spec.reload"), second.out());
        assertEquals(pid, shell.pid(WEB));
        assertFalse(events().contains("RELOAD"), events());
    }

    @Test
    void aCommandRunsInTheEnvironmentOfTheProgram() throws IOException {
        assertEquals(0, apply(byCommand("env > " + read)).status());
        Files.writeString(conf, "two");

        assertEquals(0, apply(byCommand("env > " + read)).status());

        String environment = Files.readString(read);
        assertTrue(environment.contains("WEB_TOKEN=s3cr3t-s3cr3t"), environment);
        assertTrue(environment.contains("HOMEOSTAT_WORKLOAD=process/web"), environment);
        assertTrue(environment.contains("LANG=C.UTF-8"), environment);
    }

    @Test
    void aCommandIsFoundAlongThePathOfTheProgram() throws IOException {
        Path bin = Files.createDirectory(directory.resolve("bin"));
        Path own = Files.writeString(bin.resolve("true"), "#!/bin/sh\necho own > " + read + "\n");
        assertTrue(own.toFile().setExecutable(true));
        String document = byCommand("")
                .replaceFirst("command: .*}", "command: [\"true\"]}")
                .replace("env: {", "env: {PATH: \"" + bin + ":/usr/bin:/bin\", ");
        assertEquals(0, apply(document).status());
        Files.writeString(conf, "two");

        assertEquals(0, apply(document).status());

        assertEquals("own\n", Files.readString(read));
    }

    @Test
    void aCommandThatFailsIsNamedWithWhatItSaidAndWhatRunsGoesOn() throws IOException {
        String document = byCommand("echo $WEB_TOKEN; echo port is wrong; grep -q good " + conf);
        assertEquals(0, apply(document).status());
        long pid = shell.pid(WEB);
        Files.writeString(conf, "bad");

        Result failed = apply(document);

        String why = "the command sh exited with status 1; it said: (masked) | port is wrong";
        assertEquals(1, failed.status(), failed::toString);
        assertTrue((failed.out() + failed.err()).contains(why), failed::toString);
        Result status = shell.run("status", "process/web");
        assertEquals(1, status.status(), status::toString);
        assertTrue(status.out().contains("RUNNING"), status.out());
        assertTrue(status.out().contains(why), status.out());
        String wait = "could not reload it: " + why + "; no agent runs that would try again";
        for (Result shown : List.of(shell.run("plan"), status, shell.run("describe", "process/web"))) {
            assertTrue(shown.out().contains(wait), shown.out());
        }
        assertTrue(events().contains("RELOAD_FAILED"), events());
        assertEquals(pid, shell.pid(WEB));

        Files.writeString(conf, "good");
        assertEquals(0, apply(document).status());
        assertEquals(0, shell.run("status").status());
        assertEquals(pid, shell.pid(WEB));
    }

    @Test
    void aCommandThatTakesTooLongIsEndedWithAllThatItStarted() throws IOException {
        Path child = directory.resolve("child");
        String document = byCommand("echo waiting; sleep 1000 & echo $! > " + child + "; wait")
                .replace("timeout: 20s", "timeout: 1s");
        assertEquals(0, apply(document).status());
        Files.writeString(conf, "two");

        Result failed = apply(document);

        assertEquals(1, failed.status(), failed::toString);
        assertTrue(
                (failed.out() + failed.err()).contains("did not end within 1s and was killed; it said: waiting"),
                failed::toString);
        long pid = Long.parseLong(Files.readString(child).strip());
        await().atMost(Duration.ofSeconds(30))
                .until(() -> !ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false));
    }

    @Test
    void aSignalThatWouldEndTheProgramIsNotSent() throws IOException {
        String sleeper = Shell.sleeper("web", 600) + "  reload: {signal: SIGHUP, watch: [" + conf + "]}\n";
        assertEquals(0, apply(sleeper).status());
        long pid = shell.pid(WEB);
        Files.writeString(conf, "two");

        Result failed = apply(sleeper);

        assertEquals(1, failed.status(), failed::toString);
        assertTrue(
                (failed.out() + failed.err()).contains("process/web does not handle SIGHUP and was not sent it"),
                failed::toString);
        assertEquals(pid, shell.pid(WEB));
        assertTrue(ProcessHandle.of(pid).orElseThrow().isAlive());
    }
}
