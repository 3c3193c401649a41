package io.homeostat.reconcile.runtime.driver;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Bounds the files to which drivers print their handshake. Few print anything else there, as their library sends that over a stream; what
 * one does print is given up, because nobody reads it, and it may run for years. Used by one thread.
 */
final class DriverOutputs {
    private static final Logger LOG = LoggerFactory.getLogger(DriverOutputs.class);

    static final long BOUND = 1 << 20;

    private static final Duration LOOK = Duration.ofSeconds(30);

    private final LaunchDirectories launches;
    private final Ticker ticker;
    private @Nullable Long next;

    DriverOutputs(LaunchDirectories launches, Ticker ticker) {
        this.launches = launches;
        this.ticker = ticker;
    }

    /** Looks at those of all launches, unless it has just done so. */
    void bound() {
        long now = ticker.read();
        Long due = next;
        if (due != null && now - due < 0) {
            return;
        }
        next = now + LOOK.toNanos();
        try {
            launches.all(Kind.DRIVER).forEach(DriverOutputs::bound);
        } catch (IOException e) {
            LOG.warn("what drivers print can't be seen, and may grow: {}", IoReason.withFile(e));
        }
    }

    /** They append, so that what comes next is written where the file ends then. */
    private static void bound(WorkloadId id, LaunchDirectory launch) {
        try (PinnedFile pinned = PinnedFile.of(launch.outputFile());
                FileChannel output = pinned.change(launch.outputFile().toString())) {
            long size = output.size();
            if (size > BOUND) {
                output.truncate(Handshake.LONGEST);
                LOG.warn(
                        "[{}] prints to its standard output, which nobody reads; {} bytes of it were given up",
                        id.brief(),
                        size - Handshake.LONGEST);
            }
        } catch (NoSuchFileException e) {
            LOG.trace("{} has printed nothing", launch.path());
        } catch (IOException e) {
            LOG.warn("[{}] what it prints may grow: {}", id.brief(), IoReason.withFile(e));
        }
    }
}
