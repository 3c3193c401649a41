package io.homeostat.reconcile.command.fleet;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Table;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.Standing;
import java.time.Instant;
import java.util.Optional;

/**
 * How a fleet is: how many machines are heard of, and how far rollouts have come.
 *
 * @param controller the one that leads; empty: none does
 * @param problems what can't be read, or is not there at all, by key
 */
public record FleetStatus(
        FleetHealth health,
        Optional<String> controller,
        ImmutableList<RolloutStand> rollouts,
        ImmutableMap<String, String> problems)
        implements FleetAnswer {

    public static FleetStatus of(FleetMirror mirror, Instant now) {
        return new FleetStatus(
                FleetHealth.of(Maps.toMap(mirror.machines().keySet(), mirror::report)),
                mirror.leader(),
                RolloutStand.all(mirror, now),
                mirror.isEmpty()
                        ? ImmutableMap.of(
                                mirror.prefix(),
                                "has no published set and no registered machine"
                                        + (mirror.leader().isPresent() ? "" : "; is sources.etcd.prefix right?"))
                        : mirror.problems());
    }

    /** By what is in a bucket, where there are no rollouts. */
    public static FleetStatus of(BucketReports reports) {
        return new FleetStatus(
                FleetHealth.of(Maps.transformValues(
                        reports.machines(),
                        heard -> heard.isSilent()
                                ? Optional.empty()
                                : Optional.of(heard.report().report()))),
                Optional.empty(),
                ImmutableList.of(),
                reports.isEmpty()
                        ? ImmutableMap.of(
                                reports.place(), "has no report of any machine; is sources.bucket.reports right?")
                        : ImmutableMap.copyOf(reports.problems()));
    }

    /** Whether all is known and well, nothing was stopped, and somebody leads where there is something to decide. */
    public boolean isWell() {
        return health.isWell()
                && problems.isEmpty()
                && rollouts.stream().noneMatch(RolloutStand::isStopped)
                && (controller.isPresent() || rollouts.stream().allMatch(RolloutStand::isOver));
    }

    @Override
    public void print(Console console) {
        health.print(console);
        if (controller.isPresent() || !rollouts.isEmpty()) {
            console.out().println(RolloutStand.leads(controller));
        }
        if (!rollouts.isEmpty()) {
            Table table =
                    new Table("ROLLOUT", "PHASE", "WAVE", "MACHINES", "DONE", "WAITING", "SILENT", "FAILED", "REASON");
            rollouts.forEach(stand -> table.row(
                    stand.name(),
                    stand.phase(),
                    stand.openWave(),
                    String.valueOf(stand.situation().members().size()),
                    String.valueOf(stand.count(Standing.Kind.DONE)),
                    String.valueOf(stand.count(Standing.Kind.WAITING)),
                    String.valueOf(stand.count(Standing.Kind.SILENT)),
                    String.valueOf(stand.count(Standing.Kind.FAILED)),
                    Text.oneLine(stand.reason())));
            table.print(console.out(), console.ansi());
            rollouts.forEach(stand -> stand.printExamples(console));
        }
        problems.forEach((key, problem) -> console.say(Text.oneLine(key + " " + problem)));
    }

    @Override
    public ObjectNode json() {
        ObjectNode json = Json.versioned();
        health.writeTo(json);
        json.put("controller", controller.orElse(""));
        json.set("rollouts", Json.array(rollouts, RolloutStand::json));
        json.set(
                "problems",
                Json.array(
                        problems.entrySet(),
                        problem -> Json.object().put("key", problem.getKey()).put("message", problem.getValue())));
        return json;
    }
}
