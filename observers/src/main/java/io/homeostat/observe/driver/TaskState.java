package io.homeostat.observe.driver;

import io.homeostat.proto.nomad.driver.ExitResult;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** What a driver says of a task. */
public sealed interface TaskState {
    record Runs() implements TaskState {}

    /**
     * It has ended.
     *
     * @param at null when the driver does not say
     */
    record Exited(ExitResult result, @Nullable Instant at) implements TaskState {}

    /** The driver has no such task, in its own words; something of it may run all the same. */
    record NotKnown(String words) implements TaskState {}
}
