package io.homeostat.reconcile.record;

import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import org.jspecify.annotations.Nullable;

/** How a step ended. */
public sealed interface Outcome {

    /**
     * The step's effect is there.
     *
     * @param instance the new process of a launch; null for every other step
     * @param note for people, such as how a process was stopped; may be empty
     */
    record Done(@Nullable Instance instance, String note) implements Outcome {}

    /**
     * The step's effect is not there, or only in part.
     *
     * @param cause by which programs tell failures apart
     * @param fatal trying again can't help until the declaration changes
     */
    record Failed(FailureCause cause, String error, boolean fatal) implements Outcome {}

    /** A running instance can't be given another configuration after all. */
    record Unsupported() implements Outcome {}

    /** The step was broken off because something else became known; it will be planned again if it is still wanted. */
    record Interrupted() implements Outcome {}

    static Outcome done() {
        return new Done(null, "");
    }

    static Outcome done(String note) {
        return new Done(null, note);
    }

    static Outcome launched(Instance instance) {
        return new Done(instance, "");
    }
}
