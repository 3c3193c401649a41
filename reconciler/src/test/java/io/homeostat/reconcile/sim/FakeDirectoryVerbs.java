package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.install.Installation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;

/** The steps that change directories, as coarse as the real ones are atomic and as durable as those are. */
final class FakeDirectoryVerbs {
    private final FaultInjector faults;
    private final VirtualClock clock;
    private final FakeDisk disk;
    private final FakeProcesses processes;
    private final StepRules rules;
    private final Interlude may;

    /** A point between two effects. */
    @FunctionalInterface
    interface Interlude {
        /**
         * Lets happen what may happen here.
         *
         * @throws AgentCrash when the agent dies here
         */
        void die(WorkloadId id, String where);
    }

    FakeDirectoryVerbs(
            FaultInjector faults,
            VirtualClock clock,
            FakeDisk disk,
            FakeProcesses processes,
            StepRules rules,
            Interlude may) {
        this.faults = faults;
        this.clock = clock;
        this.disk = disk;
        this.processes = processes;
        this.rules = rules;
        this.may = may;
    }

    Outcome download(Step.Download step) {
        if (Behaviour.of(step.key()) == Behaviour.UNFETCHABLE) {
            return new Outcome.Failed(
                    FailureCause.of(FailureCause.Kind.HTTP_STATUS),
                    "404",
                    faults.pick(FaultInjector.Draw.WHETHER_FATAL, step.workload(), 100) < 30);
        }
        if (faults.strikes(Fault.DOWNLOAD_BREAKS, step.workload())) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.CONNECTION_LOST), "connection reset", false);
        }
        if (faults.strikes(Fault.DOWNLOAD_CRAWLS, step.workload())) {
            clock.advance(step.source().timeout());
        }
        may.die(step.workload(), "in the middle of a download");
        if (Thread.currentThread().isInterrupted()) {
            return new Outcome.Interrupted();
        }
        disk.putArchive(step.key());
        may.die(step.workload(), "before an archive is durable");
        disk.syncArchives();
        return Outcome.done();
    }

    Outcome unpack(Step.Unpack step) {
        WorkloadId id = step.workload();
        if (!disk.archives.contains(step.key())) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.FILE_MISSING), "no such archive", false);
        }
        rules.beforeUnpack(step);
        disk.residue.add(id);
        may.die(id, "in the middle of unpacking");
        if (Thread.currentThread().isInterrupted()) {
            return new Outcome.Interrupted();
        }
        if (faults.strikes(Fault.UNPACK_FAILS, id)) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.DISK_FULL), "disk full", false);
        }
        if (disk.installs(id).containsKey(step.directory())) {
            // As in reality: what is there is not unpacked again.
            disk.syncInstalls(id);
            return Outcome.done();
        }
        disk.putInstall(id, new Installation(step.directory(), step.revision(), step.key(), step.key()));
        may.die(id, "before an installation is durable");
        disk.syncInstalls(id);
        return Outcome.done();
    }

    Outcome activate(Step.Activate step) {
        if (faults.strikes(Fault.ACTIVATE_FAILS, step.workload())) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.INPUT_OUTPUT), "read-only", false);
        }
        if (step.directory() != null && !disk.installs(step.workload()).containsKey(step.directory())) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.FILE_MISSING), "no such directory", false);
        }
        disk.link(step.workload(), step.directory());
        may.die(step.workload(), "before a symlink is durable");
        disk.syncInstalls(step.workload());
        return Outcome.done();
    }

    Outcome remove(Step.Remove step) {
        WorkloadId id = step.workload();
        rules.beforeRemove(step);
        disk.link(id, null);
        may.die(id, "in the middle of removing");
        disk.syncInstalls(id);
        for (String directory : ImmutableSet.copyOf(disk.installs(id).keySet())) {
            disk.takeInstall(id, directory);
            may.die(id, "before the removal of an installation is durable");
            disk.syncInstalls(id);
        }
        if (faults.strikes(Fault.REMOVE_FAILS, id)) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.INPUT_OUTPUT), "busy", false);
        }
        processes.forgetAllBut(ImmutableSet.of(), id);
        may.die(id, "before the removal of notes is durable");
        processes.syncNotes(id);
        disk.forget(id);
        return Outcome.done();
    }

    Outcome collect(Step.CollectGarbage step) {
        disk.syncInstalls(step.workload());
        for (String directory : step.directories()) {
            rules.beforeCollect(step, directory);
            if (faults.strikes(Fault.COLLECT_FAILS, step.workload())) {
                return new Outcome.Failed(FailureCause.of(FailureCause.Kind.INPUT_OUTPUT), "busy", false);
            }
            disk.takeInstall(step.workload(), directory);
            may.die(step.workload(), "in the middle of collecting garbage");
            disk.syncInstalls(step.workload());
        }
        return Outcome.done();
    }
}
