package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.host.HostFacts.HostFact;
import java.time.Duration;
import java.util.Optional;

/** What the world does to a machine and to what is wanted of it. */
sealed interface WorldEvent {

    /** An event that concerns one workload. */
    sealed interface OfWorkload extends WorldEvent {
        WorkloadId id();
    }

    record Declare(SourceName source, WorkloadId id, Wish wish) implements OfWorkload {}

    record Withdraw(ImmutableSet<SourceName> sources, WorkloadId id) implements OfWorkload {}

    /** Somebody wants it to be left alone. */
    record Pause(WorkloadId id) implements OfWorkload {}

    record Resume(WorkloadId id) implements OfWorkload {}

    /** Somebody asks for it to be tried at once. */
    record RetryNow(WorkloadId id) implements OfWorkload {}

    /** Somebody asks for it to be started, also if it has completed. */
    record Start(WorkloadId id) implements OfWorkload {}

    /** Somebody asks for another launch of it, or for one of a one-shot. */
    record LaunchAgain(WorkloadId id) implements OfWorkload {}

    /**
     * Somebody has it rolled back.
     *
     * @param choice among those that were good, whatever number of them there is
     */
    record RollBack(WorkloadId id, int choice) implements OfWorkload {}

    /** What a source says of it can't be read from now on: its last good content stays in force. */
    record BreakFile(SourceName source, WorkloadId id) implements OfWorkload {}

    /** It can be read again, and says what was last written there. */
    record MendFile(SourceName source, WorkloadId id) implements OfWorkload {}

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
    record DeleteOpenFile(WorkloadId id, ObservedInstance.Loss loss) implements OfWorkload {}

    /** Somebody changes what its process was given while it ran. */
    record Deviate(WorkloadId id) implements OfWorkload {}

    /** Its process dies, and at once its number is that of somebody else's. */
    record RecyclePid(WorkloadId id) implements OfWorkload {}

    /** Somebody limits its process otherwise. */
    record SetLimits(WorkloadId id, Limits limits) implements OfWorkload {}

    /** Something is true of the machine from now on that was not; empty: there is no such attribute. */
    record SetFact(HostFact fact, Optional<String> value) implements WorldEvent {}

    /** Nobody can find out any more what is true of it. */
    record HideFact(HostFact fact) implements WorldEvent {}

    record ShowFact(HostFact fact) implements WorldEvent {}

    /** The file from which processes read variables holds this from now on; empty: it is deleted. */
    record WriteFile(Optional<String> variables) implements WorldEvent {}

    record EmptyCache() implements WorldEvent {}

    /** The wall clock is set. */
    record SetClock(Duration by) implements WorldEvent {}

    record KillAgent() implements WorldEvent {}

    /**
     * Everything that runs is gone, the boot id is another, numbers of processes begin anew; and so is what was not made durable,
     * since nobody had the time.
     */
    record Reboot() implements WorldEvent {}

    /**
     * The database can't be read any more and is set aside; the agent begins with an empty one. Sources are read again into it; what
     * was applied, and what was retained of files that can't be read, is gone.
     */
    record LoseDatabase() implements WorldEvent {}
}
