package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Text;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;

/** The fields that requests to an agent have in common. What is read here was written by anybody, and is checked as if typed. */
public final class RequestFields {
    /** How long a command waits by default. */
    public static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(2);

    private static final Duration LONGEST = Duration.ofDays(366);

    private RequestFields() {}

    static ImmutableList<String> words(ImmutableList<WorkloadId> workloads) {
        return workloads.stream().map(WorkloadId::toString).collect(ImmutableList.toImmutableList());
    }

    static ImmutableList<WorkloadId> workloads(List<String> words) {
        return words.stream().map(RequestFields::workload).collect(ImmutableList.toImmutableList());
    }

    /** @throws UsageException when there are none */
    static ImmutableList<WorkloadId> someWorkloads(List<String> words) {
        if (words.isEmpty()) {
            throw new UsageException("workloads: none, and at least one is needed");
        }
        return workloads(words);
    }

    /** A workload by its name, or a {@link UsageException}. */
    public static WorkloadId workload(String word) {
        return WorkloadId.parse(word)
                .filter(id -> !id.name().isEmpty())
                .orElseThrow(() -> new UsageException(
                        "'" + Text.oneLine(word) + "' names no workload; write KIND/NAME, such as plugin/ops-agent"));
    }

    /** A number of lines or events, or a {@link UsageException}. */
    static OptionalInt count(String field, boolean given, int count) {
        if (given && count < 0) {
            throw new UsageException(field + ": " + count + " is less than nothing");
        }
        return given ? OptionalInt.of(count) : OptionalInt.empty();
    }

    /** A timeout as protobuf has it, of at most a year. */
    public static com.google.protobuf.Duration timeout(Duration duration) {
        Duration bounded = duration.compareTo(LONGEST) > 0 ? LONGEST : duration;
        return com.google.protobuf.Duration.newBuilder()
                .setSeconds(bounded.getSeconds())
                .setNanos(bounded.getNano())
                .build();
    }

    /** A timeout between nothing and a year, or the default when none is given. */
    public static Duration timeout(boolean given, com.google.protobuf.Duration timeout) {
        if (!given) {
            return DEFAULT_TIMEOUT;
        }
        boolean sensible = timeout.getSeconds() >= 0
                && timeout.getSeconds() <= LONGEST.toSeconds()
                && timeout.getNanos() >= 0
                && timeout.getNanos() < 1_000_000_000
                && timeout.getSeconds() + timeout.getNanos() > 0;
        if (!sensible) {
            throw new UsageException("timeout: not between nothing and " + LONGEST.toDays() + " days");
        }
        return Duration.ofSeconds(timeout.getSeconds(), timeout.getNanos());
    }
}
