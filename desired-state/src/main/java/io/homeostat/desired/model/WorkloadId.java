package io.homeostat.desired.model;

import java.util.Comparator;
import java.util.Optional;
import java.util.regex.Pattern;

/** Names one workload: unique per kind on a machine. Sorted by kind, then by name. */
public record WorkloadId(Kind kind, String name) implements Comparable<WorkloadId> {

    /** What a workload may be called; also keeps a name from leaving its directory, so it is checked here and not only by the reader. */
    public static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");

    private static final Comparator<WorkloadId> ORDER =
            Comparator.comparing(WorkloadId::kind).thenComparing(WorkloadId::name);

    public WorkloadId {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException("bad workload name '" + name + "': must match " + NAME.pattern());
        }
    }

    public static WorkloadId plugin(String name) {
        return new WorkloadId(Kind.PLUGIN, name);
    }

    public static WorkloadId process(String name) {
        return new WorkloadId(Kind.PROCESS, name);
    }

    /** Reads {@code KIND/NAME}, the kind in any case; empty when the text is not of that form. */
    public static Optional<WorkloadId> parse(String text) {
        int slash = text.indexOf('/');
        if (slash < 0) {
            return Optional.empty();
        }
        String name = text.substring(slash + 1);
        return Kind.ofWord(text.substring(0, slash))
                .filter(kind -> NAME.matcher(name).matches())
                .map(kind -> new WorkloadId(kind, name));
    }

    @Override
    public int compareTo(WorkloadId other) {
        return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
        return kind.word() + "/" + name;
    }
}
