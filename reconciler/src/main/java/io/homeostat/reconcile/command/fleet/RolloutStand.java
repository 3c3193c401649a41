package io.homeostat.reconcile.command.fleet;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.CaseFormat;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMultiset;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.FleetPlanner;
import io.homeostat.reconcile.fleet.RolloutPlan;
import io.homeostat.reconcile.fleet.RolloutPlan.Wave;
import io.homeostat.reconcile.fleet.RolloutSituation;
import io.homeostat.reconcile.fleet.Standing;
import java.time.Instant;
import java.util.Arrays;
import java.util.Optional;

/** A rollout, and how far it has come: by what is stored, which machines go by. */
public record RolloutStand(RolloutSituation situation, RolloutPlan plan) {
    private static final String NOT_BEGUN = "notBegun";

    static ImmutableList<RolloutStand> all(FleetMirror mirror, Instant now) {
        return mirror.situations(now).stream()
                .map(situation -> new RolloutStand(situation, FleetPlanner.asDecided(situation)))
                .collect(ImmutableList.toImmutableList());
    }

    String name() {
        return situation.rollout().name();
    }

    /** Who decides about all of them, for people. */
    static String leads(Optional<String> controller) {
        return controller
                .map(name -> "controller " + Text.oneLine(name) + " leads")
                .orElse("no controller leads: nothing opens; start one with homeostat fleet controller");
    }

    boolean isStopped() {
        return plan.state().phase() == Phase.HALTED || plan.state().phase() == Phase.ROLLED_BACK;
    }

    /** Whether it needs no controller any more. */
    boolean isOver() {
        return situation.hasBegun()
                && switch (plan.state().phase()) {
                    case COMPLETED, ABORTED, ROLLED_BACK -> true;
                    case PROGRESSING, PAUSED, HALTED -> false;
                };
    }

    int count(Standing.Kind kind) {
        return plan.waves().stream()
                .mapToInt(wave -> wave.machines().count(kind))
                .sum();
    }

    String phase() {
        return situation.hasBegun() ? word(plan.state().phase()) : NOT_BEGUN;
    }

    String reason() {
        return situation.hasBegun() ? plan.state().reason() : "no controller has opened it yet";
    }

    /** The wave that is open, such as 1/4; 0/4 before the first. */
    String openWave() {
        return wave(openIndex());
    }

    /** There may be fewer waves than when it was opened. */
    private int openIndex() {
        return Math.min(plan.state().wave(), plan.waves().size() - 1);
    }

    /** One of how many, such as 1/4. */
    String wave(int index) {
        return (index + 1) + "/" + plan.waves().size();
    }

    /** The wave of the machine with this index among the members. */
    int waveOf(int member) {
        int wave = 0;
        int behind = member;
        while (behind >= plan.waves().get(wave).machines().size()) {
            behind -= plan.waves().get(wave).machines().size();
            wave++;
        }
        return wave;
    }

    /** Who holds it up. */
    void printExamples(Console console) {
        plan.examples()
                .forEach(example -> console.out()
                        .println(Text.oneLine(name() + ": " + example.machine() + " "
                                + word(example.standing().kind()) + ": "
                                + example.standing().why())));
    }

    ObjectNode json() {
        ObjectNode json = Json.object()
                .put("name", name())
                .put("phase", phase())
                .put("wave", openIndex() + 1)
                .put("from", situation.rollout().spec().from())
                .put("to", situation.rollout().spec().to())
                .put("machines", situation.members().size())
                .put("failures", plan.failures())
                .put("maxFailures", plan.bound())
                .put("reason", reason())
                .put("waitsFor", plan.waitsFor());
        json.set("waves", Json.array(plan.waves(), RolloutStand::json));
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

    /** As it is written in JSON: rolledBack. */
    static String word(Enum<?> constant) {
        return CaseFormat.UPPER_UNDERSCORE.to(CaseFormat.LOWER_CAMEL, constant.name());
    }
}
