package io.homeostat.reconcile.command.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Identity;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.status.Survey.Finding;
import io.homeostat.reconcile.status.WorkloadStatus;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** What people see of instances that are no processes of this host. */
class StatusOfInstancesTest {
    private final WorkloadStatus task = status(new Identity.Task("exec", "t-1", "", null, null));

    @Test
    void whatHasNoPidIsShownInItsPlace() {
        String table = text(console -> StatusText.table(List.of(task), Example.NOW, console));

        assertTrue(table.contains("  task t-1  "), table);
    }

    @Test
    void theDetailsSayWhatItIs() {
        String details = text(console -> StatusText.details(task, Example.NOW, console));

        assertTrue(details.contains("  Instance:   task t-1, up 1h"), details);
    }

    @Test
    void whyThereIsSomethingToDoIsSaidOnce() {
        Situation unknown = Example.process().unknown("x").learned().situation();
        WorkloadStatus status = WorkloadStatus.of(new Finding(unknown.history(), unknown, Planner.plan(unknown)));
        String why = Planner.plan(unknown).message();
        assertTrue(why.endsWith(": launch x, pid 7"), why);
        assertTrue(
                status.conditions().stream()
                        .anyMatch(condition -> condition.message().equals(why)),
                "programs read it there, too");

        String details = text(console -> StatusText.details(status, Example.NOW, console));

        assertTrue(details.contains("  To do:      stop (" + why + ")"), details);
        assertEquals(details.indexOf(why), details.lastIndexOf(why), details);
        assertTrue(details.contains("  ProcessUnknown"), details);
    }

    @Test
    void programsReadItBesideAPidThatIsNull() {
        JsonNode one = StatusJson.of(
                        Optional.empty(), Optional.empty(), Example.NOW, List.of(task), List.of(), List.of(), List.of())
                .at("/workloads/0");

        assertTrue(one.get("pid").isNull());
        assertEquals("task t-1", one.get("instance").asText());
    }

    @Test
    void theRevisionOfWhatWasNeverThereIsTheOneThatIsWanted() {
        Situation situation = Example.process().wants("5").situation();
        WorkloadStatus absent = WorkloadStatus.of(new Finding(situation.history(), situation, Planner.plan(situation)));

        String table = text(console -> StatusText.table(List.of(absent), Example.NOW, console));

        assertTrue(table.lines().skip(1).findFirst().orElseThrow().matches("process/\\S+ +\\w+ +5 +- .*"), table);
    }

    private static WorkloadStatus status(Identity identity) {
        Situation situation =
                Example.process().wants("A").knownGood("A").runs("A").learned().situation();
        ObservedInstance process = situation.instances().getFirst();
        Situation elsewhere = situation.withSeen(situation
                .seen()
                .withInstances(ImmutableList.of(
                        new ObservedInstance(process.instance().withIdentity(identity), true, process.liveness()))));
        WorkloadStatus status = WorkloadStatus.of(new Finding(situation.history(), elsewhere, Planner.plan(elsewhere)));
        assertEquals(identity, status.identity());
        return status;
    }

    private static String text(Consumer<Console> prints) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        prints.accept(new Console(
                new PrintStream(out, false, StandardCharsets.UTF_8),
                new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8),
                OutputFormat.TEXT,
                new Ansi(false)));
        return out.toString(StandardCharsets.UTF_8);
    }
}
