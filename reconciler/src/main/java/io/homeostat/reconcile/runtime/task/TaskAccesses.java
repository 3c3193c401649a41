package io.homeostat.reconcile.runtime.task;

import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.reconcile.runtime.Execution;
import io.homeostat.reconcile.runtime.KindRuntime.Signalable.Sending;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Absent;
import java.util.function.Predicate;

/** Signals and commands for tasks that run, through their drivers. */
final class TaskAccesses {
    /** Not in every release of the list by which drivers of Nomad read names; what is not there some take for SIGINT. */
    private static final ImmutableSet<String> RARE =
            ImmutableSet.of("SIGCHLD", "SIGURG", "SIGVTALRM", "SIGPWR", "SIGSTKFLT");

    private final Tasks tasks;

    TaskAccesses(Tasks tasks) {
        this.tasks = tasks;
    }

    Sending prepareSignal(Instance instance, String signal) throws ActuationFailure, InterruptedException {
        Identity.Task task = identity(instance);
        DriverSession session =
                session(instance, task, DriverCapabilities::getSendSignals, "sends no signals to tasks (send_signals)");
        if (RARE.contains(signal)) {
            throw refused("drivers may not know " + signal + ", and some send SIGINT for what they do not know");
        }
        return () -> {
            try {
                session.tasks().signal(task.taskId(), signal, tasks.timeout());
            } catch (DriverFailure e) {
                throw failed(
                        "could not send " + signal + " to "
                                + instance.workload().brief(),
                        e);
            }
        };
    }

    Execution exec(Instance instance, Execution.Request request) throws ActuationFailure, InterruptedException {
        Identity.Task task = identity(instance);
        DriverSession session =
                session(instance, task, DriverCapabilities::getExec, "runs no commands in tasks (exec)");
        return TaskExecution.begin(session, task, request);
    }

    private static Identity.Task identity(Instance instance) throws ActuationFailure {
        return Tasks.identity(instance)
                .orElseThrow(() -> refused(instance.workload().brief() + " has not been started yet"));
    }

    private DriverSession session(
            Instance instance, Identity.Task task, Predicate<DriverCapabilities> can, String cannot)
            throws ActuationFailure, InterruptedException {
        String driver = task.driver();
        try {
            DriverSession session = tasks.session(driver, tasks.timeout());
            if (!can.test(session.capabilities(tasks.timeout()))) {
                throw refused("the driver " + driver + " of "
                        + instance.workload().brief() + " " + cannot + ", as it says itself");
            }
            return session;
        } catch (Absent e) {
            throw new ActuationFailure(
                    FailureCause.Kind.NO_CONNECTION,
                    instance.workload().brief() + " can't be reached: its " + e.words(),
                    false);
        } catch (DriverFailure e) {
            throw failed("could not ask the driver " + driver + " what it can do", e);
        }
    }

    private static ActuationFailure refused(String why) {
        return new ActuationFailure(FailureCause.Kind.REFUSED, why, false);
    }

    static ActuationFailure failed(String what, DriverFailure e) {
        return new ActuationFailure(e.failureCause(), what + ": " + e.words(), false, e);
    }
}
