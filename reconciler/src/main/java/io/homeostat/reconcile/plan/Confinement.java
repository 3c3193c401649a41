package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.reconcile.plan.Traits.Limiting;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a workload's limits come to on this machine. When they could not be looked at, nothing is concluded: they neither lapse nor
 * stand in the way of anything.
 */
public final class Confinement {
    private final Limits declared;
    private final ObservedLimits seen;
    private final Kind kind;
    private final Limiting limiting;

    /** @param workload as declared, or as the last good revision in its place */
    public Confinement(Situation situation, Workload workload) {
        this.declared = workload.lifecycle().limits();
        this.kind = workload.id().kind();
        this.limiting = Traits.of(workload).limiting();
        if (limiting != Limiting.IN_PLACE) {
            this.seen = ObservedLimits.NONE;
        } else {
            this.seen = situation.seen().limits() instanceof Observation.Seen<ObservedLimits>(ObservedLimits limits)
                    ? limits
                    : new ObservedLimits(declared, ImmutableSortedSet.of(), ObservedLimits.NONE.obstacles());
        }
    }

    /** Why the program must not be launched; empty when it may be. */
    Optional<String> obstacle() {
        return declared.required() ? unenforceable().map(why -> "limits.required is true: " + why) : Optional.empty();
    }

    /** What of the limits can't be enforced, and why; empty when all can be, and when there are none. */
    public Optional<String> unenforceable() {
        if (limiting != Limiting.IN_PLACE) {
            return limiting == Limiting.NEVER && declared.areAny()
                    ? Optional.of("nothing limits a " + kind.title() + "; remove spec.limits")
                    : Optional.empty();
        }
        return seen.obstacles().against(declared);
    }

    /** The limits that can be enforced. */
    Limits enforceable() {
        return limiting == Limiting.IN_PLACE ? seen.obstacles().enforceable(declared) : Limits.NONE;
    }

    /** Whether those limits that can be enforced hold for the processes that run. */
    public boolean holds() {
        return differences("").isEmpty() && outside().isEmpty();
    }

    /**
     * Which limits are in force and which are declared where these differ: "memory 128Mi -> 64Mi"; empty when they agree.
     *
     * @param between what stands between the one and the other
     */
    String differences(String between) {
        Limits wanted = enforceable();
        Limits inForce = seen.obstacles().enforceable(seen.inForce());
        List<String> parts = new ArrayList<>();
        Limits memory = new Limits(wanted.memory(), null, false);
        if (!LimitObserver.agree(memory, new Limits(inForce.memory(), null, false))) {
            parts.add("memory " + words(inForce.memory()) + between + words(wanted.memory()));
        }
        if (!Objects.equals(wanted.cpu(), inForce.cpu())) {
            parts.add("cpu " + words(inForce.cpu()) + between + words(wanted.cpu()));
        }
        if (wanted.oomGroup() != inForce.oomGroup()) {
            parts.add("oomGroup " + inForce.oomGroup() + between + wanted.oomGroup());
        }
        return String.join(", ", parts);
    }

    /** Processes for which no limit holds although some should. */
    ImmutableSortedSet<Long> outside() {
        return enforceable().areAny() ? seen.outside() : ImmutableSortedSet.of();
    }

    /** "memory 64Mi, cpu 20%". */
    public static String words(Limits limits) {
        return limits.areAny()
                ? "memory " + words(limits.memory()) + ", cpu " + words(limits.cpu())
                        + (limits.oomGroup() ? ", oomGroup" : "")
                : "none";
    }

    private static String words(@Nullable Size size) {
        return size == null ? "unlimited" : Notation.text(size);
    }

    private static String words(@Nullable Cpu cpu) {
        return cpu == null ? "unlimited" : Notation.text(cpu);
    }
}
