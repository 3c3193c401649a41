package io.homeostat.reconcile.command.fleet;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMultiset;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Table;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.Standing;
import java.time.Instant;
import java.util.Optional;

/**
 * How the waves of rollouts fare.
 *
 * @param controller the one that leads; empty: none does
 */
public record FleetRollouts(Optional<String> controller, ImmutableList<RolloutStand> rollouts) implements FleetAnswer {
    /**
     * Looks at all of them, or at one.
     *
     * @throws CommandFailure when there is none of this name, or nobody can tell how it stands
     */
    public static FleetRollouts of(FleetKeys keys, FleetMirror mirror, Optional<String> name, Instant now) {
        ImmutableList<RolloutStand> rollouts = RolloutStand.all(mirror, now).stream()
                .filter(stand -> name.isEmpty() || name.get().equals(stand.name()))
                .collect(ImmutableList.toImmutableList());
        if (name.isPresent() && rollouts.isEmpty()) {
            throw unknown(keys, mirror, name.get());
        }
        return new FleetRollouts(mirror.leader(), rollouts);
    }

    /** There is no such rollout among those that can be read. */
    public static CommandFailure unknown(FleetKeys keys, FleetMirror mirror, String name) {
        String problem = mirror.problems().get(keys.rollout(name));
        if (problem != null && mirror.rollouts().contains(name)) {
            return new CommandFailure(
                    "nobody can tell how rollout " + name + " stands, so no controller decides about it: "
                            + keys.rollout(name) + " " + Text.oneLine(problem)
                            + "; remove that key from etcd, and it begins anew, while machines keep what they have");
        }
        String unread = mirror.problems().get(keys.set());
        if (unread != null) {
            return new CommandFailure("nobody can tell which rollouts are published: " + keys.set() + " "
                    + Text.oneLine(unread) + "; publish a set in its place");
        }
        return new CommandFailure("there is no rollout " + name + "; "
                + (mirror.rollouts().isEmpty()
                        ? "none is published in " + keys.set() + ": publish one, or name another file with --config"
                        : "published are " + String.join(", ", mirror.rollouts())));
    }

    @Override
    public void print(Console console) {
        if (rollouts.isEmpty()) {
            console.out().println("no rollout is published");
            return;
        }
        console.out().println(RolloutStand.leads(controller));
        Table table = new Table(
                "ROLLOUT", "PHASE", "WAVE", "MACHINES", "NOT ITS TURN", "DONE", "WAITING", "SILENT", "FAILED");
        for (RolloutStand stand : rollouts) {
            for (int i = 0; i < stand.plan().waves().size(); i++) {
                ImmutableMultiset<Standing.Kind> machines =
                        stand.plan().waves().get(i).machines();
                table.row(
                        stand.name(),
                        stand.phase(),
                        stand.wave(i),
                        String.valueOf(machines.size()),
                        String.valueOf(machines.count(Standing.Kind.NOT_ITS_TURN)),
                        String.valueOf(machines.count(Standing.Kind.DONE)),
                        String.valueOf(machines.count(Standing.Kind.WAITING)),
                        String.valueOf(machines.count(Standing.Kind.SILENT)),
                        String.valueOf(machines.count(Standing.Kind.FAILED)));
            }
        }
        table.print(console.out(), console.ansi());
        for (RolloutStand stand : rollouts) {
            String waitsFor = stand.plan().waitsFor();
            console.out()
                    .println(Text.oneLine(stand.name() + ": " + stand.reason()
                            + (waitsFor.isEmpty() ? "" : "; waits for " + waitsFor)));
            stand.printExamples(console);
        }
    }

    @Override
    public ObjectNode json() {
        ObjectNode json = Json.versioned().put("controller", controller.orElse(""));
        json.set("rollouts", Json.array(rollouts, RolloutStand::json));
        return json;
    }
}
