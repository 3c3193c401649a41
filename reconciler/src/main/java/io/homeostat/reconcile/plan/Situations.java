package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The one way to a {@link Situation}, for the loop, for a dry run and for status alike: looks at one workload and puts beside it what
 * is wanted and what is remembered.
 */
public final class Situations {
    /** What to ask running instances. */
    public enum Depth {
        /** Nothing: that they run is enough, as it is for a plan. */
        PRESENCE,
        /** How they are, in the way their declaration says; an exec probe runs its command. */
        HEALTH
    }

    private final Observer observer;
    private final Function<WorkloadId, Remembered> memory;
    private final LongSupplier seed;
    private final InstantSource clock;

    public Situations(
            Observer observer, Function<WorkloadId, Remembered> memory, LongSupplier seed, InstantSource clock) {
        this.observer = observer;
        this.memory = memory;
        this.seed = seed;
        this.clock = clock;
    }

    /**
     * Looks at one workload.
     *
     * @param desired what is wanted; it need not be
     * @param relations how those fare that matter to it, on a machine like that and with such a history
     * @param archives keys of the complete archives in the cache
     */
    public Situation look(
            WorkloadId id,
            DesiredState desired,
            BiFunction<HostFacts, WorkloadHistory, Relations> relations,
            ImmutableSet<String> archives,
            Depth depth) {
        Declaration declared = desired.get(id).orElse(null);
        Remembered remembered = memory.apply(id);
        // Whoever has paused it may still want it.
        boolean withdrawn = declared == null
                && remembered.history().isOfSomethingDeclared()
                && (remembered.pause() == null || DependencyGraph.isStopped(remembered));
        Checks checks = Judgement.checks(declared, remembered.history(), clock.instant());
        ObservedWorkload seen = observer.look(
                id,
                remembered.instances(),
                withdrawn
                        ? Checks.withdrawn(other -> desired.get(other).isPresent())
                        : depth == Depth.PRESENCE ? Checks.NONE : checks);
        HostFacts host = observer.host(HostFact.askedBy(declared));
        return new Situation(
                declared,
                desired.policy(),
                (remembered.hasRemains() ? seen.withResidue() : seen)
                        .withFiles(files(declared, remembered))
                        .withRefusal(declared == null ? "" : observer.refusal(declared.workload())),
                host,
                relations.apply(host, remembered.history()),
                archives,
                remembered.history(),
                remembered.pause(),
                checks,
                seed.getAsLong(),
                clock.instant());
    }

    /** Those of what is declared, and of what was last seen well, which may have to take its place. */
    private ImmutableMap<String, FileContent> files(@Nullable Declaration declared, Remembered remembered) {
        Map<String, FileContent> files = new HashMap<>();
        Stream.concat(
                        Stream.ofNullable(declared).map(Declaration::workload),
                        remembered.history().standIns().stream().map(LastKnownGood::workload))
                .forEach(workload -> observer.files(
                                workload.spec().runsAs(),
                                Sets.difference(Traits.of(workload).files(), files.keySet())
                                        .immutableCopy())
                        .forEach(files::put));
        return ImmutableMap.copyOf(files);
    }
}
