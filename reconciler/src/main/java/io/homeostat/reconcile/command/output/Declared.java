package io.homeostat.reconcile.command.output;

import io.homeostat.desired.model.WorkloadId;
import java.util.SortedSet;
import java.util.stream.Collectors;

/** Helps whoever has mistyped a name. */
public final class Declared {
    private static final int NAMED = 20;

    private Declared() {}

    /** "declared are: plugin/a, process/b". */
    public static String words(SortedSet<WorkloadId> declared) {
        if (declared.isEmpty()) {
            return "nothing is declared here";
        }
        String names = declared.stream().limit(NAMED).map(WorkloadId::toString).collect(Collectors.joining(", "));
        return "declared are: " + names
                + (declared.size() > NAMED ? " and " + (declared.size() - NAMED) + " more" : "");
    }
}
