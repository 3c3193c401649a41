package io.homeostat.reconcile.cli;

/** What the process ends with; a public interface. */
final class ExitStatus {
    static final int OK = 0;

    /** Not converged, not valid, not healthy, or an error. */
    static final int FAILED = 1;

    /** {@code plan --detailed-exitcode}: there are changes. */
    static final int CHANGES = 2;

    /** {@code status}: nothing was ever declared here. */
    static final int NOTHING_DECLARED = 3;

    /** EX_USAGE of sysexits(3). */
    static final int USAGE = 64;

    /** 128 + SIGINT, as a shell has it. */
    static final int INTERRUPTED = 130;

    private ExitStatus() {}
}
