package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.CommandRequest.CommandCase;
import io.homeostat.proto.agent.NomadDriverRequest;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.FrontEnd;
import io.homeostat.reconcile.command.FrontEndCommand;
import io.homeostat.reconcile.command.HoldCommand;
import io.homeostat.reconcile.command.HoldCommand.Hold;
import io.homeostat.reconcile.command.Selection;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.fleet.FleetStatusCommand;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** An agent is asked for what was typed. */
class VerbTest {
    private static final List<String> LINES = List.of(
            "plan",
            "plan -f a.yaml --prune --detailed-exitcode",
            "plan -f a.yaml --prune --allow-empty",
            "plan -f -",
            "apply -f d a.yaml --prune --timeout 90s",
            "apply -f -",
            "delete process/a plugin/b --timeout 5m",
            "pause process/a plugin/b --reason because",
            "resume process/a --reason because",
            "stop process/a plugin/b --reason because --timeout 3s",
            "start process/a --timeout 3s",
            "start --all",
            "stop -l team=sre,tier=web --reason because",
            "delete -l team=sre",
            "restart process/a --timeout 3s",
            "restart --all",
            "rollback process/a",
            "rollback process/a --to 3 --timeout 5m",
            "rollback process/a plugin/b --to 2026.11",
            "rollback -l team=sre",
            "exec task/a -- ls -l --all",
            "exec -i task/a -- cat",
            "signal process/a HUP",
            "history plugin/b",
            "history plugin/b process/a",
            "history --all",
            "trigger process/a -o json",
            "status -l team=sre",
            "reset",
            "reset --yes --timeout 1m",
            "status",
            "status process/a --watch",
            "events",
            "events --follow",
            "events --for process/a --for plugin/b --since 2026-11-20T12:00:00Z --limit 3",
            "events -l team=sre --limit 3",
            "events --all",
            "logs process/a",
            "logs process/a -f",
            "logs process/a plugin/b --tail 10",
            "vm-event shutdown",
            "watch plugin/a --code 3",
            "watch plugin/a --code 3 --request ready? --timeout 9s",
            "watch -l team=sre",
            "verify plugin/a --revision 2",
            "verify --all --revision 2",
            "states",
            "inspect",
            "get process/a",
            "describe process/a",
            "describe process/a plugin/b",
            "describe -l team=sre",
            "describe --all");

    @TempDir
    Path directory;

    static List<String> lines() {
        return LINES;
    }

    @ParameterizedTest
    @MethodSource("lines")
    void anAgentIsAskedForTheCommandThatWasTyped(String line) throws IOException {
        Files.writeString(directory.resolve("a.yaml"), "a: 1\n");
        Files.writeString(Files.createDirectory(directory.resolve("d")).resolve("b.yaml"), "b: 1\n");
        Verb verb = verb(line);
        Command typed = verb.typed(invocation(line));

        CommandRequest.Builder request = CommandRequest.newBuilder();
        typed.write(request);
        CommandRequest received = CommandRequest.parseFrom(request.build().toByteArray());

        assertEquals(verb.name(), received.getCommandCase().name());
        assertEquals(typed, Verb.asked(received));
    }

    @Test
    void aTypedLineMeansWhatItSays() {
        Verb stop = Verb.STOP;

        assertEquals(
                new HoldCommand(
                        Hold.STOP,
                        Selection.of(ImmutableList.of(WorkloadId.process("a"))),
                        "because",
                        Duration.ofSeconds(3)),
                stop.typed(invocation("stop process/a --reason because --timeout 3s")));
    }

    @Test
    void everyCommandThatAnAgentMayBeAskedForHasARow() {
        Set<String> requests = Stream.of(CommandCase.values())
                .filter(each -> each != CommandCase.COMMAND_NOT_SET)
                // The driver and the page ask for them, and nobody types them so.
                .filter(each -> each != CommandCase.NOMAD_DRIVER && each != CommandCase.FLEET_STATUS)
                .map(Enum::name)
                .collect(Collectors.toSet());
        Set<String> rows = Stream.of(Verb.values()).map(Enum::name).collect(Collectors.toSet());

        assertTrue(rows.containsAll(requests), () -> requests + " in " + rows);
        assertEquals(requests, LINES.stream().map(line -> verb(line).name()).collect(Collectors.toSet()));
        assertFalse(requests.isEmpty());
    }

    @Test
    void anAgentIsAskedForWhatTheDriverForNomadWants() {
        WorkloadId task = WorkloadId.process("a");
        for (FrontEndCommand wanted : List.of(
                FrontEndCommand.declare(FrontEnd.NOMAD_DRIVER, "alloc/web/1", "{}"),
                FrontEndCommand.withdraw(FrontEnd.GUEST, task),
                FrontEndCommand.about(FrontEnd.NOMAD_DRIVER, ImmutableList.of(task), true))) {
            CommandRequest.Builder request = CommandRequest.newBuilder();
            wanted.write(request);

            assertEquals(wanted, Verb.asked(request.build()));
        }
    }

    @Test
    void anAgentIsAskedHowItsFleetIs() {
        CommandRequest.Builder request = CommandRequest.newBuilder();
        new FleetStatusCommand().write(request);

        assertEquals(new FleetStatusCommand(), Verb.asked(request.build()));
    }

    @Test
    void whatTheDriverForNomadAsksHasToMakeSense() {
        for (NomadDriverRequest.Builder wrong : List.of(
                NomadDriverRequest.newBuilder().setTask("t").setDocument("{}").addWithdraw("process/a"),
                NomadDriverRequest.newBuilder().setDocument("{}"),
                NomadDriverRequest.newBuilder().setFrontEnd("no such one"),
                NomadDriverRequest.newBuilder().addWorkloads("a"))) {
            CommandRequest request =
                    CommandRequest.newBuilder().setNomadDriver(wrong).build();
            assertThrows(UsageException.class, () -> Verb.asked(request));
        }
    }

    private static Verb verb(String line) {
        return Verb.valueOf(line.split(" ", -1)[0].toUpperCase(Locale.ROOT).replace('-', '_'));
    }

    private Invocation invocation(String line) {
        String[] words = Stream.of(line.split(" ", -1))
                .map(word -> word.equals("d") || word.equals("a.yaml")
                        ? directory.resolve(word).toString()
                        : word)
                .toArray(String[]::new);
        return new Shell(directory).typing("c: 1\n").invocation(words);
    }
}
