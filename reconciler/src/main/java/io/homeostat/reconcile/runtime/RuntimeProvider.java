package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Kind;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.reconcile.plan.KindTraits;
import java.util.function.Supplier;

/** One kind: its traits for the planner, and how its instances are seen and handled. Has a row in the services file of {@link KindTraits}. */
public interface RuntimeProvider extends KindTraits {
    /** The observer is closed by the caller. */
    Access open(Machine machine);

    /**
     * What sees the instances of a kind on a machine, and what creates and ends them.
     *
     * @param observer all that is needed by what changes nothing
     * @param runtime asked for once, by what changes something; may use what the observer has opened, until that is closed
     */
    record Access(InstanceObserver observer, Supplier<KindRuntime> runtime) {}

    /**
     * That of all kinds.
     *
     * @throws IllegalStateException when a kind has traits and nothing else
     */
    static ImmutableMap<Kind, Access> openAll(Machine machine) {
        return ImmutableMap.copyOf(Maps.transformValues(KindTraits.all(), kind -> {
            if (kind instanceof RuntimeProvider provider) {
                return provider.open(machine);
            }
            throw new IllegalStateException(kind.kind() + " is registered without a runtime");
        }));
    }

    /**
     * That of one kind.
     *
     * @throws IllegalArgumentException when it has none
     */
    static <T> T of(Kind kind, ImmutableMap<Kind, T> all) {
        T one = all.get(kind);
        if (one == null) {
            throw new IllegalArgumentException("nobody provides the runtime of " + kind);
        }
        return one;
    }
}
