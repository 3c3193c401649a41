package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Limits;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.Health;
import io.homeostat.observe.ObservedProcess;
import java.time.Duration;

/** What the world does to a machine and to what is wanted of it. */
sealed interface Happening {

    /** A happening that concerns one workload. */
    sealed interface OfWorkload extends Happening {
        WorkloadId id();
    }

    record Declare(SourceName source, WorkloadId id, Declarations.Wish wish) implements OfWorkload {}

    record Withdraw(ImmutableSet<SourceName> sources, WorkloadId id) implements OfWorkload {}

    /** Somebody wants it to be left alone. */
    record Pause(WorkloadId id) implements OfWorkload {}

    record Resume(WorkloadId id) implements OfWorkload {}

    /** Its process is killed. */
    record Kill(WorkloadId id, int survivors) implements OfWorkload {}

    /** Its health is this from now on, until it is another or the process ends. */
    record Feel(WorkloadId id, Health.Verdict verdict) implements OfWorkload {}

    record MoveLink(WorkloadId id) implements OfWorkload {}

    /** Something that its declared revision needs is gone for good: its process ends, and so does every later one. */
    record Spoil(WorkloadId id) implements OfWorkload {}

    record DeleteInstalls(WorkloadId id) implements OfWorkload {}

    /** Files of its installations are changed, deleted or lose their rights. */
    record DamageInstalls(WorkloadId id) implements OfWorkload {}

    /** A file that its process holds open is deleted. */
    record DeleteOpenFile(WorkloadId id, ObservedProcess.Loss loss) implements OfWorkload {}

    /** Its process dies, and at once its number is that of somebody else's. */
    record RecyclePid(WorkloadId id) implements OfWorkload {}

    /** Somebody limits its process otherwise. */
    record SetLimits(WorkloadId id, Limits limits) implements OfWorkload {}

    record EmptyCache() implements Happening {}

    /** The wall clock is set. */
    record SetClock(Duration by) implements Happening {}

    record KillAgent() implements Happening {}

    /** Everything that runs is gone, the boot id is another, numbers of processes begin anew. */
    record Reboot() implements Happening {}

    /** The database can't be read any more and is set aside; the agent begins with an empty one. */
    record LoseDatabase() implements Happening {}
}
