package io.homeostat.reconcile.logs;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.SecretMask;
import java.util.Optional;
import java.util.function.Function;

/** The end of a workload's log. */
public interface LogTails {
    /** The last lines, at most 30, and those of its log of errors, if it has one; empty when there are none or they can't be read. */
    String lastLines(WorkloadId id);

    /**
     * Masks the secrets that a program was given and has logged: the lines become part of events, which go to the control plane. The log
     * itself is not changed.
     */
    final class MaskedTails implements LogTails {
        /** The length of the shortest text that is masked: shorter ones also occur in error messages. */
        static final int SHORTEST = 8;

        private final LogTails logs;
        private final Function<WorkloadId, Optional<Declaration>> desired;
        private final StateReader store;

        /** @param store has the last good revision, which may run in place of the declared one; not closed */
        public MaskedTails(LogTails logs, Function<WorkloadId, Optional<Declaration>> desired, StateReader store) {
            this.logs = logs;
            this.desired = desired;
            this.store = store;
        }

        @Override
        public String lastLines(WorkloadId id) {
            String lines = logs.lastLines(id);
            if (lines.isEmpty()) {
                return lines;
            }
            SecretMask mask = new SecretMask(SHORTEST);
            desired.apply(id).ifPresent(declared -> learn(declared.workload(), mask));
            LastKnownGood lastKnownGood = store.history(id).lastKnownGood();
            if (lastKnownGood != null) {
                learn(lastKnownGood.workload(), mask);
            }
            return mask.mask(lines);
        }

        private static void learn(Workload workload, SecretMask mask) {
            DeclaredSecrets.learnGiven(workload, mask);
        }
    }
}
