package io.homeostat.reconcile.runtime.process;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.actuate.launch.ProgramCommand;
import io.homeostat.actuate.stop.Signals;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.limits.AgentGroup;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.SecretMask;
import java.io.IOException;
import java.util.Objects;

/** Makes a process read its files again: by a signal, or by a command of its own. */
final class ReloadSteps {
    private final ProcFs procFs;
    private final Signals signals;
    private final CgroupLayout cgroups;

    ReloadSteps(ProcFs procFs, CgroupLayout cgroups) {
        this.cgroups = cgroups;
        this.procFs = procFs;
        this.signals = new Signals(procFs);
    }

    /** Sends a signal to the main process. */
    Outcome signal(Instance instance, String name) throws ActuationFailure {
        WorkloadId id = instance.workload();
        ProcessIdentity main = Objects.requireNonNull(instance.process());
        int signal = Signals.number(name);
        try {
            if (procFs.runs(main) && !procFs.handles(main.pid(), signal)) {
                throw new ActuationFailure(
                        FailureCause.Kind.REFUSED,
                        id.brief() + " does not handle " + name + " and was not sent it: as a rule it would end"
                                + " it; declare in spec.reload what it does handle",
                        false);
            }
            // One that is gone is found to be over by the next look.
            return signals.send(main.pid(), main.startTicks(), signal)
                    ? Outcome.done("told by " + name)
                    : new Outcome.Interrupted();
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not send " + name + " to " + id.brief() + ": " + e.getMessage(), false, e);
        }
    }

    /** The same, whether the process handles it or not. */
    void sendAnyway(Instance instance, String name) throws ActuationFailure {
        ProcessIdentity main = Objects.requireNonNull(instance.process());
        String words = "could not send " + name + " to " + instance.workload().brief() + ": ";
        try {
            if (!procFs.runs(main) || !signals.send(main.pid(), main.startTicks(), Signals.number(name))) {
                throw new ActuationFailure(
                        FailureCause.Kind.REFUSED, words + "its process " + main.pid() + " has just ended", false);
            }
        } catch (IOException e) {
            throw new ActuationFailure(words + e.getMessage(), false, e);
        }
    }

    /** Runs the command for a program, which is described as it would be launched now. */
    Outcome run(Step.Reload step, LaunchRequest program) throws ActuationFailure, InterruptedException {
        Probe.Exec exec = Objects.requireNonNull(step.how().exec());
        try {
            new ProgramCommand(program, exec, AgentGroup.apart(cgroups))
                    .run(step.declared().lifecycle().health().timeout());
            return Outcome.done("told by " + exec.command().getFirst());
        } catch (ActuationFailure e) {
            // It may quote what it was given.
            SecretMask mask = DeclaredSecrets.given(step.declared());
            program.env().values().forEach(mask::learn);
            throw new ActuationFailure(e.failureCause(), mask.mask(String.valueOf(e.getMessage())), e.fatal(), e);
        }
    }
}
