package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.google.protobuf.ByteString;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.model.AgentConfig.Etcd;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.reconcile.cli.Shell.Result;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.fleet.FleetStatusCommand;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;

/** The commands for a fleet, with a real etcd. */
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
@Timeout(600)
class FleetOperationTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    static final String SET = """
            apiVersion: homeostat.io/v1
            kind: Rollout
            metadata: {name: web-2}
            spec: {workloads: [process/web], from: "1", to: "2"}
            ---
            apiVersion: homeostat.io/v1
            kind: Process
            metadata: {name: web}
            spec: {install: local, revision: "1", entryPoint: /bin/true}
            ---
            apiVersion: homeostat.io/v1
            kind: Process
            metadata: {name: web}
            spec: {install: local, revision: "2", entryPoint: /bin/true}
            """;

    private Path directory;
    private Path config;
    private Shell shell;
    private EtcdCluster etcd;
    private KeyValues store;

    @BeforeEach
    void start() throws IOException {
        directory = Shell.userDirectory();
        etcd = EtcdCluster.start(directory.resolve("etcd"), 1);
        String endpoint = etcd.endpoints().getFirst();
        config = Files.writeString(
                directory.resolve("agent.yaml"), "sources: {etcd: {endpoints: ['" + endpoint + "']}}\n");
        shell = new Shell(directory).with(Map.of("XDG_CONFIG_HOME", directory + "/config", "USER", "ann"));
        store = new EtcdKeyValues(new Etcd(ImmutableList.of(endpoint), "/homeostat", null, null));
    }

    @AfterEach
    void end() throws Exception {
        store.close();
        etcd.close();
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }

    private Result fleet(String... words) {
        return shell.fleet(config, words);
    }

    private void put(String key, String value) throws Exception {
        store.commit(
                        ImmutableList.of(),
                        ImmutableList.of(new KeyValues.Write.Put(
                                "/homeostat/" + key, ByteString.copyFromUtf8(value), KeyValues.NO_LEASE)))
                .orElseThrow();
    }

    private void delete(String key) throws Exception {
        store.commit(ImmutableList.of(), ImmutableList.of(new KeyValues.Write.Delete("/homeostat/" + key)))
                .orElseThrow();
    }

    @Test
    void aRolloutIsFollowedPausedAndResumed() throws Exception {
        put("machines/vm-1", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        put("set", SET);
        CompletableFuture<Integer> ended = new CompletableFuture<>();
        Thread controller = Thread.ofPlatform()
                .start(() -> ended.complete(fleet("controller").status()));
        try {
            await().atMost(PATIENCE).until(() -> fleet("status").out().contains("wave 1 of 4 is open"));
            String replica = "ann@"
                    + Files.readString(Path.of("/proc/sys/kernel/hostname")).strip() + " "
                    + ProcessHandle.current().pid() + " leads";
            assertEquals("""
                    1 machine, 0 heard of, 1 silent, 0 not well
                    vm-1: nothing is heard of it
                    controller ann@HOST PID leads
                    ROLLOUT  PHASE        WAVE  MACHINES  DONE  WAITING  SILENT  FAILED  REASON
                    web-2    progressing  1/4   1         0     0        1       0       wave 1 of 4 is open
                    web-2: vm-1 silent: nothing is heard of it
                    """, fleet("status").out().replace(replica, "ann@HOST PID leads"));
            assertEquals(1, fleet("status").status(), "a silent machine is not well");

            assertEquals(
                    new Result(0, "ordered: pause web-2; the controller that leads follows\n", ""),
                    fleet("pause", "web-2"));
            await().atMost(PATIENCE)
                    .until(() -> fleet("status", "-o", "json")
                            .out()
                            .contains("\"phase\":\"paused\",\"wave\":1,\"from\":\"1\",\"to\":\"2\",\"machines\":1"));
            assertTrue(fleet("status").out().contains("paused by ann"));
            fleet("rollback", "web-2");
            await().atMost(PATIENCE).until(() -> fleet("status").out().contains("rolledBack"));
        } finally {
            controller.interrupt();
        }
        assertEquals(0, ended.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
        assertTrue(store.list("/homeostat/leader").entries().isEmpty(), "another one need not wait for its lease");
    }

    @Test
    void machinesThatAreSilentAreNamed() throws Exception {
        for (int i = 7; i > 0; i--) {
            put("machines/vm-" + i, "{\"at\": \"2026-11-01T12:00:00Z\"}");
        }
        put("reports/vm-4", "{\"at\": \"2026-11-01T13:00:00Z\"}");

        assertEquals(new Result(1, """
                7 machines, 1 heard of, 6 silent, 0 not well
                vm-1: nothing is heard of it
                vm-2: nothing is heard of it
                vm-3: nothing is heard of it
                vm-5: nothing is heard of it
                vm-6: nothing is heard of it
                and 1 more silent, all of them in -o json
                """, ""), fleet("status"));
        JsonNode json =
                new ObjectMapper().readTree(fleet("status", "-o", "json").out());
        assertEquals(6, json.path("silent").intValue());
        assertEquals(
                "[\"vm-1\",\"vm-2\",\"vm-3\",\"vm-5\",\"vm-6\",\"vm-7\"]",
                json.path("silentMachines").toString());
    }

    @Test
    void aPrefixWithNothingIsNoFleetThatIsWell() throws Exception {
        put("set", SET);
        assertEquals(1, fleet("status").status(), "a rollout waits for a controller");
        String all = Files.readString(config);
        Files.writeString(config, all.replace("{endpoints", "{prefix: /homestat, endpoints"));

        assertEquals(
                new Result(
                        1,
                        "0 machines, 0 heard of, 0 silent, 0 not well\n",
                        "homeostat: /homestat has no published set and no registered machine;"
                                + " is sources.etcd.prefix right?\n"),
                fleet("status"));
        assertTrue(fleet("status", "-o", "json")
                .out()
                .contains("\"problems\":[{\"key\":\"/homestat\",\"message\":\"has no published set"));

        Files.writeString(config, all);
        put("set", SET.substring(SET.indexOf("---") + 4, SET.lastIndexOf("---")));
        assertEquals(
                new Result(0, "0 machines, 0 heard of, 0 silent, 0 not well\n", ""),
                fleet("status"),
                "what is published has yet to find a machine");
    }

    /** Asks as an agent with the configuration is asked; returns what is printed. */
    private String asked() throws InterruptedException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream printed = new PrintStream(out, false, StandardCharsets.UTF_8);
        Workspace here = shell.invocation(
                        "plan", "--config", config.toString(), "--state-dir", "state", "--run-dir", "run")
                .workspace();
        new FleetStatusCommand()
                .run(new Workspace(
                        "fleet-status",
                        here.environment(),
                        new Console(printed, printed, OutputFormat.JSON, new Ansi(false)),
                        here.layout(),
                        here.enforcer()));
        printed.flush();
        return out.toString(StandardCharsets.UTF_8);
    }

    @Test
    void anAgentSaysOfItsFleetWhatTheCommandSays() throws Exception {
        put("machines/vm-1", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        put("set", SET);

        String said = asked();

        assertEquals(fleet("status", "-o", "json").out(), said);
        assertTrue(said.contains("\"name\":\"web-2\""), said);
    }

    @Test
    void anAgentThatCannotLookAtItsFleetSaysWhy() throws Exception {
        etcd.kill(0);
        String silent =
                String.valueOf(assertThrows(CommandFailure.class, this::asked).getMessage());
        assertTrue(silent.contains("could not list /homeostat/ in etcd at http://127.0.0.1:"), silent);

        Files.writeString(config, "sources: {files: []}\n");
        CommandFailure none = assertThrows(CommandFailure.class, this::asked);
        assertEquals("this agent knows no fleet: its agent.yaml has no sources.etcd; add it", none.getMessage());
    }

    @Test
    void aKeyThatCannotBeReadIsNamed() throws Exception {
        Files.writeString(config, "signatures: {documents: {keys: [/nowhere/key.pem]}}", StandardOpenOption.APPEND);

        String asked =
                String.valueOf(assertThrows(CommandFailure.class, this::asked).getMessage());
        assertTrue(asked.contains("/nowhere/key.pem"), asked);
        Result typed = fleet("status");
        assertEquals(1, typed.status());
        assertTrue(typed.err().contains(asked), typed.err());
    }

    @Test
    void wavesAndMachinesAreShown() throws Exception {
        assertEquals(new Result(0, "no rollout is published\n", ""), fleet("rollouts"));
        put("machines/vm-1", "{\"at\": \"2026-11-01T12:00:00Z\", \"labels\": {\"role\": \"web\"}}");
        put("machines/vm-2", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        put(
                "set",
                SET.replace("metadata: {name: web}", "metadata: {name: web}\nplacement: {matchLabels: {role: web}}"));
        put("reports/vm-1", """
                {"agent": "1.0", "at": "2026-11-01T13:00:00Z", "source": "etcd", "version": "7", "sequence": 3, "problems": 0,
                "workloads": [{"id": "process/web", "revision": "1", "desired": "1", "state": "RUNNING", "healthy": true,
                "converged": true, "restarts": 2}]}""");
        assertEquals("""
                machine     vm-1
                registered  2026-11-01T12:00:00Z
                labels      role=web
                report      at 2026-11-01T13:00:00Z by agent 1.0
                set         etcd 7, sequence 3
                WORKLOAD     REVISION  DESIRED  STATE    HEALTHY  CONVERGED  RESTARTS  FAILURE
                process/web  1         1        RUNNING  yes      yes        2         -
                ROLLOUT  ADMITTED  STANDING    WAVE  WHY
                web-2    no        notItsTurn  1     no controller has opened it yet
                """, fleet("machine", "vm-1").out());
        assertEquals("""
                machine     vm-2
                registered  2026-11-01T12:00:00Z
                labels      -
                report      silent: nothing is heard of it
                ROLLOUT  ADMITTED  STANDING  WAVE  WHY
                web-2    no        notForIt  -     its placement is for other machines
                """, fleet("machine", "vm-2").out());

        state("PROGRESSING", "", 0, "wave 1 of 4 is open");
        put("machines/vm-3", "{\"at\": \"2026-11-01T12:00:00Z\", \"labels\": {\"role\": \"web\"}}");
        assertEquals("wave 1 is open", why("vm-1"));
        state("HALTED", "", 0, "1 of 1 machines failed");
        assertEquals("1 of 1 machines failed", why("vm-1"));
        state("PROGRESSING", "f", 0, "wave 1 of 4 is open");
        assertEquals("it came, or got its labels, after wave 1 had opened", why("vm-3"));
        state("PROGRESSING", "g", 1L << 40, "wave 4 of 4 is open");
        assertEquals("process/web is to be at 1", why("vm-1"));
        Result waves = fleet("rollouts", "web-2");
        assertEquals("""
                no controller leads: nothing opens; start one with homeostat fleet controller
                ROLLOUT  PHASE        WAVE  MACHINES  NOT ITS TURN  DONE  WAITING  SILENT  FAILED
                web-2    progressing  1/4   1         0             0     0        1       0
                web-2    progressing  2/4   0         0             0     0        0       0
                web-2    progressing  3/4   0         0             0     0        0       0
                web-2    progressing  4/4   1         0             0     1        0       0
                web-2: wave 4 of 4 is open; waits for 2 of 2 machines, 1 silent
                """, waves.out().lines().limit(7).map(line -> line + "\n").reduce("", String::concat));
        assertTrue(fleet("rollouts", "-o", "json").out().contains("\"waves\":[{\"machines\":1,\"notItsTurn\":0"));
        assertTrue(
                fleet("rollouts", "db").err().contains("there is no rollout db; published are web-2"),
                "which there are is said");
        assertTrue(fleet("machine", "vm-4")
                .err()
                .contains("no machine vm-4 among the 3 that are registered under /homeostat/machines/ in etcd at "
                        + etcd.endpoints().getFirst() + "; machines are named by their instance ids; fleet status"));
    }

    /** Nobody may ever do what a controller would do next. */
    @Test
    void whatIsStoredIsShownAndNotWhatAControllerWouldDecide() throws Exception {
        put("machines/vm-1", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        put("set", SET);
        assertEquals("""
                1 machine, 0 heard of, 1 silent, 0 not well
                vm-1: nothing is heard of it
                no controller leads: nothing opens; start one with homeostat fleet controller
                ROLLOUT  PHASE     WAVE  MACHINES  DONE  WAITING  SILENT  FAILED  REASON
                web-2    notBegun  0/4   1         0     0        0       0       no controller has opened it yet
                """, fleet("status").out());
        assertTrue(
                fleet("rollouts")
                        .out()
                        .endsWith(
                                "web-2: no controller has opened it yet; waits for a controller that opens its first wave\n"),
                fleet("rollouts").out());
        JsonNode json = new ObjectMapper()
                .readTree(fleet("status", "-o", "json").out())
                .path("rollouts")
                .path(0);
        assertEquals("notBegun", json.path("phase").asText());
        assertEquals(0, json.path("wave").asInt(-1));

        put("reports/vm-1", """
                {"at": "2026-11-01T13:00:00Z", "workloads": [{"id": "process/web", "desired": "2", "failed": "2"}]}""");
        state("PROGRESSING", "", 0, "wave 1 of 4 is open");
        assertEquals("it had the new revision before, and keeps it; process/web failed", why("vm-1"));
        state("PROGRESSING", "g", 1L << 40, "wave 4 of 4 is open");
        assertTrue(
                fleet("status").out().contains("progressing  4/4"),
                fleet("status").out());
        assertTrue(
                fleet("status").out().contains("web-2: vm-1 failed"),
                fleet("status").out());
    }

    @Test
    void whoLeadsIsTold() throws Exception {
        put("machines/vm-1", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        put("reports/vm-1", "{\"at\": \"2026-11-01T13:00:00Z\"}");
        assertEquals(0, fleet("status").status(), "there is nothing to decide");
        put("set", SET);
        state("PROGRESSING", "", 0, "wave 1 of 4 is open");
        assertEquals(1, fleet("status").status());
        assertEquals(
                new Result(0, "ordered: abort web-2; no controller leads; it takes effect when one does\n", ""),
                fleet("abort", "web-2"));

        put("leader/1b", "ann 7");
        put("leader/1a", "bob 8");
        Result led = fleet("status");
        assertEquals(0, led.status(), led.out());
        assertTrue(led.out().contains("\ncontroller ann 7 leads\n"), led.out());
        assertTrue(fleet("rollouts").out().startsWith("controller ann 7 leads\n"));
        for (String look : List.of("status", "rollouts")) {
            assertTrue(fleet(look, "-o", "json").out().contains("\"controller\":\"ann 7\""), look);
        }
        assertTrue(fleet("abort", "web-2", "-o", "json")
                .out()
                .endsWith("\"rollout\":\"web-2\",\"order\":\"abort\",\"controller\":\"ann 7\"}\n"));

        delete("leader/1b");
        assertTrue(fleet("status").out().contains("controller bob 8 leads"));
        delete("leader/1a");
        assertTrue(fleet("status", "-o", "json").out().contains("\"controller\":\"\""));
        state("ABORTED", "", 0, "aborted by ann");
        assertEquals(0, fleet("status").status(), "what is over needs no controller");
    }

    /** Why a machine does not have the new revision. */
    private String why(String machine) throws IOException {
        JsonNode json = new ObjectMapper()
                .readTree(fleet("machine", machine, "-o", "json").out());
        return json.path("rollouts").path(0).path("reason").asText();
    }

    /** Written as if a controller had. */
    private void state(String phase, String through, long asOf, String reason) throws Exception {
        Instant time = Instant.parse("2026-11-01T12:00:00Z");
        RolloutSpec spec = DocumentReader.parse(
                        new Texts(
                                ImmutableList.of(new Input.Text("set.yaml", "set.yaml", null, SET)),
                                ImmutableList.of()),
                        Choice.ALL)
                .rollouts()
                .getFirst()
                .spec();
        Instant now = Instant.now();
        put(
                "rollouts/web-2",
                new RecordCodec(new ObjectMapper())
                        .write(new RolloutState(
                                Rollout.of("web-2", spec).digest(),
                                RolloutState.Phase.valueOf(phase),
                                through.equals("g") ? 3 : 0,
                                through,
                                asOf,
                                1,
                                now,
                                time,
                                null,
                                0,
                                0,
                                reason)));
    }

    @Test
    void aMachineThatIsGoneIsForgotten() throws Exception {
        put("machines/vm-1", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        put("reports/vm-1", "{}");
        Result refused = fleet("forget", "vm-1");
        assertEquals(1, refused.status());
        assertTrue(refused.err().contains("vm-1 is heard of"), refused.err());
        assertEquals(2, store.list("/homeostat/").entries().size(), "nothing was removed");

        assertEquals(0, fleet("forget", "vm-1", "--force").status());
        assertTrue(store.list("/homeostat/").entries().isEmpty());
        assertTrue(fleet("forget", "vm-1")
                .err()
                .contains("there is no machine vm-1 under /homeostat/machines/ in etcd at "
                        + etcd.endpoints().getFirst() + ", so nothing was removed; machines are named by"));

        put("machines/vm-1", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        assertEquals(
                new Result(0, "forgotten: vm-1; rollouts do not wait for it any more\n", ""), fleet("forget", "vm-1"));
    }

    @Test
    void usersOfEtcdAreMade() throws Exception {
        Path passwords = directory.resolve("passwords");

        Result made = fleet("init", "--to", passwords.toString());
        assertEquals(0, made.status(), made.err());
        assertTrue(
                made.out()
                        .contains("user homeostat-operator was made, its password is in "
                                + passwords.resolve("operator.password")),
                made.out());
        assertTrue(fleet("init", "--to", passwords.toString(), "--machine", "vm-1", "-o", "json")
                .out()
                .contains("{\"formatVersion\""));
        assertTrue(Files.exists(passwords.resolve("machine-vm-1.password")));

        assertEquals(64, fleet("init").status());
        assertEquals(
                64,
                fleet("init", "--to", passwords.toString(), "--machine", "../vm")
                        .status());
    }

    private Result plan(String documents, String... options) throws IOException {
        Path file = Files.writeString(directory.resolve("set.yaml"), documents);
        return fleet(ImmutableList.<String>builder()
                .add("plan", "-f", file.toString())
                .add(options)
                .build()
                .toArray(String[]::new));
    }

    @Test
    void whatASetWouldChangeIsPlanned() throws Exception {
        for (int i = 1; i <= 20; i++) {
            put("machines/vm-" + i, "{\"at\": \"2026-11-01T12:00:00Z\", \"labels\": {\"n\": \"" + i + "\"}}");
        }
        String first = SET.substring(SET.indexOf("---") + 4, SET.lastIndexOf("---"));
        Result begins = plan(first);
        assertEquals("""
                WORKLOAD     FROM  TO  MACHINES  WHEN     MACHINE IDS
                process/web  -     1   20        at once  vm-1, vm-10, vm-11 and 17 more
                all machine ids are in -o json
                """, begins.out());
        assertTrue(
                begins.err().contains("warning: process/web changes at once on 20 machines: no rollout covers that"),
                begins.err());

        put("set", first);
        assertEquals(new Result(0, "nothing would change on 20 machines\n", ""), plan(first, "--detailed-exitcode"));
        assertEquals(new Result(2, """
                WORKLOAD     FROM  TO  MACHINES  WHEN                     MACHINE IDS
                process/web  1     2   1         wave 1 of rollout web-2  vm-11
                process/web  1     2   1         wave 2 of rollout web-2  vm-16
                process/web  1     2   8         wave 3 of rollout web-2  vm-1, vm-10, vm-12 and 5 more
                process/web  1     2   10        wave 4 of rollout web-2  vm-13, vm-14, vm-15 and 7 more
                all machine ids are in -o json
                """, ""), plan(SET, "--detailed-exitcode"));
        assertEquals(0, plan(SET).status());

        String other = first.replace("name: web}", "name: db}\nplacement: {matchLabels: {n: '3'}}");
        assertEquals("""
                WORKLOAD     FROM  TO  MACHINES  WHEN     MACHINE IDS
                process/db   -     1   1         at once  vm-3
                process/web  1     -   20        at once  vm-1, vm-10, vm-11 and 17 more
                all machine ids are in -o json
                """, plan(other).out());
        JsonNode json = new ObjectMapper()
                .readTree(plan(first.replace("/bin/true", "/bin/false"), "-o", "json")
                        .out());
        assertEquals(
                "{\"workload\":\"process/web\",\"from\":\"1\",\"to\":\"1\",\"rollout\":\"\",\"wave\":0,\"machines\":20,"
                        + IntStream.rangeClosed(1, 20)
                                .mapToObj(i -> "\"vm-" + i + "\"")
                                .sorted()
                                .collect(Collectors.joining(",", "\"machineIds\":[", "]}")),
                json.path("changes").path(0).toString());
    }

    @Test
    void aRolloutThatWasPublishedBeforeDoesNotBeginAnew() throws Exception {
        put("machines/vm-1", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        put("set", SET);
        state("COMPLETED", "g", 1L << 40, "all machines were well");
        assertEquals(new Result(0, "nothing would change on 1 machine\n", ""), plan(SET));

        put("set", SET.substring(SET.indexOf("---") + 4, SET.lastIndexOf("---")));
        Result again = plan(SET);
        assertEquals("""
                WORKLOAD     FROM  TO  MACHINES  WHEN     MACHINE IDS
                process/web  1     2   1         at once  vm-1
                """, again.out());
        assertTrue(
                again.err()
                        .contains("rollout web-2 was published before and is completed: it goes on from there,"
                                + " and does not begin anew; give it another name"),
                again.err());
    }

    @Test
    void whatPublishWouldRefuseIsNamedByAPlan() throws Exception {
        put("machines/vm-1", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        put("set", SET);
        String next = SET.replace("metadata: {name: web}", "metadata: {name: web}\nplacement: {excludeLabels: {a: b}}")
                .replace("/bin/true", "/bin/false");

        Result refused = plan(next, "--detailed-exitcode");
        JsonNode json = new ObjectMapper().readTree(plan(next, "-o", "json").out());
        Result published = shell.plain(
                "publish", "-f", directory + "/set.yaml", "--to", "etcd", "--config", config.toString(), "--dry-run");

        assertEquals(1, refused.status(), refused::toString);
        assertTrue(refused.out().contains("process/web  1     1   1         at once"), refused::toString);
        String revision = json.path("refusals").path(0).asText();
        String placement = json.path("refusals").path(1).asText();
        assertTrue(
                refused.err()
                        .endsWith("homeostat: publish would refuse this: " + revision
                                + "\nhomeostat: publish would refuse this: " + placement + "\n"),
                refused::toString);
        assertTrue(revision.startsWith("it is not what was published before under the same revision: "), revision);
        assertTrue(placement.startsWith("the placement is not what was published before: process/web"), placement);
        assertEquals(1, published.status());
        assertTrue(published.err().endsWith(": " + revision + "\n"), published::toString);

        Result forced = plan(next, "--force");
        assertEquals(0, forced.status());
        assertFalse(forced.err().contains("refuse"), forced::toString);
    }

    @Test
    void aPlanNeedsDocumentsThatCanBeRead() throws Exception {
        assertEquals(64, fleet("plan").status());
        Result invalid = plan("kind: Process");
        assertEquals(1, invalid.status());
        assertTrue(invalid.err().contains("so nothing could be compared; correct the files"), invalid.err());
        put("set", "kind: Process");
        Result unread = plan(SET);
        assertEquals(1, unread.status());
        assertTrue(unread.err().contains("what is published can't be read"), unread.err());
        assertTrue(unread.err().endsWith("; publish a set in its place\n"), unread.err());
    }

    /** Whoever writes to etcd must not write to the terminal of who looks. */
    @Test
    void whatMachinesWriteCantControlTheTerminal() throws Exception {
        put("set", SET);
        put("machines/vm\u001b[2J", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        put("reports/vm\u001b[2J", "{\"a\u001b[2J\"");
        put("machines/other", "{\"labels\": {\"\\u001b[2J\": \"a\", \"\\u001b[2J\": \"b\"}}");
        state("PROGRESSING", "g", 1L << 40, "wave 1 of 4 is open");
        for (Result shown : List.of(fleet("status"), fleet("rollouts"), plan(SET))) {
            assertFalse((shown.out() + shown.err()).contains("\u001b"), shown::toString);
        }
        assertTrue(
                fleet("status").err().contains("/homeostat/reports/vm"),
                fleet("status").err());
        assertTrue(
                fleet("rollouts").out().contains("[2J silent"),
                fleet("rollouts").out());
        assertTrue(
                plan(SET).err().contains("/homeostat/machines/other"), plan(SET).err());
    }

    @Test
    void whatMakesNoSenseIsSaid() throws Exception {
        assertEquals(
                ImmutableList.of(64, 64, 64, 64, 64),
                ImmutableList.of(
                        fleet("frob").status(),
                        fleet("pause").status(),
                        fleet("machine").status(),
                        fleet("forget").status(),
                        fleet("status", "web").status()));
        Result unknown = fleet("pause", "web");
        assertEquals(1, unknown.status());
        assertTrue(
                unknown.err()
                        .contains("there is no rollout web; none is published in /homeostat/set: publish one,"
                                + " or name another file with --config"),
                unknown.err());
        assertTrue(store.list("/homeostat/").entries().isEmpty(), "nothing was written");

        Files.writeString(config, "{}");
        assertTrue(
                fleet("status").err().contains(config + " has no sources.etcd"),
                fleet("status").err());
    }

    @Test
    void anOptionThatAWordDoesNotTakeIsRefused() {
        assertTakesNone("status takes no --machine; it is for init", "status", "--machine", "vm-1");
        assertTakesNone("status takes no -f; it is for plan", "status", "-f", "x");
        assertTakesNone("pause takes no --to; it is for init", "pause", "web", "--to", "d");
        assertTakesNone("rollouts takes no --detailed-exitcode; it is for plan", "rollouts", "--detailed-exitcode");
        assertTakesNone("rollouts takes no --force; it is for plan, init, forget", "rollouts", "--force");
    }

    private void assertTakesNone(String message, String... words) {
        Result refused = fleet(words);
        assertEquals(64, refused.status(), refused::toString);
        assertTrue(refused.err().contains(message), refused.err());
    }

    @Test
    void anOrderThatWouldChangeNothingIsRefused() throws Exception {
        put("set", SET);
        assertEquals(0, fleet("resume", "web-2").status(), "nobody knows yet how it will stand");
        Map<String, List<String>> taken = Map.of(
                "PROGRESSING", List.of("pause", "abort", "rollback"),
                "PAUSED", List.of("resume", "abort", "rollback"),
                "HALTED", List.of("resume", "abort", "rollback"),
                "ABORTED", List.of("resume", "rollback"),
                "COMPLETED", List.of("rollback"),
                "ROLLED_BACK", List.of("resume"));
        for (Map.Entry<String, List<String>> phase : taken.entrySet()) {
            state(phase.getKey(), "", 0, "why");
            for (String word : List.of("pause", "resume", "abort", "rollback")) {
                delete("orders/web-2");
                Result given = fleet(word, "web-2");
                boolean isTaken = phase.getValue().contains(word);
                assertEquals(isTaken ? 0 : 1, given.status(), given::toString);
                assertEquals(
                        isTaken ? 1 : 0,
                        store.list("/homeostat/orders/").entries().size());
                assertTrue(
                        isTaken
                                || given.err()
                                        .endsWith(", and " + word
                                                + " would change nothing, so it was not ordered; what can be ordered: "
                                                + String.join(", ", phase.getValue()) + "\n"),
                        given::toString);
            }
        }
        state("COMPLETED", "", 0, "why");
        delete("orders/web-2");
        assertTrue(fleet("pause", "web-2").err().contains("rollout web-2 is completed, and pause would"));

        state("PROGRESSING", "", 0, "why");
        fleet("pause", "web-2");
        assertEquals(0, fleet("resume", "web-2").status(), "the pause is not followed yet, and is taken back");
    }

    @Test
    void whatCantBeReadOfARolloutIsSaid() throws Exception {
        put("set", SET);
        put("rollouts/web-2", "nonsense");
        String problem =
                "/homeostat/rollouts/web-2 can't be read: no JSON at line 1, column 1: Unrecognized token 'nonsense'";
        for (Result refused : List.of(fleet("pause", "web-2"), fleet("rollouts", "web-2"))) {
            assertEquals(1, refused.status());
            assertTrue(refused.err().contains("nobody can tell how rollout web-2 stands"), refused.err());
            assertTrue(refused.err().contains(problem), refused.err());
            assertTrue(refused.err().contains("remove that key from etcd"), refused.err());
        }
        assertTrue(store.list("/homeostat/orders/").entries().isEmpty(), "nothing was ordered");
        assertTrue(fleet("status").err().contains(problem), fleet("status").err());
        assertTrue(fleet("pause", "db").err().contains("there is no rollout db; published are web-2"));

        put("set", "kind: Process");
        Result unread = fleet("pause", "web-2");
        assertTrue(unread.err().contains("nobody can tell which rollouts are published: /homeostat/set can't be read"));
        assertTrue(unread.err().contains("publish a set in its place"), unread.err());
    }

    @Test
    void aStoreThatDoesNotAnswerIsNamed() throws Exception {
        etcd.kill(0);
        Result silent = fleet("status");

        assertEquals(1, silent.status());
        assertTrue(silent.err().contains(etcd.endpoints().getFirst()), silent.err());
        assertFalse(silent.err().contains("Exception"), silent.err());
    }
}
