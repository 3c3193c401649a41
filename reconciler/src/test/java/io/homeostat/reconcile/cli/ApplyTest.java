package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.sqlite.StateLock;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.cli.Shell.Result;
import io.homeostat.reconcile.command.environment.AgentFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands that change the machine, with real processes that sleep. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ApplyTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final ObjectMapper JSON = new ObjectMapper();

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
    void applyStartsWhatIsDeclaredAndASecondOneChangesNothing() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        Result first = apply();
        assertEquals(0, first.status(), first.err());
        assertEquals(
                "process/a  installed local\nApply: 1 installed, 0 updated, 0 repaired, 0 removed, 0 unchanged.\n",
                first.out());
        assertEquals("", first.err());
        long pid = shell.pid(A);
        assertTrue(ProcessHandle.of(pid).isPresent());
        Map<String, String> before = listing();

        Result second = apply();
        assertEquals(0, second.status(), second.err());
        assertEquals("Apply: 0 installed, 0 updated, 0 repaired, 0 removed, 1 unchanged.\n", second.out());
        assertEquals(pid, shell.pid(A));
        assertEquals(before.keySet(), listing().keySet());
    }

    @Test
    void theFailedRunOfACalendarStaysTheLastOneUntilThereIsAnother() throws IOException {
        shell.write("a.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec:
                  install: local
                  entryPoint: /bin/false
                  execution: {type: oneShot, triggers: {schedule: {cron: "0 0 29 2 *"}}}
                """);
        Result first = shell.run("plan", "-f", directory + "/a.yaml");
        assertTrue(
                first.out().contains("+ process/a                 declare                       (newly declared)"),
                first.out());
        assertTrue(first.out().contains("1 to install, 0 to update"), first.out());
        Result declared = apply();
        assertEquals(
                "process/a  declared\nApply: 1 installed, 0 updated, 0 repaired, 0 removed, 0 unchanged.\n",
                declared.out());
        assertEquals(1, shell.run("trigger", "process/a").status());

        Result plan = shell.run("plan", "-f", directory + "/a.yaml");
        assertTrue(plan.out().contains("homeostat trigger process/a does it now"), plan.out());
        Result again = apply();

        assertEquals(1, again.status(), again.out());
        assertTrue(again.out().contains("homeostat trigger process/a does it now"), again.out());
        Result status = shell.run("status", "process/a", "-o", "json");
        assertEquals(1, status.status(), status.out());
        JsonNode failed = JSON.readTree(status.out()).at("/workloads/0");
        assertEquals("EXECUTION_FAILED", failed.at("/state").asText());
        assertEquals(1, failed.at("/execution/lastRun/exit/code").asInt());
    }

    @Test
    void otherArgumentsRestartTheProcess() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        apply();
        long before = shell.pid(A);
        shell.write("a.yaml", Shell.sleeper("a", 601));
        Result plan = shell.run("plan", "-f", directory + "/a.yaml", "--detailed-exitcode");
        assertEquals(2, plan.status());
        assertTrue(
                plan.out()
                        .startsWith(
                                "  ~ process/a                 restart                       (arguments changed)\n"),
                plan.out());

        Result result = apply();
        assertEquals(0, result.status(), result.err());
        assertEquals(
                "process/a  restarted (arguments changed)\nApply: 0 installed, 1 updated, 0 repaired, 0 removed, 0 unchanged.\n",
                result.out());
        assertNotEquals(before, shell.pid(A));
        assertFalse(ProcessHandle.of(before).isPresent());
    }

    @Test
    void aKilledProcessIsDriftAndRepaired() throws Exception {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        apply();
        ProcessHandle process = ProcessHandle.of(shell.pid(A)).orElseThrow();
        process.destroyForcibly();
        process.onExit().get(10, TimeUnit.SECONDS);
        Result plan = shell.run("plan");
        assertTrue(plan.out().contains("! process/a                 restart"), plan.out());
        assertTrue(plan.out().contains("(drift: process was ended by signal 9 (SIGKILL))"), plan.out());
        Result status = shell.run("status", "-o", "json");
        assertEquals(1, status.status());
        JsonNode workload = JSON.readTree(status.out()).get("workloads").get(0);
        assertEquals("CRASHED", workload.get("state").asText());
        assertEquals(9, workload.get("lastExit").get("signal").asInt());
        String at = workload.get("lastExit").get("at").asText();
        assertTrue(at.matches(".*:\\d\\d(\\.\\d{3})?Z"), at);

        Result result = apply();
        assertEquals(0, result.status(), result.err());
        assertTrue(
                result.out().startsWith("process/a  restarted (process was ended by signal 9 (SIGKILL))\n"),
                result.out());
        assertEquals(
                1,
                JSON.readTree(shell.run("status", "-o", "json").out())
                        .get("workloads")
                        .get(0)
                        .get("restarts")
                        .asInt());
    }

    @Test
    void whatSomebodyHasStoppedIsNoBusinessOfWhoAppliesSomethingElse() throws IOException {
        shell.write("b.yaml", Shell.sleeper("b", 600));
        assertEquals(0, shell.run("apply", "-f", directory + "/b.yaml").status());
        assertEquals(0, shell.run("stop", "process/b").status());
        shell.write("a.yaml", Shell.sleeper("a", 600));

        Result others = apply();

        assertEquals(0, others.status(), others.toString());
        assertFalse(others.err().contains("process/b"), others.toString());
        String status = shell.run("status", "process/b").out();
        assertTrue(
                Pattern.compile("Last exit: +was stopped, at [-0-9T:]{19}Z")
                        .matcher(status)
                        .find(),
                status);
    }

    @Test
    void theExitStatusIsAboutWhatWasGivenAndWhatThatDependsOn() throws IOException {
        String ends = Shell.sleeper("b", 600).replace("/bin/sleep", "/nonexistent");
        shell.write("b.yaml", ends);
        assertEquals(1, shell.run("apply", "-f", directory + "/b.yaml").status());
        shell.write("a.yaml", Shell.sleeper("a", 600));

        Result others = apply();

        assertEquals(0, others.status(), others.toString());
        assertTrue(
                others.err().contains("process/b: not as declared; the exit status of this apply is not about that"),
                others.toString());
        assertFalse(others.out().contains("process/b"), others.toString());
        assertTrue(
                others.out().contains("1 installed, 0 updated, 0 repaired, 0 removed, 0 unchanged."),
                others.toString());
        shell.write("a.yaml", Shell.sleeper("a", 600) + "  dependsOn: [process/b]\n");
        Result dependent = apply();
        assertEquals(1, dependent.status(), dependent.toString());
    }

    @Test
    void planAndStatusTouchNothing() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        Map<String, String> empty = listing();
        assertEquals(0, shell.run("plan", "-f", directory + "/a.yaml").status());
        assertEquals(3, shell.run("status").status());
        assertEquals(0, shell.run("events").status());
        assertEquals(empty, listing());

        apply();
        shell.write("a.yaml", Shell.sleeper("b", 601));
        Map<String, String> before = listing();
        Result plan = shell.run("plan", "-f", directory + "/a.yaml", "--prune");
        assertTrue(
                plan.out().endsWith("Plan: 1 to install, 0 to update, 0 to repair, 1 to remove, 0 unchanged.\n"),
                plan.out());
        shell.run("status");
        shell.run("events");
        shell.run("logs", "process/a");
        assertEquals(before, listing());
        Result without = shell.run("plan", "-f", directory + "/a.yaml");
        assertTrue(
                without.out().endsWith("Plan: 1 to install, 0 to update, 0 to repair, 0 to remove, 1 unchanged.\n"),
                without.out());
    }

    @Test
    void pruneRemovesWhatTheSamePathNoLongerDeclares() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600) + Shell.sleeper("b", 600));
        shell.write("other.yaml", Shell.sleeper("other", 600));
        apply();
        assertEquals(0, shell.run("apply", "-f", directory + "/other.yaml").status());
        shell.write("a.yaml", Shell.sleeper("a", 600));
        Result kept = apply();
        assertTrue(kept.out().endsWith("3 unchanged.\n"), kept.out());
        Result pruned = shell.run("apply", "-f", directory + "/a.yaml", "--prune");
        assertEquals(0, pruned.status(), pruned.err());
        assertEquals(
                "process/b      removed local\nApply: 0 installed, 0 updated, 0 repaired, 1 removed, 2 unchanged.\n",
                pruned.out());
    }

    @Test
    void deleteStopsAndRemoves() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        apply();
        long pid = shell.pid(A);
        Result result = shell.run("delete", "Process/a");
        assertEquals(0, result.status(), result.err());
        assertEquals(
                "process/a  removed local\nDelete: 0 installed, 0 updated, 0 repaired, 1 removed, 0 unchanged.\n",
                result.out());
        assertFalse(ProcessHandle.of(pid).isPresent());
        assertTrue(
                listing().keySet().stream().noneMatch(path -> path.endsWith("/a")),
                listing().toString());
        Result status = shell.run("status");
        assertEquals(0, status.status());
        assertEquals("homeostat: nothing is declared\n", status.err());
    }

    @Test
    void archivesThatNobodyHasNeededForADayGoWithTheNextChange() throws IOException {
        Path archive = shell.layout().archive("a".repeat(64));
        Files.createDirectories(archive.getParent());
        Files.writeString(archive, "of a revision long gone");
        Files.setLastModifiedTime(archive, FileTime.from(Instant.now().minus(Duration.ofHours(25))));
        Path recent = Files.writeString(shell.layout().archive("b".repeat(64)), "of the one before");
        shell.write("a.yaml", Shell.sleeper("a", 600));

        assertEquals(0, apply().status());

        assertFalse(Files.exists(archive));
        assertTrue(Files.exists(recent));
    }

    @Test
    void deletingWhatIsNotThereNamesWhatIs() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        apply();
        Result result = shell.run("delete", "process/b");
        assertEquals(1, result.status());
        assertEquals(
                "homeostat: delete: process/b was not applied, so nothing was deleted; declared are: process/a\n",
                result.err());
    }

    @Test
    void nothingIsStoredWhenAFileIsWrong() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600) + "---\nkind: Nonsense\n");
        Result result = apply();
        assertEquals(1, result.status());
        assertEquals("", result.out());
        assertTrue(result.err().contains("so nothing was stored or changed"), result.err());
        assertEquals(3, shell.run("status").status());
    }

    @Test
    void aProgramThatIsNotThereFailsWithItsReasonAndIsTriedAgainByTheNextApply() throws IOException {
        Path program = directory.resolve("program");
        shell.write(
                "a.yaml",
                Shell.sleeper("a", 600)
                        .replace("/bin/sleep", program.toString())
                        .replace("stop:", "start: {attempts: 1}\n  stop:"));
        Result result = apply();
        assertEquals(1, result.status());
        assertTrue(result.out().contains("process/a  failed: "), result.out());
        assertTrue(result.out().contains(program + " does not exist"), result.out());
        assertTrue(
                result.out().endsWith("Apply: 0 installed, 0 updated, 0 repaired, 0 removed, 1 failed, 0 unchanged.\n"),
                result.out());
        JsonNode status = JSON.readTree(shell.run("status", "-o", "json").out())
                .get("workloads")
                .get(0);
        assertEquals("INSTALL_FAILED", status.get("state").asText());

        Files.createSymbolicLink(program, Path.of("/bin/sleep"));
        Result stored = shell.run("plan");
        assertTrue(stored.out().contains(". process/a"), "left alone for a while: " + stored.out());
        Result foretold = shell.run("plan", "-f", directory + "/a.yaml");
        assertTrue(foretold.out().contains("+ process/a"), "as apply would: " + foretold.out());
        Result again = apply();
        assertEquals(0, again.status(), again.out());
    }

    @Test
    void whoeverComesSecondWaitsAndSaysForWhom() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        try (StateLock _ = StateLock.acquire(
                shell.layout().lock(), "apply", Duration.ofSeconds(5), Clock.systemUTC(), waiting -> {})) {
            Result result = shell.run("apply", "-f", directory + "/a.yaml", "--timeout", "1s");
            assertEquals(1, result.status());
            assertTrue(result.err().contains("homeostat: waiting for "), result.err());
        }
        assertEquals(0, apply().status());
    }

    @Test
    void whoeverWaitsForAnAgentThatStartsAsksItOnceItListens() throws Exception {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        try (StateLock _ = StateLock.acquire(
                        shell.layout().lock(), "run", Duration.ofSeconds(5), Clock.systemUTC(), waiting -> {});
                ExecutorService threads = Executors.newSingleThreadExecutor()) {
            AtomicReference<Thread> waiter = new AtomicReference<>();
            Future<Result> apply = threads.submit(() -> {
                waiter.set(Thread.currentThread());
                return shell.run("apply", "-f", directory + "/a.yaml", "--timeout", "1h");
            });
            await().atMost(Duration.ofMinutes(1))
                    .until(() -> waiter.get() != null
                            && Stream.of(waiter.get().getStackTrace())
                                    .anyMatch(frame -> frame.getClassName().equals(StateLock.class.getName())
                                            && frame.getMethodName().equals("pause")));
            Path nowhere = directory.resolve("no.sock");
            AgentFile.ofThisProcess(nowhere, "1", new ProcFs()).write(shell.layout());

            Result result = apply.get();
            assertEquals(1, result.status());
            assertTrue(result.err().contains(" does not answer: "), result.err());
        }
    }

    /** In one second a busy machine has not even begun. */
    @Test
    void whatIsNotDoneInTimeHasFailed() throws IOException {
        shell.write(
                "a.yaml",
                Shell.sleeper("a", 600).replace("stop:", "probe: {exec: {command: [\"/bin/false\"]}}\n  stop:"));
        Result result = shell.run("apply", "-f", directory + "/a.yaml", "--timeout", "10s");
        assertEquals(1, result.status());
        assertTrue(result.out().contains("process/a  failed: not done within 10s, it was at: "), result.out());
    }

    @Test
    void whatEndsSaysInEveryPlaceWhatItSaidLast() throws IOException {
        String document = """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  arguments: ["-c", "echo starting; echo 'no such table: users' >&2; exit 3"]
                  env: {PASSPHRASE: hunter2-of-a}
                  start: {attempts: 1}
                """;
        shell.write("a.yaml", document);
        Result applied = apply();
        String cause = "process exited with status 3; its log ends with: starting | no such table: users";
        assertEquals(1, applied.status());
        assertTrue(applied.out().contains(cause), applied.out());
        assertTrue(
                applied.out().contains("; no agent runs that would try again, the next homeostat apply of it does"),
                applied.out());
        Result status = shell.run("status", "process/a");
        assertTrue(status.out().contains("Last error: " + cause), status.out());
        assertTrue(status.err().contains("no agent runs"), status.err());
        assertTrue(shell.run("status", "-o", "json").out().contains(cause));
        assertTrue(shell.run("events").out().contains("no such table: users"));

        shell.write("a.yaml", document.replace("echo starting", "echo $PASSPHRASE"));
        Result masked = apply();
        assertTrue(masked.out().contains("its log ends with: (masked) | no such table: users"), masked.out());
    }

    @Test
    void whatEndedAndNobodyHasWrittenDownYetSaysToo() throws Exception {
        Path go = directory.resolve("go");
        shell.write("a.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  arguments: ["-c", "until [ -e %s ]; do sleep 0.05; done; echo no such user $PASSPHRASE; exit 3"]
                  env: {PASSPHRASE: hunter2-of-a}
                """.formatted(go));
        assertEquals(0, apply().status());
        ProcessHandle process = ProcessHandle.of(shell.pid(A)).orElseThrow();
        Files.createFile(go);
        process.onExit().get(10, TimeUnit.SECONDS);

        String cause = "process exited with status 3; its log ends with: no such user (masked)";
        String plan = shell.run("plan").out();
        assertTrue(plan.contains("(drift: " + cause + ")"), plan);
        String status = shell.run("status", "process/a").out();
        assertTrue(status.contains("Last error: " + cause), status);
        String described = shell.run("describe", "process/a").out();
        assertTrue(described.contains("Last error: " + cause), described);
    }

    @Test
    void whatThisMachineCanNotExecuteIsSaidToBeSo() throws IOException {
        Path program = Files.writeString(directory.resolve("program"), "#!/no/such/interpreter\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        shell.write("a.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec: {install: local, entryPoint: %s}
                """.formatted(program));
        String cause = "has a bad interpreter: /no/such/interpreter, named in its first line, does not exist";
        assertTrue(apply().out().contains(cause));
        assertTrue(shell.run("status", "process/a").out().contains(cause));
        assertTrue(shell.run("events").out().contains(cause));
    }

    @Test
    void nothingIsStoredWhereTheRunDirectoryCanNotBeMade() throws IOException {
        String document = shell.write("a.yaml", Shell.sleeper("a", 600)).toString();
        String file = shell.write("run-file", "").toString();

        Result failed = shell.plain("apply", "-f", document, "--state-dir", "state", "--run-dir", file);

        assertEquals(1, failed.status(), failed::toString);
        Result status = shell.run("status");
        assertEquals(3, status.status(), status::toString);
    }

    @Test
    void trainingRunsEverythingAndSaysNothing() {
        assertEquals(new Result(0, "", ""), shell.plain("self-train"));
    }

    @Test
    void trainingIsNotOfWhatIsConfiguredHere() throws IOException {
        shell.with(Map.of(
                "HOMEOSTAT_CONFIG", shell.write("agent.yaml", "metrcs: {}\n").toString()));
        assertEquals(new Result(0, "", ""), shell.plain("self-train"));
        Result status = shell.run("status");
        assertTrue(status.err().contains("agent.yaml:1:1: unknown key 'metrcs'"), status.err());
    }

    private Result apply() {
        return shell.run("apply", "-f", directory + "/a.yaml");
    }

    /** Every file with its size and times. */
    private Map<String, String> listing() throws IOException {
        Map<String, String> listing = new TreeMap<>();
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.filter(path -> !path.endsWith("a.yaml") && !path.equals(directory))
                    .toList()) {
                listing.put(
                        file.toString(),
                        Files.readAttributes(
                                        file, "unix:mode,size,lastModifiedTime,ctime,ino", LinkOption.NOFOLLOW_LINKS)
                                .toString());
            }
        }
        return listing;
    }
}
