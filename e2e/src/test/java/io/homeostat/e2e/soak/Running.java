package io.homeostat.e2e.soak;

import io.homeostat.e2e.measure.ProcFs;

/**
 * A process that runs.
 *
 * @param environment one variable a line
 */
record Running(long pid, String environment) {

    static Running of(long pid) {
        return new Running(pid, ProcFs.text(pid, "environ").replace('\0', '\n'));
    }

    /** Whether it belongs to a workload and is not what waits for it. */
    boolean isWorkload() {
        return environment.contains("HOMEOSTAT_WORKLOAD=") && !environment.contains("HOMEOSTAT_KEEPER=");
    }

    /** kill -9. */
    void kill() {
        ProcFs.kill(pid);
    }
}
