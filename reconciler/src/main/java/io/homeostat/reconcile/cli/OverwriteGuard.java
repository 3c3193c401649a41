package io.homeostat.reconcile.cli;

import io.homeostat.reconcile.agent.ProgramFiles;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.function.IntUnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends a command that lasts before another build is copied over the files it runs from, which would crash it. */
final class OverwriteGuard implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(OverwriteGuard.class);

    /** Most commands are over by then, and asking for the leases would have cost them more than it is worth. */
    private static final Duration DELAY = Duration.ofSeconds(1);

    /** What the last words may take where the machine is busy. Whoever overwrites waits for us meanwhile, by its kernel's setting 45 s. */
    private static final Duration LAST_WORDS = Duration.ofSeconds(15);

    private final Workspace workspace;
    private final IntUnaryOperator exitStatus;
    private final Semaphore changes = new Semaphore(0);
    private final Thread thread;

    /** @param exitStatus of the process, for that of a command that failed */
    OverwriteGuard(Workspace workspace, IntUnaryOperator exitStatus) {
        this.workspace = workspace;
        this.exitStatus = exitStatus;
        this.thread = Thread.ofPlatform().daemon().name("program-files").start(this::watch);
    }

    private void watch() {
        try {
            Thread.sleep(DELAY);
            // Before the first lease, whose signal would end the process.
            if (!workspace.environment().interrupts().ofLeases(changes::release)) {
                return;
            }
            try (ProgramFiles program = ProgramFiles.of(workspace.environment().clock(), changes::release)) {
                while (true) {
                    program.overwritten().ifPresent(this::end);
                    changes.acquire();
                }
            }
        } catch (InterruptedException e) {
            LOG.trace("the command is over");
        } catch (CommandFailure | UncheckedIOException e) {
            LOG.debug("nobody will notice when this program is overwritten", e);
        }
    }

    private void end(String why) {
        Thread saying = Thread.ofPlatform().daemon().name("last-words").start(() -> {
            String words = why + "; run it again when that is done";
            try {
                workspace.console().failPart(workspace.word(), words);
                workspace.environment().out().flush();
            } catch (LinkageError e) {
                // What that takes was overwritten before it was needed.
                System.err.println("homeostat: " + workspace.word() + ": " + words);
            }
        });
        try {
            // Nobody may be reading.
            saying.join(LAST_WORDS);
        } catch (InterruptedException e) {
            LOG.trace("the command is over");
        }
        // Whoever changes something is interrupted, and says what that means.
        System.exit(exitStatus.applyAsInt(ExitStatus.FAILED));
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
