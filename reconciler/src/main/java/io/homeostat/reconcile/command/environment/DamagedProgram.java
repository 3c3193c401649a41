package io.homeostat.reconcile.command.environment;

import java.util.zip.ZipException;

/** That classes of this program can't be read, which is no defect of theirs. Needs no other class of it: there may be none to be had. */
public final class DamagedProgram {
    private DamagedProgram() {}

    /** To be called in time: when this class is needed it may be too late to load it. */
    public static void load() {}

    /** Whether this is why something failed. */
    public static boolean explains(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof LinkageError || cause instanceof ZipException) {
                return true;
            }
        }
        return false;
    }

    /** What happened and what to do, for a failure that this {@link #explains}. */
    public static String words(Throwable failure) {
        return "this program is being overwritten, or its installation is damaged (" + failure
                + "); run it again when that is done";
    }
}
