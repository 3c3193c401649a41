package io.homeostat.reconcile.agent.nomad;

import io.homeostat.observe.process.PipeEnd;
import io.homeostat.reconcile.agent.frontend.LogCursor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Copies what a task has written to its log into the file or pipe that Nomad reads, as long as somebody reads there. The task itself knows
 * neither the pipe nor this process: whoever reads may die, stall or come back, and costs it nothing. How far it came in all that was ever
 * written to the log is written down, so that another instance goes on from there, in the copies that rotation has made if need be.
 */
final class TaskOutput {
    private static final Duration PAUSE = Duration.ofMillis(100);
    private static final Duration LAST_LINES = Duration.ofSeconds(3);
    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofSeconds(1);
    private static final int CHUNK = 32 << 10;

    private final LogCursor log;
    private final boolean wanted;
    private final String target;
    private final Path position;
    private final HostLog host;
    private final Thread thread;
    private volatile boolean finishing;
    private volatile boolean ended;

    /**
     * Begins.
     *
     * @param target empty, or /dev/null: nobody wants it
     * @param position the file that says how far it came
     */
    TaskOutput(Path log, String target, Path position, HostLog host) {
        this.log = new LogCursor(log, position);
        this.target = target;
        this.wanted = !target.isEmpty() && !target.equals("/dev/null");
        this.position = position;
        this.host = host;
        this.thread = Thread.ofVirtual().name("output").unstarted(this::copy);
        if (wanted) {
            thread.start();
        }
    }

    /** The task writes nothing more: returns when all is copied, or nobody takes it. */
    void finish() {
        finishing = true;
        if (!wanted) {
            return;
        }
        try {
            thread.join(LAST_LINES);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The task is gone. */
    void forget() {
        ended = true;
        finish();
        try {
            log.forget();
        } catch (IOException e) {
            host.warn("cannot remove " + position + ": " + e.getMessage());
        }
    }

    private void copy() {
        boolean warned = false;
        boolean isPrepared = false;
        ByteBuffer rest = ByteBuffer.allocate(CHUNK).limit(0);
        try (PipeEnd pipe = new PipeEnd(target)) {
            while (!ended) {
                try {
                    if (!isPrepared) {
                        Files.createDirectories(position.resolveSibling(""));
                        isPrepared = true;
                    }
                    if (!rest.hasRemaining() && !log.read(rest)) {
                        if (finishing && !log.isUnsure()) {
                            return;
                        }
                        Thread.sleep(PAUSE);
                        continue;
                    }
                    int written = pipe.write(rest);
                    if (written > 0) {
                        log.taken(written);
                    } else {
                        Thread.sleep(PAUSE);
                    }
                } catch (IOException e) {
                    if (!warned) {
                        host.warn("output of a task is not copied to " + target + " for now: " + e.getMessage());
                        warned = true;
                    }
                    Thread.sleep(PAUSE_AFTER_FAILURE);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
