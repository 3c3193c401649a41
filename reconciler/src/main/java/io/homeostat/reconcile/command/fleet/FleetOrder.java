package io.homeostat.reconcile.command.fleet;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutOrder;
import io.homeostat.desired.fleet.RolloutOrder.Action;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.RolloutSituation;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * An order for a rollout that was given.
 *
 * @param isLed whether there is a controller that follows it now
 */
public record FleetOrder(String rollout, Action action, boolean isLed) implements FleetAnswer {
    /**
     * Gives one, for the rollout as it is published now.
     *
     * @param by who orders it, for people
     * @throws CommandFailure when there is no such rollout, or nobody can tell how it stands
     */
    public static FleetOrder give(
            KeyValues store, FleetKeys keys, FleetMirror mirror, String name, Action action, String by, Instant now)
            throws KeyValuesException, InterruptedException {
        Rollout rollout = mirror.situations(now).stream()
                .map(RolloutSituation::rollout)
                .filter(one -> one.name().equals(name))
                .findFirst()
                .orElseThrow(() -> FleetRollouts.unknown(keys, mirror, name));
        RolloutOrder order = new RolloutOrder(rollout.digest(), action, now.truncatedTo(ChronoUnit.MILLIS), by);
        store.commit(
                ImmutableList.of(),
                ImmutableList.of(new KeyValues.Write.Put(
                        keys.order(name),
                        ByteString.copyFromUtf8(new RecordCodec(new JsonMapper()).write(order)),
                        KeyValues.NO_LEASE)));
        return new FleetOrder(name, action, mirror.leader().isPresent());
    }

    @Override
    public void print(Console console) {
        console.out()
                .println("ordered: " + RolloutStand.word(action) + " " + rollout + "; "
                        + (isLed
                                ? "the controller that leads follows"
                                : "no controller leads; it takes effect when one does"));
    }

    @Override
    public ObjectNode json() {
        return Json.versioned().put("rollout", rollout).put("order", RolloutStand.word(action));
    }
}
