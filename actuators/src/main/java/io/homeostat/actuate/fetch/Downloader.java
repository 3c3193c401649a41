package io.homeostat.actuate.fetch;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.Hashing;
import com.google.common.util.concurrent.Striped;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.Interruption;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.archive.ArchiveStore;
import io.homeostat.actuate.archive.ArrivingArchive;
import io.homeostat.actuate.fetch.DownloadAttempt.DownloadRoom;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Downloads archives into the cache, where each becomes visible only when it is complete and has the declared checksum. A download that
 * broke or was interrupted or killed resumes where it stopped. Callers that want the same archive from the same URL share one download;
 * one that declares another URL does not wait for them, since theirs may never answer.
 */
public final class Downloader implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Downloader.class);
    private static final Backoff BACKOFF = Backoff.doubling(Duration.ofMillis(200), Duration.ofSeconds(5));
    private static final int LOCKS = 1 << 20;

    /** Each download has a chunk of its own, and these are shared: 32 MiB in all, however slowly servers answer. */
    private static final int SPARE_CHUNKS = 64;

    static final int AT_ONCE = 64;

    private static final int HTTP = 80;
    private static final int HTTPS = 443;

    /** A slow server holds up no others. */
    static final int OF_ONE_SERVER = 16;

    private final Layout layout;
    private final Supplier<DownloadLimits> limits;
    private final Disk disk;
    private final Timing timing;
    private final ArchiveStore archives;
    private final HttpFetch http;
    private final Striped<Lock> locks = Striped.lazyWeakLock(LOCKS);
    private final Semaphore turns;
    private final Striped<Semaphore> turnsOfServers;
    private final Semaphore spareChunks = new Semaphore(SPARE_CHUNKS);

    /** @param limits asked for each download, since the configuration can change */
    public Downloader(Layout layout, Supplier<DownloadLimits> limits) {
        this(layout, limits, new LocalDisk(), Timing.real(), AT_ONCE, OF_ONE_SERVER);
    }

    /**
     * @param atOnce how many downloads may be under way
     * @param ofOneServer how many of these from the same server
     */
    Downloader(Layout layout, Supplier<DownloadLimits> limits, Disk disk, Timing timing, int atOnce, int ofOneServer) {
        this.turns = new Semaphore(atOnce, true);
        this.turnsOfServers = Striped.lazyWeakSemaphore(LOCKS, ofOneServer);
        this.layout = layout;
        this.limits = limits;
        this.disk = disk;
        this.timing = timing;
        this.archives = new ArchiveStore(layout, disk);
        this.http = new HttpFetch(timing.clock());
    }

    /**
     * Fetches an archive unless it is there.
     *
     * @param key its name in the cache; a checksum in it is verified
     * @throws ActuationFailure when it could not be fetched; the message contains no secret part of the URL
     * @throws InterruptedException when the thread was interrupted; the next download resumes
     */
    public void download(String key, Source source, Progress progress) throws ActuationFailure, InterruptedException {
        download(key, source, progress, ArrivingArchive::close);
    }

    /**
     * As {@link #download(String, Source, Progress)}.
     *
     * @param reader gets an archive with a declared checksum when it begins to arrive, unless it is small, and closes it; must not wait
     */
    public void download(String key, Source source, Progress progress, Consumer<ArrivingArchive> reader)
            throws ActuationFailure, InterruptedException {
        ArchiveStore.check(key);
        Lock sameUrl = locks.get(key + " " + source.shownUrl());
        sameUrl.lockInterruptibly();
        try {
            Lock anyUrl = locks.get(key);
            if (!anyUrl.tryLock()) {
                fetchBeside(key, source, progress, reader);
                return;
            }
            try {
                fetchUnlessThere(key, source, layout.downloads().resolve(key), progress, reader);
            } finally {
                anyUrl.unlock();
            }
        } catch (ClosedByInterruptException e) {
            throw Interruption.of(e);
        } catch (IOException e) {
            throw new ActuationFailure("downloading " + source.shownUrl() + " failed: " + Disk.reason(e), false, e);
        } finally {
            sameUrl.unlock();
        }
    }

    /** While the same archive is being downloaded from another URL; this part is never resumed. */
    private void fetchBeside(String key, Source source, Progress progress, Consumer<ArrivingArchive> reader)
            throws ActuationFailure, IOException, InterruptedException {
        String url = Hashing.sha256().hashString(source.shownUrl(), UTF_8).toString();
        Path file = layout.downloads().resolve(key + "." + url);
        try {
            fetchUnlessThere(key, source, file, progress, reader);
        } finally {
            PartialDownload.forget(disk, file);
        }
    }

    private void fetchUnlessThere(
            String key, Source source, Path file, Progress progress, Consumer<ArrivingArchive> reader)
            throws ActuationFailure, IOException, InterruptedException {
        if (!archives.has(key)) {
            disk.makeDirectories(layout.archives());
            disk.makeDirectories(layout.downloads());
            try {
                fetch(key, source, file, progress, reader);
                return;
            } catch (ActuationFailure e) {
                if (!archives.has(key)) {
                    throw e;
                }
                LOG.info("{}; it has come from another URL meanwhile", e.getMessage());
            }
        }
        PartialDownload.forget(disk, file);
    }

    private void fetch(String key, Source source, Path file, Progress progress, Consumer<ArrivingArchive> reader)
            throws ActuationFailure, IOException, InterruptedException {
        try (PartialDownload partial = PartialDownload.open(disk, file, key, source.shownUrl(), reader, spareChunks)) {
            DownloadRoom room = new DownloadRoom(disk, layout.downloads(), limits.get());
            DownloadAttempt attempt = new DownloadAttempt(key, source, partial, file, progress, http, room, timing);
            String sha256 = attempts(source, partial, attempt);
            archives.note(key, sha256);
            partial.publish(layout.archive(key));
        } finally {
            PartialDownload.forgetEmpty(disk, file);
        }
    }

    private String attempts(Source source, PartialDownload partial, DownloadAttempt attempt)
            throws ActuationFailure, IOException, InterruptedException {
        boolean mayBlameLeftovers = true;
        for (int number = 1; ; number++) {
            boolean hadLeftovers = partial.resumableBytes() > 0;
            try {
                return inTurn(source, attempt);
            } catch (FailedAttempt failed) {
                if (failed.isWorthless()) {
                    partial.discard();
                }
                boolean again = failed.next() == FailedAttempt.Next.AGAIN;
                if (again && failed.isWorthless() && hadLeftovers && mayBlameLeftovers) {
                    // The fault of the resumed part, not of this attempt; allowed once, so that there is an end.
                    mayBlameLeftovers = false;
                    number--;
                } else if (again && number < source.attempts()) {
                    timing.sleeper().sleep(failed.pause().plus(BACKOFF.delay(number, Duration.ZERO, timing.random())));
                } else {
                    throw failure(source, failed, number);
                }
            }
        }
    }

    /** Makes one attempt when it has a turn. A pause between two attempts holds up no others. */
    private String inTurn(Source source, DownloadAttempt attempt)
            throws FailedAttempt, ActuationFailure, IOException, InterruptedException {
        Optional<String> server = server(source.url());
        if (server.isEmpty()) {
            return attempt.run();
        }
        Semaphore ofServer = turnsOfServers.get(server.get());
        await(ofServer, source);
        try {
            await(turns, source);
            try {
                return attempt.run();
            } finally {
                turns.release();
            }
        } finally {
            ofServer.release();
        }
    }

    /** However it is written. Empty where it is a file of this machine, or no URL, of which who declares it is told when it is fetched. */
    static Optional<String> server(String source) {
        try {
            URI url = new URI(source);
            int port = url.getPort() >= 0 ? url.getPort() : "https".equalsIgnoreCase(url.getScheme()) ? HTTPS : HTTP;
            return Optional.ofNullable(url.getHost()).map(host -> host.toLowerCase(Locale.ROOT) + ":" + port);
        } catch (URISyntaxException e) {
            return Optional.empty();
        }
    }

    private void await(Semaphore turn, Source source) throws InterruptedException {
        if (!turn.tryAcquire()) {
            LOG.info(
                    "the download of {} waits: {} are under way at most, and {} of one server",
                    source.shownUrl(),
                    AT_ONCE,
                    OF_ONE_SERVER);
            turn.acquire();
        }
    }

    private static ActuationFailure failure(Source source, FailedAttempt failed, int number) {
        String attempts = number == 1 ? "" : " (attempt " + number + " of " + source.attempts() + ")";
        return new ActuationFailure(
                failed.failureCause(),
                "downloading " + source.shownUrl() + " failed: " + failed.problem() + attempts,
                failed.next() == FailedAttempt.Next.FATAL,
                failed);
    }

    /** Aborts downloads and frees the client's threads. */
    @Override
    public void close() {
        http.close();
    }

    /** Limits of a download, in bytes: of the archive, and of what has to stay free on the file system. */
    public record DownloadLimits(long maxBytes, long reserveBytes) {
        public static final DownloadLimits DEFAULT = new DownloadLimits(4L << 30, 64L << 20);

        public DownloadLimits {
            if (maxBytes < 1 || reserveBytes < 0) {
                throw new IllegalArgumentException(
                        "bad download limits: " + maxBytes + " bytes, reserve " + reserveBytes);
            }
        }
    }

    /** Receives the progress of a download. Called often, on the downloading thread, so it has to be quick. */
    @FunctionalInterface
    public interface Progress {
        Progress NONE = (done, total) -> {};

        /**
         * Reports progress.
         *
         * @param done bytes received, including those of earlier attempts; back to 0 when a download starts over
         * @param total bytes of the whole archive, -1 while unknown
         */
        void bytes(long done, long total);
    }
}
