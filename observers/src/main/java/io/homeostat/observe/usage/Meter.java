package io.homeostat.observe.usage;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Instance;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Measures what one workload uses. Used by one thread, which others wait for: a measurement takes no time to speak of. */
public interface Meter extends AutoCloseable {
    /** The workload may have been moved into control groups, or out of them. */
    default void moved() {}

    /**
     * Measures; empty when none of its processes run, or nobody knows yet what they use.
     *
     * @param interval from one measurement to the next
     * @throws IOException when it cannot be measured; the next measurement is then a first one
     */
    Optional<Measured> measure(ImmutableList<Instance> launches, Duration interval, Processes processes)
            throws IOException;

    /** The workload is not measured any more. */
    @Override
    default void close() {}

    /** A measurement; without CPU time if it is the first one. */
    record Measured(long nanos, @Nullable Long processorNanos, long memoryBytes) {}

    /** Provides the current processes of the machine, the same for all who ask at the same time. */
    interface Processes {
        ProcessTable now() throws IOException;

        /** These at least. */
        ProcessTable of(Set<Long> pids) throws IOException;
    }
}
