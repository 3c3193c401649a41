package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.ProbeHealth;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.CommandOutput;
import io.homeostat.observe.process.PortOwners;
import io.homeostat.reconcile.runtime.Execution;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.MaskedHealth;
import io.homeostat.reconcile.secrets.SecretMask;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.Optional;

/** Asks containers how they are: by commands in them, or as processes are asked. Each question has an end. */
final class ContainerProbes implements AutoCloseable {
    /** Whose answer it was is not known, and one that fails at once mostly ends at once. */
    private static final Duration LONG_ENOUGH_ALIVE = Duration.ofSeconds(1);

    /** Of what a command says. */
    private static final int KEPT = 16 << 10;

    private final Machine machine;
    private final Containers containers;
    private final ProbeHealth probes;
    private final GuestTiming timing;

    ContainerProbes(Machine machine, Containers containers) {
        this.machine = machine;
        this.containers = containers;
        this.timing = containers.guests().timing();
        this.probes = new ProbeHealth(
                machine.clock(),
                new PortOwners(machine.layout(), machine.procFs(), new LimitObserver(machine.cgroups())));
    }

    /**
     * How one that runs is. Without a probe that is well.
     *
     * @param frozen whether it is paused: then it is as it is declared, and a command in it would never end
     */
    Health ask(Instance instance, Running running, ContainerSpec spec, boolean frozen) throws InterruptedException {
        Probe probe = spec.probe();
        if (probe == null || frozen) {
            return Health.healthy(machine.clock().instant());
        }
        SecretMask mask = DeclaredSecrets.given(new Workload(instance.workload(), ImmutableSortedMap.of(), spec));
        Duration timeout = spec.lifecycle().health().timeout();
        Probe.Exec exec = probe.exec();
        Health health = exec == null ? probes.ask(probe, timeout) : within(instance, exec.command(), timeout, mask);
        if (health.verdict() == Verdict.HEALTHY && running.age().compareTo(LONG_ENOUGH_ALIVE) < 0) {
            return failed(
                    Verdict.UNKNOWN,
                    "its probe succeeds, and it has not stayed alive for " + LONG_ENOUGH_ALIVE.toSeconds() + " s");
        }
        return MaskedHealth.masked(health, mask);
    }

    private Health within(Instance instance, ImmutableList<String> command, Duration timeout, SecretMask mask)
            throws InterruptedException {
        String what = "the probe's command " + command.getFirst();
        long end = timing.read() + timeout.toNanos();
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        ContainerExecution execution;
        try {
            execution = ContainerExecution.begin(
                    containers, instance, new Execution.Request(command, false, false), timeout);
        } catch (ActuationFailure e) {
            return notRun(what, e);
        }
        if (timing.read() - end >= 0) {
            execution.closeLater();
            return failed(Verdict.DEGRADED, what + " could not be begun in time");
        }
        try {
            while (true) {
                Optional<Execution.Event> event = execution.next(Duration.ofNanos(end - timing.read()));
                if (event.isEmpty()) {
                    return failed(Verdict.HUNG, what + " did not end within " + timeout.toMillis() + " ms");
                }
                switch (event.get()) {
                    case Execution.Event.Output(var bytes, boolean isError) -> {
                        byte[] all = bytes.toByteArray();
                        said.write(all, 0, Math.min(all.length, Math.max(0, KEPT - said.size())));
                    }
                    case Execution.Event.Ended(int status) -> {
                        if (status == 0) {
                            return Health.healthy(machine.clock().instant());
                        }
                        String words = CommandOutput.lastLines(said.toByteArray(), mask::mask);
                        return failed(
                                Verdict.UNHEALTHY,
                                what + " exited with status " + status
                                        + (words.isEmpty() ? "" : "; it said: " + words));
                    }
                }
            }
        } catch (ActuationFailure e) {
            return notRun(what, e);
        } finally {
            execution.closeLater();
        }
    }

    /** A guest that does not answer, or has too much to do, is no reason to launch it again. */
    private Health notRun(String what, ActuationFailure e) {
        boolean refused = e.failureCause().equals(FailureCause.of(FailureCause.Kind.REFUSED));
        return failed(refused ? Verdict.UNHEALTHY : Verdict.DEGRADED, what + " was not run: " + e.getMessage());
    }

    private Health failed(Verdict verdict, String problem) {
        return Health.failed(verdict, problem, machine.clock().instant());
    }

    @Override
    public void close() {
        probes.close();
    }
}
