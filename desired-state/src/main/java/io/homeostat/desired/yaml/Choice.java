package io.homeostat.desired.yaml;

import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.Workload;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Which of many documents count for one who reads them: for one machine, or for all. */
public interface Choice {
    /** All of them, of whatever machine: of two that declare a workload no machine may have both. */
    Choice ALL = new Choice() {
        @Override
        public boolean takesRollouts() {
            return true;
        }

        @Override
        public Verdict verdict(Workload workload, @Nullable ReadRollout rollout) {
            return Verdict.APPLIES;
        }

        @Override
        public boolean mayMeet(Workload one, Workload other, @Nullable ReadRollout rollout) {
            boolean inTurn = rollout != null
                    && !one.revision().equals(other.revision())
                    && rollout.spec().hasRevision(one.revision())
                    && rollout.spec().hasRevision(other.revision());
            return !inTurn && !one.placement().neverMeets(other.placement());
        }
    };

    /** Whether rollouts may be among the documents; else each is an error. */
    boolean takesRollouts();

    /**
     * Whether a document counts.
     *
     * @param rollout the one that its workload is in; null when there is none
     */
    Verdict verdict(Workload workload, @Nullable ReadRollout rollout);

    /** Whether two that count, and declare the same workload, would be in force on one machine. */
    default boolean mayMeet(Workload one, Workload other, @Nullable ReadRollout rollout) {
        return true;
    }

    /** What is said of a document. */
    sealed interface Verdict {
        Verdict APPLIES = new Applies();

        /** It counts. */
        record Applies() implements Verdict {}

        /**
         * It does not.
         *
         * @param rollout the name of the one that has decided it; empty: its placement has
         * @param reason why, for people
         */
        record NotHere(Optional<String> rollout, String reason) implements Verdict {}

        /** Nobody can tell for now; so it is an error, and what was in force before stays. */
        record Unknown(String reason) implements Verdict {}
    }

    /**
     * A rollout and where it was read.
     *
     * @param line where the document begins, from 1
     */
    record ReadRollout(String name, RolloutSpec spec, String file, int line) {}
}
