package io.homeostat.reconcile.plan;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Instance;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * What a one-shot does when it runs, as one hash. Another revision, archive, entry point, user, configuration, other arguments or
 * another environment is other work, which has not been done yet; a renewed URL, another limit, timeout, trigger or label is not.
 */
public final class Work {
    /** Beside the hashes of {@link LaunchInputs}; an instance that has none is a daemon's. */
    static final String INPUT = "work";

    private Work() {}

    /** Whether an instance was launched to run to its end. */
    public static boolean isOneShot(Instance instance) {
        return instance.inputs().containsKey(INPUT);
    }

    public static String of(Workload workload) {
        Source source = workload.source();
        String archive = source == null ? "" : source.archiveKey(workload.id(), workload.revision());
        String all = String.join(
                "\0",
                workload.revision(),
                archive,
                LaunchInputs.of(workload).toString(),
                Traits.of(workload).configIsLimits() ? "" : Traits.of(workload).configHash());
        return Hashing.sha256().hashString(all, StandardCharsets.UTF_8).toString();
    }

    /** Which work an instance was launched for; empty for a daemon's. */
    public static Optional<String> of(Instance instance) {
        return Optional.ofNullable(instance.inputs().get(INPUT));
    }
}
