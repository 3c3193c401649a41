package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.WorkloadId;

/** What can go wrong at one point of a pass, and how often it does. */
enum Fault {
    AGENT_DIES_BEFORE_A_STEP(20),
    AGENT_DIES_IN_A_STEP(25),
    AGENT_DIES_AFTER_A_STEP(20),
    AGENT_DIES_BEFORE_A_COMMIT(20),
    AGENT_DIES_AFTER_A_COMMIT(20),
    POWER_FAILS(4),
    INSTALLATIONS_UNSEEN(8),
    LINK_UNSEEN(8),
    PROCESSES_UNSEEN(8),
    LIMITS_UNSEEN(8),
    RESIDUE_UNSEEN(8),
    ARCHIVES_UNSEEN(10),
    FACT_UNSEEN(50),
    HEALTH_UNKNOWN(20),
    HEALTH_ANSWER_LATE(20),
    STORE_FAILS(10),
    INTERRUPTED_BEFORE_A_STEP(15),
    INTERRUPTED_AFTER_A_STEP(15),
    DOWNLOAD_BREAKS(150),
    DOWNLOAD_CRAWLS(50),
    UNPACK_FAILS(100),
    ACTIVATE_FAILS(50),
    LAUNCH_FAILS(40),
    BIRTH_IS_SLOW(60),
    START_IS_REFUSED(40),
    START_HANGS(20),
    APPLY_IS_REFUSED(100),
    STOP_FAILS(50),
    REMOVE_FAILS(50),
    COLLECT_FAILS(50),
    LIMITS_ARE_REFUSED(100),
    EXIT_NOT_RECORDED(200),
    IDENTITY_NOT_ON_DISK(300),
    EXIT_NOT_ON_DISK(300),
    CHANGES_NOT_ON_DISK(500),
    REMOVED_NOTES_COME_BACK(500);

    private final int permille;

    Fault(int permille) {
        this.permille = permille;
    }

    int permille() {
        return permille;
    }

    /**
     * Where a fault struck. Names the place by what is there and not by how much was left to chance before, so that a history without
     * one of its events or faults is still the same elsewhere.
     *
     * @param moment during which, see {@link Scenario.Moment#number}
     * @param nth how often that fault had its chance with that workload since the moment began, from 0
     */
    record Point(int moment, Fault fault, WorkloadId workload, int nth) {
        @Override
        public String toString() {
            return "#" + moment + " " + fault + " " + workload + " (chance " + (nth + 1) + ")";
        }
    }
}
