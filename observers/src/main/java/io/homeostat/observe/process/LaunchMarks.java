package io.homeostat.observe.process;

/** Environment variables by which the processes of a launch can be recognised even when nothing about it is remembered. */
public final class LaunchMarks {
    /** In the workload's processes and their children: the id of the launch. */
    public static final String LAUNCH = "HOMEOSTAT_LAUNCH_ID";

    /** In the workload's processes: {@code plugin/ops-agent}. */
    public static final String WORKLOAD = "HOMEOSTAT_WORKLOAD";

    /** In the keeper, our process that waits for the workload's main process: the id of the launch. */
    public static final String KEEPER = "HOMEOSTAT_KEEPER";

    private LaunchMarks() {}
}
