package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadSpec;
import java.util.ServiceLoader;

/** Provides the {@link Traits} of one kind. A provider has a row in {@code META-INF/services}. */
public interface KindTraits {
    Kind kind();

    /**
     * Whether an instance is told to start, once, as soon as it listens; else it runs once it is there. The same for every declaration
     * of the kind, so that it is known of what is no longer declared, too.
     */
    default boolean isStartedExplicitly() {
        return false;
    }

    /** Whether a launch moves the process into control groups itself, rather than having another program do it. */
    default boolean isMovedByLaunch() {
        return true;
    }

    /**
     * Whether an instance leaves something behind when it ends, such as a cgroup or a socket, and has to be destroyed after its end is
     * stored.
     */
    default boolean leavesRemains() {
        return false;
    }

    /** Whether there are fields of a declaration that only what runs on the machine can check. */
    default boolean isCheckedByMachine() {
        return false;
    }

    /**
     * The traits of a declaration.
     *
     * @param spec of this kind
     */
    Traits traits(WorkloadSpec spec);

    /**
     * Those of one kind.
     *
     * @throws IllegalArgumentException when nobody provides them
     */
    static KindTraits of(Kind kind) {
        KindTraits provider = all().get(kind);
        if (provider == null) {
            throw new IllegalArgumentException("nobody provides the traits of " + kind);
        }
        return provider;
    }

    /** Those of all kinds. */
    static ImmutableMap<Kind, KindTraits> all() {
        return Registered.ALL;
    }

    /** Apart from the interface, so that a provider can be made without all of them being collected. */
    final class Registered {
        private static final ImmutableMap<Kind, KindTraits> ALL = Maps.uniqueIndex(
                ServiceLoader.load(KindTraits.class, KindTraits.class.getClassLoader()), KindTraits::kind);

        private Registered() {}
    }
}
