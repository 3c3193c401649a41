package io.homeostat.reconcile.command.fleet;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.RolloutOrder;
import io.homeostat.desired.fleet.RolloutOrder.Action;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.FleetPlanner;
import io.homeostat.reconcile.fleet.RolloutSituation;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * An order for a rollout that was given.
 *
 * @param controller the one that leads, which follows it now; empty: none does
 */
public record FleetOrder(String rollout, Action action, Optional<String> controller) implements FleetAnswer {
    /**
     * Gives one, for the rollout as it is published now.
     *
     * @param by who orders it, for people
     * @throws CommandFailure when there is no such rollout, nobody can tell how it stands, or it can't follow
     */
    public static FleetOrder give(
            KeyValues store, FleetKeys keys, FleetMirror mirror, String name, Action action, String by, Instant now)
            throws KeyValuesException, InterruptedException {
        RolloutSituation situation = mirror.situations(now).stream()
                .filter(one -> one.rollout().name().equals(name))
                .findFirst()
                .orElseThrow(() -> FleetRollouts.unknown(keys, mirror, name));
        requireUse(situation, action);
        RolloutOrder order =
                new RolloutOrder(situation.rollout().digest(), action, now.truncatedTo(ChronoUnit.MILLIS), by);
        store.commit(
                ImmutableList.of(),
                ImmutableList.of(new KeyValues.Write.Put(
                        keys.order(name),
                        ByteString.copyFromUtf8(new RecordCodec(new JsonMapper()).write(order)),
                        KeyValues.NO_LEASE)));
        return new FleetOrder(name, action, mirror.leader());
    }

    /** Nobody knows what comes of it where no state is written yet, or where it replaces an order that is still to be followed. */
    private static void requireUse(RolloutSituation situation, Action action) {
        RolloutState state = situation.state();
        if (state == null
                || !situation.hasBegun()
                || situation.hasNewOrder()
                || FleetPlanner.changes(state.phase(), action)) {
            return;
        }
        String others = Arrays.stream(Action.values())
                .filter(other -> FleetPlanner.changes(state.phase(), other))
                .map(RolloutStand::word)
                .collect(Collectors.joining(", "));
        throw new CommandFailure("rollout " + situation.rollout().name() + " is "
                + state.phase().name().toLowerCase(Locale.ROOT).replace('_', ' ')
                + ", and " + RolloutStand.word(action)
                + " would change nothing, so it was not ordered; what can be ordered: "
                + others);
    }

    @Override
    public void print(Console console) {
        console.out()
                .println("ordered: " + RolloutStand.word(action) + " " + rollout + "; "
                        + (controller.isPresent()
                                ? "the controller that leads follows"
                                : "no controller leads; it takes effect when one does"));
    }

    @Override
    public ObjectNode json() {
        return Json.versioned()
                .put("rollout", rollout)
                .put("order", RolloutStand.word(action))
                .put("controller", controller.orElse(""));
    }
}
