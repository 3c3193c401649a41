package io.homeostat.reconcile.cli;

import io.homeostat.reconcile.agent.ProgramFiles;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.ExitStatus;
import java.time.Duration;
import java.util.concurrent.Semaphore;

/** Ends a command that lasts before another build is copied over the files it runs from, which would crash it. */
final class OverwriteGuard {
    /** Most commands are over by then, and asking for the leases would have cost them more than it is worth. */
    private static final Duration DELAY = Duration.ofSeconds(1);

    private final Workspace workspace;
    private final Semaphore changes = new Semaphore(0);

    private OverwriteGuard(Workspace workspace) {
        this.workspace = workspace;
    }

    /** Keeps watch from soon on until the process ends. */
    static void start(Workspace workspace) {
        Thread.ofPlatform().daemon().name("program-files").start(new OverwriteGuard(workspace)::watch);
    }

    private void watch() {
        try {
            Thread.sleep(DELAY);
            workspace.environment().interrupts().ofLeases(changes::release);
            try (ProgramFiles program = ProgramFiles.ofThisProcess(changes::release)) {
                while (true) {
                    program.overwritten().ifPresent(this::end);
                    changes.acquire();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void end(String why) {
        workspace.console().say(workspace.word() + ": " + why + "; run it again when that is done");
        // Whoever changes something is interrupted, and says what that means.
        System.exit(ExitStatus.FAILED);
    }
}
