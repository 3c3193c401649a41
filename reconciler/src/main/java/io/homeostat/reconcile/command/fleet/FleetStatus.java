package io.homeostat.reconcile.command.fleet;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableMultiset;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Table;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.FleetPlanner;
import io.homeostat.reconcile.fleet.RolloutPlan;
import io.homeostat.reconcile.fleet.RolloutPlan.Wave;
import io.homeostat.reconcile.fleet.RolloutSituation;
import io.homeostat.reconcile.fleet.Standing;
import java.time.Instant;
import java.util.Arrays;
import java.util.Locale;

/**
 * How a fleet is: how many machines are heard of, and how far rollouts have come.
 *
 * @param silent how many machines are not heard of, which may be well or not
 * @param problems what can't be read, by key
 */
public record FleetStatus(
        int machines, int silent, ImmutableList<Stand> rollouts, ImmutableMap<String, String> problems) {

    /** A rollout. */
    public record Stand(RolloutSituation situation, RolloutPlan plan) {
        private String name() {
            return situation.rollout().name();
        }

        private boolean isStopped() {
            return plan.state().phase() == Phase.HALTED || plan.state().phase() == Phase.ROLLED_BACK;
        }

        private int count(Standing.Kind kind) {
            return plan.waves().stream()
                    .mapToInt(wave -> wave.machines().count(kind))
                    .sum();
        }
    }

    public static FleetStatus of(FleetMirror mirror, Instant now) {
        int silent = (int) mirror.machines().keySet().stream()
                .filter(id -> mirror.report(id).isEmpty())
                .count();
        return new FleetStatus(
                mirror.machines().size(),
                silent,
                mirror.situations(now).stream()
                        .map(situation -> new Stand(situation, FleetPlanner.plan(situation)))
                        .collect(ImmutableList.toImmutableList()),
                mirror.problems());
    }

    /** Whether all is known, and nothing was stopped. */
    public boolean isWell() {
        return silent == 0 && problems.isEmpty() && rollouts.stream().noneMatch(Stand::isStopped);
    }

    /** Prints it for people. */
    public void print(Console console) {
        console.out()
                .println(machines + (machines == 1 ? " machine, " : " machines, ") + (machines - silent) + " heard of, "
                        + silent + " silent");
        if (!rollouts.isEmpty()) {
            Table table =
                    new Table("ROLLOUT", "PHASE", "WAVE", "MACHINES", "DONE", "WAITING", "SILENT", "FAILED", "REASON");
            rollouts.forEach(stand -> table.row(
                    stand.name(),
                    word(stand.plan().state().phase()),
                    wave(stand),
                    String.valueOf(stand.situation().members().size()),
                    String.valueOf(stand.count(Standing.Kind.DONE)),
                    String.valueOf(stand.count(Standing.Kind.WAITING)),
                    String.valueOf(stand.count(Standing.Kind.SILENT)),
                    String.valueOf(stand.count(Standing.Kind.FAILED)),
                    Text.oneLine(stand.plan().state().reason())));
            table.print(console.out(), console.ansi());
            rollouts.forEach(stand -> stand.plan()
                    .examples()
                    .forEach(example -> console.out()
                            .println(stand.name() + ": " + example.machine() + " "
                                    + word(example.standing().kind()) + ": "
                                    + Text.oneLine(example.standing().why()))));
        }
        problems.forEach((key, problem) -> console.say(key + " " + Text.oneLine(problem)));
    }

    /** The same for programs. */
    public ObjectNode json() {
        ObjectNode json = Json.versioned().put("machines", machines).put("silent", silent);
        json.set("rollouts", Json.array(rollouts, FleetStatus::json));
        json.set(
                "problems",
                Json.array(
                        problems.entrySet(),
                        problem -> Json.object().put("key", problem.getKey()).put("message", problem.getValue())));
        return json;
    }

    private static ObjectNode json(Stand stand) {
        RolloutPlan plan = stand.plan();
        ObjectNode json = Json.object()
                .put("name", stand.name())
                .put("phase", word(plan.state().phase()))
                .put("wave", plan.state().wave() + 1)
                .put("from", stand.situation().rollout().spec().from())
                .put("to", stand.situation().rollout().spec().to())
                .put("machines", stand.situation().members().size())
                .put("failures", plan.failures())
                .put("maxFailures", plan.bound())
                .put("reason", plan.state().reason())
                .put("waitsFor", plan.waitsFor());
        json.set("waves", Json.array(plan.waves(), FleetStatus::json));
        json.set(
                "examples",
                Json.array(
                        plan.examples(),
                        example -> Json.object()
                                .put("machine", example.machine())
                                .put("standing", word(example.standing().kind()))
                                .put("reason", example.standing().why())));
        return json;
    }

    private static ObjectNode json(Wave wave) {
        ImmutableMultiset<Standing.Kind> machines = wave.machines();
        ObjectNode json = Json.object().put("machines", machines.size());
        Arrays.stream(Standing.Kind.values()).forEach(kind -> json.put(word(kind), machines.count(kind)));
        return json;
    }

    private static String wave(Stand stand) {
        return (stand.plan().state().wave() + 1) + "/" + stand.plan().waves().size();
    }

    /** As it is written in JSON: rolledBack. */
    private static String word(Enum<?> constant) {
        String[] words = constant.name().toLowerCase(Locale.ROOT).split("_", -1);
        StringBuilder word = new StringBuilder(words[0]);
        for (int i = 1; i < words.length; i++) {
            word.append(words[i].substring(0, 1).toUpperCase(Locale.ROOT)).append(words[i].substring(1));
        }
        return word.toString();
    }
}
