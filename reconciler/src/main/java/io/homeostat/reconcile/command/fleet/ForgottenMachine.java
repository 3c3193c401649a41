package io.homeostat.reconcile.command.fleet;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Condition;
import io.homeostat.desired.etcd.KeyValues.Listing;
import io.homeostat.desired.etcd.KeyValues.Write;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;

/** A machine that was taken away for good. */
public record ForgottenMachine(String id) implements FleetAnswer {
    /**
     * Takes it away in one step, so that it is not heard of in between.
     *
     * @param where machines are registered, for people
     * @param force also when it is heard of
     * @throws CommandFailure when it is not there, or is heard of
     */
    public static ForgottenMachine forget(
            KeyValues store, FleetKeys keys, Listing listing, String where, String id, boolean force)
            throws KeyValuesException, InterruptedException {
        KeyValues.Entry machine = listing.entries().get(keys.machine(id));
        if (machine == null) {
            throw new CommandFailure("there is no machine " + id + " under " + where + ", so nothing was removed; "
                    + FleetMachine.NAMES);
        }
        ImmutableList.Builder<Condition> conditions =
                ImmutableList.<Condition>builder().add(new Condition.CreatedIn(keys.machine(id), machine.created()));
        ImmutableList.Builder<Write> writes = ImmutableList.<Write>builder().add(new Write.Delete(keys.machine(id)));
        if (force) {
            writes.add(new Write.Delete(keys.report(id)));
        } else {
            conditions.add(new Condition.CreatedIn(keys.report(id), 0));
        }
        if (store.commit(conditions.build(), writes.build()).isEmpty()) {
            throw new CommandFailure(
                    force
                            ? id + " was changed at the same time; try again"
                            : id + " is heard of, so it was not forgotten; end its agent first, or add --force:"
                                    + " it registers again as long as its agent runs");
        }
        return new ForgottenMachine(id);
    }

    @Override
    public void print(Console console) {
        console.out().println("forgotten: " + id + "; rollouts do not wait for it any more");
    }

    @Override
    public ObjectNode json() {
        return Json.versioned().put("forgotten", id);
    }
}
