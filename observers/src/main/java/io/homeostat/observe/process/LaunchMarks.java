package io.homeostat.observe.process;

/** Environment variables by which processes of a launch can be told, even when nobody remembers them. */
public final class LaunchMarks {
    /** In the workload's processes: its launch. Inherited by whatever they start. */
    public static final String LAUNCH = "HOMEOSTAT_LAUNCH_ID";

    /** In the workload's processes: {@code plugin/ops-agent}. */
    public static final String WORKLOAD = "HOMEOSTAT_WORKLOAD";

    /** In the process of ours that waits for the workload's first process: the launch. */
    public static final String KEEPER = "HOMEOSTAT_KEEPER";

    private LaunchMarks() {}
}
