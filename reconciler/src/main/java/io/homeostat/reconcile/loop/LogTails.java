package io.homeostat.reconcile.loop;

import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.SecretMask;

/** The end of what a workload has written. */
public interface LogTails {
    /** The last lines, at most 30; empty when there are none or they can't be read. */
    String lastLines(WorkloadId id);

    /**
     * The ends of logs without the secrets that a program was given and wrote there: its lines go into events, and with them to the control
     * plane. The log itself stays as it is.
     */
    public static final class MaskedTails implements LogTails {
        /** Of the texts that are masked, in characters: shorter ones are found in what says why a program failed. */
        static final int SHORTEST = 8;

        private final LogTails logs;
        private final DesiredSource desired;
        private final StateReader store;

        /** @param store what may run in place of what is declared is read there; used, not closed */
        public MaskedTails(LogTails logs, DesiredSource desired, StateReader store) {
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
            desired.declaration(id).ifPresent(declared -> learn(declared.workload(), mask));
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
