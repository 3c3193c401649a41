package io.homeostat.observe.process;

import io.homeostat.observe.process.LaunchDirectory.Born;
import io.homeostat.observe.process.LaunchDirectory.Recorded;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/** The process of ours that waits for a workload's main process and writes down how it ended. */
public final class Keeper {
    /** Between a child's end and the record of it are a few system calls; on a busy machine they take their time. */
    private static final Duration PATIENCE = Duration.ofMillis(200);

    private static final Duration POLL = Duration.ofMillis(2);

    private final ProcFs procFs;
    private final LaunchDirectory directory;
    private final String launchId;

    public Keeper(ProcFs procFs, LaunchDirectory directory, String launchId) {
        this.procFs = procFs;
        this.directory = directory;
        this.launchId = launchId;
    }

    /** The record of an end that has happened; waits for it a moment if the keeper is still there, and no longer than that. */
    public Optional<Recorded> awaitRecord() throws IOException {
        Optional<Born> born = directory.born();
        for (long looks = PATIENCE.dividedBy(POLL); looks > 0; looks--) {
            // In this order: a keeper that has gone has written before.
            boolean there = born.isPresent() && procFs.carries(born.get().keeper(), LaunchMarks.KEEPER, launchId);
            Optional<Recorded> recorded = directory.exit();
            if (recorded.isPresent() || !there) {
                return recorded;
            }
            try {
                Thread.sleep(POLL);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return recorded;
            }
        }
        return Optional.empty();
    }
}
