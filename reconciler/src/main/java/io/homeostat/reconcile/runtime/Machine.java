package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.launch.Keepers;
import io.homeostat.actuate.launch.LogTurns;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateStore;
import io.homeostat.observe.driver.DriverSessions;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.UnknownLaunches;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.LaunchedValues;
import io.homeostat.reconcile.secrets.SecretMask;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * What all kinds share; used, not closed.
 *
 * @param unknown what runs although nothing is remembered of it
 * @param instances what is remembered of those of a workload
 * @param launched what programs are launched with is remembered here
 * @param keepers the children that keep launches
 * @param logTurns taken by whoever appends to a log or rotates it
 * @param events takes what others tell of workloads, in their words
 * @param adopts whether what runs is taken over when it is looked at: what it prints, and how it ends, has one reader
 * @param drivers the connections to drivers, which their kind closes
 */
public record Machine(
        Layout layout,
        ProcFs procFs,
        CgroupLayout cgroups,
        UnknownLaunches unknown,
        InstantSource clock,
        Function<WorkloadId, ImmutableList<Instance>> instances,
        LaunchedValues launched,
        Keepers keepers,
        boolean adopts,
        DriverSessions drivers,
        LogTurns logTurns,
        Consumer<Event> events) {
    /** For whoever looks after it. */
    public Machine(
            Layout layout,
            ProcFs procFs,
            InstantSource clock,
            Function<WorkloadId, ImmutableList<Instance>> instances) {
        this(layout, procFs, new UnknownLaunches(layout, procFs), clock, instances, true);
    }

    private Machine(
            Layout layout,
            ProcFs procFs,
            UnknownLaunches unknown,
            InstantSource clock,
            Function<WorkloadId, ImmutableList<Instance>> instances,
            boolean adopts) {
        this(
                layout,
                procFs,
                CgroupLayout.detect(layout),
                unknown,
                clock,
                instances,
                new LaunchedValues(),
                new Keepers(),
                adopts,
                new DriverSessions(layout, procFs, clock, adopts, new LocalDisk()::replace),
                new LogTurns(),
                event -> {});
    }

    /** The same, where what others tell of workloads is recorded, with the secrets masked that these were given. */
    public Machine recording(StateStore store, Function<WorkloadId, Optional<Declaration>> declared) {
        drivers.hearEvents();
        return new Machine(
                layout,
                procFs,
                cgroups,
                unknown,
                clock,
                instances,
                launched,
                keepers,
                adopts,
                drivers,
                logTurns,
                event -> store.record(masked(store, declared, event)));
    }

    private Event masked(StateStore store, Function<WorkloadId, Optional<Declaration>> declared, Event event) {
        WorkloadId id = event.workload();
        if (id == null) {
            return event;
        }
        SecretMask mask = DeclaredSecrets.everGiven(
                declared.apply(id).map(Declaration::workload).stream(), store.history(id), store.revisions(id));
        launched.learn(id, mask);
        return event.withMessage(mask.mask(event.message()));
    }

    /** For whoever only looks, and leaves all as it is. */
    public static Machine toLookAt(
            Layout layout,
            ProcFs procFs,
            UnknownLaunches unknown,
            InstantSource clock,
            Function<WorkloadId, ImmutableList<Instance>> instances) {
        return new Machine(layout, procFs, unknown, clock, instances, false);
    }

    /** How long ago an instance was launched, by the clock; none when that was set back since. */
    public Duration age(Instance instance) {
        Duration age = Duration.between(instance.launchedAt(), clock.instant());
        return age.isNegative() ? Duration.ZERO : age;
    }

    /** The parent's instance that this one was launched in; empty when there was none, and when it has ended. */
    public Optional<Instance> parent(Instance instance) {
        return LaunchInputs.parent(instance, instances);
    }
}
