package io.homeostat.reconcile.command.environment;

/** What the process ends with; a public interface. */
public final class ExitStatus {
    public static final int OK = 0;

    /** Not converged, not valid, not healthy, or an error. */
    public static final int FAILED = 1;

    /** {@code plan --detailed-exitcode}: there are changes. */
    public static final int CHANGES = 2;

    /** {@code diff}: there are differences. */
    public static final int DIFFERENT = 1;

    /** {@code diff}: an error, so that nothing is known. */
    public static final int DIFF_FAILED = 2;

    /** {@code status}: nothing was ever declared here; {@code describe}: there is no such workload. */
    public static final int NOTHING_DECLARED = 3;

    /** EX_USAGE of sysexits(3). */
    public static final int USAGE = 64;

    /** 128 + SIGINT, as a shell has it. */
    public static final int INTERRUPTED = 130;

    /** 128 + SIGPIPE: nobody reads what a command writes. */
    public static final int UNREAD = 141;

    private ExitStatus() {}
}
