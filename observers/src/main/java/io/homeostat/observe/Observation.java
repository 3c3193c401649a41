package io.homeostat.observe;

import java.util.function.Function;

/** What was seen, or why nothing could be seen, which is not the same as "not there". */
public sealed interface Observation<T> {

    /** The look succeeded. */
    record Seen<T>(T value) implements Observation<T> {}

    /** The look failed: nothing is known, and nothing may be concluded. */
    record Unseen<T>(String why) implements Observation<T> {}

    static <T> Observation<T> seen(T value) {
        return new Seen<>(value);
    }

    static <T> Observation<T> unseen(String why) {
        return new Unseen<>(why);
    }

    default <R> Observation<R> map(Function<? super T, ? extends R> change) {
        return switch (this) {
            case Seen<T>(T value) -> new Seen<>(change.apply(value));
            case Unseen<T>(String why) -> new Unseen<>(why);
        };
    }

    /** For whom nothing seen is as good as this. */
    default T orElse(T other) {
        return this instanceof Seen<T>(T value) ? value : other;
    }
}
