package io.homeostat.reconcile.status;

import com.google.common.collect.ImmutableList;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.install.Installation;
import io.homeostat.reconcile.plan.Situation;
import java.util.Optional;

/** What of a situation could be seen; what could not is absent here, and a condition says so. */
final class Sight {
    private Sight() {}

    static ImmutableList<ObservedInstance> processes(Situation situation) {
        return seen(situation.seen().processes()).orElse(ImmutableList.of());
    }

    /** The revision that the workload's symlink points to. */
    static Optional<String> activeRevision(Situation situation) {
        Optional<String> active = seen(situation.seen().active()).flatMap(link -> link);
        ImmutableList<Installation> installations =
                seen(situation.seen().installations()).orElse(ImmutableList.of());
        return active.flatMap(directory -> installations.stream()
                .filter(installation -> installation.directory().equals(directory))
                .map(Installation::revision)
                .findFirst());
    }

    private static <T> Optional<T> seen(Observation<T> look) {
        return switch (look) {
            case Observation.Seen<T>(T value) -> Optional.of(value);
            case Observation.Unseen<T>(String why) -> Optional.empty();
        };
    }
}
