package io.homeostat.reconcile.runtime.task;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.primitives.Bytes;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.driver.TaskAccess;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.ProbeHealth;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.CommandOutput;
import io.homeostat.observe.process.PortOwners;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Absent;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.MaskedHealth;
import io.homeostat.reconcile.secrets.SecretMask;
import java.time.Duration;

/**
 * Asks tasks how they are: by commands that their driver runs inside of them, or as processes are asked. No probe waits for that of
 * another task, and each has an end.
 */
final class TaskProbes implements AutoCloseable {
    /** Whose answer it was is not known, and one that fails at once mostly ends at once. */
    private static final Duration LONG_ENOUGH_ALIVE = Duration.ofSeconds(1);

    /** Of what a command says. */
    private static final int KEPT = 16 << 10;

    private final Machine machine;
    private final Tasks tasks;
    private final ProbeHealth probes;

    TaskProbes(Machine machine, Tasks tasks) {
        this.machine = machine;
        this.tasks = tasks;
        this.probes = new ProbeHealth(
                machine.clock(),
                new PortOwners(machine.layout(), machine.procFs(), new LimitObserver(machine.cgroups())));
    }

    /** Why a probe is impossible with this driver; empty when it is possible. */
    static String refusal(TaskSpec spec, DriverCapabilities capabilities) {
        Probe probe = spec.probe();
        return probe != null && probe.exec() != null && !capabilities.getExec() ? impossible(spec) : "";
    }

    private static String impossible(TaskSpec spec) {
        return "spec.probe.exec: its driver " + spec.driver()
                + " can't run commands in tasks; use http, tcp or grpc, or remove the probe";
    }

    /** One that runs, with its health. */
    Running asked(Instance instance, Running running, TaskSpec spec, Probe probe) throws InterruptedException {
        Duration timeout = spec.lifecycle().health().timeout();
        SecretMask mask = DeclaredSecrets.given(new Workload(instance.workload(), ImmutableSortedMap.of(), spec));
        Probe.Exec exec = probe.exec();
        Health health = exec == null
                ? probes.ask(probe, timeout)
                : within(instance, running, spec, exec.command(), timeout, mask);
        if (health.verdict() == Verdict.HEALTHY && running.age().compareTo(LONG_ENOUGH_ALIVE) < 0) {
            health = failed(
                    Verdict.UNKNOWN,
                    "its probe succeeds, and it has not stayed alive for " + LONG_ENOUGH_ALIVE.toSeconds() + " s");
        }
        return new Running(
                running.identity(),
                running.age(),
                running.listening(),
                MaskedHealth.masked(health, mask),
                running.lost());
    }

    private Health within(
            Instance instance,
            Running running,
            TaskSpec spec,
            ImmutableList<String> command,
            Duration timeout,
            SecretMask mask)
            throws InterruptedException {
        String what = "the probe's command " + command.get(0);
        Identity.Task task = (Identity.Task) running.identity();
        try {
            DriverSession session = tasks.session(task.driver(), timeout);
            if (!session.capabilities(timeout).getExec()) {
                return failed(Verdict.UNKNOWN, impossible(spec));
            }
            TaskAccess.Result result = session.tasks().exec(task.taskId(), command, timeout, KEPT);
            if (result.status() == 0) {
                return Health.healthy(machine.clock().instant());
            }
            String said = CommandOutput.lastLines(
                    Bytes.concat(result.output().toByteArray(), result.error().toByteArray()), mask::mask);
            return failed(
                    Verdict.UNHEALTHY,
                    what + " exited with status " + result.status() + (said.isEmpty() ? "" : "; it said: " + said));
        } catch (Absent e) {
            return failed(Verdict.UNKNOWN, what + " can't be run: its " + e.words());
        } catch (DriverFailure e) {
            if (e.failureCause().kind() == FailureCause.Kind.TIMED_OUT) {
                return failed(Verdict.HUNG, what + " did not end within " + timeout.toMillis() + " ms");
            }
            boolean nobodyTold = e.isSilence() || e.isUnimplemented();
            return failed(
                    nobodyTold ? Verdict.UNKNOWN : Verdict.UNHEALTHY,
                    what + " was not run by the driver " + task.driver() + " of "
                            + instance.workload().brief() + ": " + e.words());
        }
    }

    private Health failed(Verdict verdict, String problem) {
        return Health.failed(verdict, problem, machine.clock().instant());
    }

    @Override
    public void close() {
        probes.close();
    }
}
