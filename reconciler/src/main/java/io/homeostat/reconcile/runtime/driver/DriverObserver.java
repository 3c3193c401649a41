package io.homeostat.reconcile.runtime.driver;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.hcl.DriverSchema;
import io.homeostat.desired.hcl.SchemaException;
import io.homeostat.desired.model.DriverSpec;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.yaml.Explain.Explanation;
import io.homeostat.observe.FieldCheck;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.SelfDescription;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.proto.nomad.hclspec.Spec;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Absent;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Running;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Looks at processes that are drivers, and asks them. */
final class DriverObserver implements InstanceObserver {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final InstanceObserver processes;
    private final RunningDrivers drivers;
    private final Duration timeout;

    /** @param processes closed with this */
    DriverObserver(InstanceObserver processes, RunningDrivers drivers) {
        this(processes, drivers, TIMEOUT);
    }

    /** @param timeout of each call to a driver */
    DriverObserver(InstanceObserver processes, RunningDrivers drivers, Duration timeout) {
        this.timeout = timeout;
        this.processes = processes;
        this.drivers = drivers;
    }

    @Override
    public Observation<ImmutableList<ObservedInstance>> look(
            WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
        return processes.look(id, instances, checks);
    }

    @Override
    public Observation<ObservedLimits> limits(WorkloadId id, ImmutableList<ObservedInstance> found) {
        return processes.limits(id, found);
    }

    /** Another program may have another schema. */
    @Override
    public FieldCheck check(Workload declared, @Nullable Workload inForce) {
        DriverSpec spec = (DriverSpec) declared.spec();
        try {
            Running running = drivers.running(declared.id(), timeout);
            boolean same = inForce != null
                    && inForce.spec() instanceof DriverSpec now
                    && now.program().equals(spec.program())
                    && running.instance().revision().equals(spec.revision());
            return same
                    ? DriverConfig.checked(running.session().configSchema(timeout), spec.config())
                    : unchecked("another program than the one that runs is declared", spec);
        } catch (Absent e) {
            return unchecked(e.words(), spec);
        } catch (DriverFailure e) {
            return unchecked("driver " + declared.id().name() + " can't be asked: " + e.words(), spec);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return FieldCheck.NONE;
        }
    }

    @Override
    public Optional<SelfDescription> describe(WorkloadId id) {
        try {
            DriverSession session = drivers.session(id, timeout);
            DriverSession.Info plugin = session.plugin();
            return plugin == null
                    ? Optional.empty()
                    : Optional.of(
                            DriverDescription.of(plugin, session.fingerprint(timeout), session.capabilities(timeout)));
        } catch (Absent e) {
            return Optional.of(DriverDescription.unknown(e.words()));
        } catch (DriverFailure e) {
            return Optional.of(DriverDescription.unknown("driver " + id.name() + " can't be asked: " + e.words()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    @Override
    public Observation<ImmutableList<Explanation>> explain(WorkloadId id) {
        try {
            DriverSession session = drivers.session(id, timeout);
            return Observation.seen(ImmutableList.of(
                    explanation(Kind.DRIVER, "What " + id + " itself takes.", session.configSchema(timeout)),
                    explanation(
                            Kind.TASK,
                            "What a task takes that has spec.driver: " + id.name() + ".",
                            session.taskSchema(timeout))));
        } catch (Absent e) {
            return Observation.unseen(e.words() + ", so nobody knows which keys it takes; "
                    + (e.isKnown()
                            ? "homeostat status " + id + " says why"
                            : "homeostat apply -f FILE, with kind: Driver and metadata.name: " + id.name()
                                    + " in it, starts it"));
        } catch (DriverFailure e) {
            return Observation.unseen("driver " + id.name() + " can't be asked: " + e.words());
        } catch (SchemaException e) {
            return Observation.unseen(String.valueOf(e.getMessage()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Observation.unseen("interrupted while asking " + id);
        }
    }

    private static Explanation explanation(Kind kind, String description, Spec schema) throws SchemaException {
        return new Explanation(
                kind.title() + "." + String.join(".", DriverConfig.FIELD),
                kind.title(),
                "object",
                description,
                DriverSchema.of(schema).describe().stream()
                        .map(key -> new Explanation.Member(
                                String.join(".", key.path()), key.type(), key.required(), key.defaultText(), ""))
                        .collect(ImmutableList.toImmutableList()));
    }

    /** Most drivers need none. */
    private static FieldCheck unchecked(String why, DriverSpec spec) {
        return spec.config() == null ? FieldCheck.NONE : FieldCheck.unchecked(DriverConfig.FIELD, why);
    }

    @Override
    public void watch(Instance instance, Runnable ended) {
        processes.watch(instance, ended);
    }

    @Override
    public void close() {
        processes.close();
    }
}
