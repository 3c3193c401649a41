package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
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
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;

/** What stories don't tell of the commands for a fleet: how an agent is asked, what machines write, and all orders. */
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
@Timeout(600)
class FleetOperationTest {
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
    private StoryFleet fleet;

    @BeforeEach
    void start() throws IOException {
        directory = Shell.shortDirectory();
        config = directory.resolve("agent.yaml");
        fleet = StoryFleet.start(directory);
        shell = new Shell(directory)
                .asOrdinaryUser()
                .with(Map.of("XDG_CONFIG_HOME", directory + "/config", "USER", "ann"));
    }

    @AfterEach
    void end() throws Exception {
        fleet.close();
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }

    private Result fleet(String... words) {
        return shell.fleet(config, words);
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
        fleet.put("machines/vm-1", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        fleet.put("set", SET);

        String said = asked();

        assertEquals(fleet("status", "-o", "json").out(), said);
        assertTrue(said.contains("\"name\":\"web-2\""), said);
    }

    @Test
    void anAgentThatCannotLookAtItsFleetSaysWhy() throws Exception {
        Files.writeString(config, "sources: {etcd: {endpoints: ['http://127.0.0.1:1']}}\n");
        String silent =
                String.valueOf(assertThrows(CommandFailure.class, this::asked).getMessage());
        assertTrue(silent.contains("/homeostat/ in etcd at http://127.0.0.1:1"), silent);

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

    private Result plan() throws IOException {
        Path file = Files.writeString(directory.resolve("set.yaml"), SET);
        return fleet("plan", "-f", file.toString());
    }

    /** Whoever writes to etcd must not write to the terminal of who looks. */
    @Test
    void whatMachinesWriteCantControlTheTerminal() throws Exception {
        fleet.put("set", SET);
        fleet.put("machines/vm\u001b[2J", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        fleet.put("reports/vm\u001b[2J", "{\"a\u001b[2J\"");
        fleet.put("machines/other", "{\"labels\": {\"\\u001b[2J\": \"a\", \"\\u001b[2J\": \"b\"}}");
        stands("PROGRESSING", "g");
        for (Result shown : List.of(fleet("status"), fleet("rollouts"), plan())) {
            assertFalse((shown.out() + shown.err()).contains("\u001b"), shown::toString);
        }
        assertTrue(
                fleet("status").err().contains(fleet.prefix() + "/reports/vm"),
                fleet("status").err());
        assertTrue(
                fleet("rollouts").out().contains("[2J silent"),
                fleet("rollouts").out());
        assertTrue(plan().err().contains(fleet.prefix() + "/machines/other"), plan().err());
    }

    private void stands(String phase, String through) throws Exception {
        fleet.prepare("stands", phase, through, Long.toString(1L << 40), "why");
    }

    @Test
    void anOrderThatWouldChangeNothingIsRefused() throws Exception {
        fleet.put("set", SET);
        assertEquals(0, fleet("resume", "web-2").status(), "nobody knows yet how it will stand");
        Map<String, List<String>> taken = Map.of(
                "PROGRESSING", List.of("pause", "abort", "rollback"),
                "PAUSED", List.of("resume", "abort", "rollback"),
                "HALTED", List.of("resume", "abort", "rollback"),
                "ABORTED", List.of("resume", "rollback"),
                "COMPLETED", List.of("rollback"),
                "ROLLED_BACK", List.of("resume"));
        for (Map.Entry<String, List<String>> phase : taken.entrySet()) {
            stands(phase.getKey(), "");
            for (String word : List.of("pause", "resume", "abort", "rollback")) {
                fleet.prepare("remove", "orders/web-2");
                Result given = fleet(word, "web-2");
                boolean isTaken = phase.getValue().contains(word);
                assertEquals(isTaken ? 0 : 1, given.status(), given::toString);
                assertEquals(isTaken, fleet.stored().contains("orders/web-2"));
                assertTrue(
                        isTaken
                                || given.err()
                                        .endsWith(", and " + word
                                                + " would change nothing, so it was not ordered; what can be ordered: "
                                                + String.join(", ", phase.getValue()) + "\n"),
                        given::toString);
            }
        }
        stands("COMPLETED", "");
        fleet.prepare("remove", "orders/web-2");
        assertTrue(fleet("pause", "web-2").err().contains("rollout web-2 is completed, and pause would"));

        stands("PROGRESSING", "");
        fleet("pause", "web-2");
        assertEquals(0, fleet("resume", "web-2").status(), "the pause is not followed yet, and is taken back");
    }
}
