package io.homeostat.reconcile.cli;

import io.homeostat.reconcile.command.environment.DamagedProgram;
import io.homeostat.reconcile.command.environment.ExitStatus;
import org.slf4j.LoggerFactory;

/** The process. Apart from {@link Homeostat}, which the JVM can't even begin when a library of it is damaged. */
final class Main {
    private Main() {}

    /** Runs one command and ends the process with its exit status. */
    public static void main(String[] args) {
        DamagedProgram.load();
        Thread.setDefaultUncaughtExceptionHandler(Main::uncaught);
        int status = ExitStatus.FAILED;
        try {
            status = Homeostat.run(args, ThisProcess.environment());
        } catch (RuntimeException | Error e) {
            uncaught(Thread.currentThread(), e);
        }
        System.exit(status);
    }

    private static void uncaught(Thread thread, Throwable problem) {
        if (DamagedProgram.explains(problem)) {
            System.err.println("homeostat: " + DamagedProgram.words(problem));
            return;
        }
        System.err.println("homeostat: " + thread.getName() + ": " + problem
                + "; this is a defect of homeostat; --log-level debug shows where it happened");
        LoggerFactory.getLogger(Main.class).debug("thrown here", problem);
    }
}
