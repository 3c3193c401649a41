package io.homeostat.actuate.fetch;

import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.archive.ArchiveFormat;
import io.homeostat.actuate.archive.ArchiveStore;
import io.homeostat.actuate.fetch.DownloadAttempt.Fetched.Body;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.actuate.fetch.Timing.Deadline;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.FailureCause.Kind;
import java.io.Closeable;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.Optional;

/** One attempt to complete a partial download: requests what is missing, receives it, verifies the whole. */
final class DownloadAttempt {
    private final String key;
    private final Source source;
    private final PartialDownload partial;
    private final Path file;
    private final Progress progress;
    private final HttpFetch http;
    private final DownloadRoom room;
    private final Timing timing;

    DownloadAttempt(
            String key,
            Source source,
            PartialDownload partial,
            Path file,
            Progress progress,
            HttpFetch http,
            DownloadRoom room,
            Timing timing) {
        this.key = key;
        this.source = source;
        this.partial = partial;
        this.file = file;
        this.progress = progress;
        this.http = http;
        this.room = room;
        this.timing = timing;
    }

    /** Runs the attempt and returns the SHA-256 of the complete archive, which equals the key if that is a checksum. */
    String run() throws FailedAttempt, IOException, InterruptedException {
        // Reading our own disk is not the server's time.
        partial.rehash(timing.in(source.timeout()));
        boolean html = false;
        if (!partial.isWhole()) {
            Deadline deadline = timing.in(source.timeout());
            Fetched fetched = open(deadline);
            try (Body body = fetched.body()) {
                receive(fetched, body, deadline);
            }
            html = fetched.html();
        }
        requireNoWebPage(html);
        return verified();
    }

    private Fetched open(Deadline deadline) throws FailedAttempt, InterruptedException {
        String url = source.url();
        int colon = url.indexOf(':');
        String scheme = url.startsWith("/")
                ? "file"
                : url.substring(0, Math.max(colon, 0)).toLowerCase(Locale.ROOT);
        return switch (scheme) {
            case "http", "https" -> http.open(uri(url), partial.resumableBytes(), partial.validator(), deadline);
            case "file" -> FileFetch.open(FileFetch.path(url));
            default ->
                throw FailedAttempt.fatal(
                        FailureCause.of(Kind.URL), "archives come from https, http or file URLs; correct source.url");
        };
    }

    private static URI uri(String url) throws FailedAttempt {
        try {
            URI uri = new URI(url);
            Optional<String> unusable = HttpRequests.unusableHost(uri);
            if (unusable.isPresent()) {
                throw FailedAttempt.fatal(
                        FailureCause.of(Kind.URL), "the URL names " + unusable.get() + "; correct source.url");
            }
            return uri;
        } catch (URISyntaxException e) {
            // Its message quotes the URL with its query.
            throw FailedAttempt.fatal(
                    FailureCause.of(Kind.URL), "this is not a URL (" + e.getReason() + "); correct source.url");
        }
    }

    private void receive(Fetched fetched, Body body, Deadline deadline)
            throws FailedAttempt, IOException, InterruptedException {
        room.require(Math.max(fetched.total() - fetched.offset(), 0), fetched.total());
        if (fetched.offset() == 0) {
            partial.restart(fetched.validator(), fetched.total());
        } else {
            partial.proceed(fetched.total());
        }
        progress.bytes(partial.length(), partial.total());
        boolean more = true;
        while (more) {
            Chunk chunk = partial.take();
            try {
                more = fill(body, chunk, deadline);
            } finally {
                append(chunk);
            }
            progress.bytes(partial.length(), partial.total());
        }
        if (partial.total() >= 0 && partial.length() != partial.total()) {
            String received = partial.length() + " of " + partial.total() + " bytes";
            throw partial.length() < partial.total()
                    ? FailedAttempt.again(
                            FailureCause.of(Kind.CONNECTION_LOST), "the connection ended after " + received)
                    : FailedAttempt.againFromZero(
                            FailureCause.of(Kind.CONTENT), "more came than was announced: " + received);
        }
    }

    private static boolean fill(Body body, Chunk chunk, Deadline deadline)
            throws FailedAttempt, IOException, InterruptedException {
        try {
            return body.fill(chunk, deadline);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            throw HttpFetch.broken(e);
        }
    }

    private void append(Chunk chunk) throws FailedAttempt, IOException, InterruptedException {
        room.requireMore(partial.length() + chunk.length);
        try {
            partial.append(chunk);
        } catch (IOException e) {
            if (Disk.isFull(e)) {
                throw room.full("the disk became full while " + file + " was written");
            }
            throw e;
        }
    }

    private void requireNoWebPage(boolean html) throws FailedAttempt, IOException {
        byte[] head = ArchiveFormat.head(file);
        if (ArchiveFormat.of(head).isEmpty() && (html || ArchiveFormat.isHtml(head))) {
            throw FailedAttempt.againFromZero(
                    FailureCause.of(Kind.CONTENT),
                    "the server answered with an HTML page, not an archive;"
                            + " is source.url the address of the file itself, and does it need no login?");
        }
    }

    private String verified() throws FailedAttempt, InterruptedException {
        String actual = partial.sha256();
        if (ArchiveStore.isVerified(key) && !actual.equals(key)) {
            throw FailedAttempt.againFromZero(
                    FailureCause.of(Kind.CHECKSUM),
                    "its " + partial.length() + " bytes have the SHA-256 " + actual + ", declared is " + key
                            + "; correct source.sha256 or publish the archive it belongs to");
        }
        return actual;
    }

    /** Keeps a download within its size limit and the disk from filling up. */
    static final class DownloadRoom {
        private static final long LOOK_EVERY = 16L << 20;

        private final Disk disk;
        private final Path directory;
        private final DownloadLimits limits;
        private long nextLook = LOOK_EVERY;

        DownloadRoom(Disk disk, Path directory, DownloadLimits limits) {
            this.disk = disk;
            this.directory = directory;
            this.limits = limits;
        }

        /** Checks before the first byte, as far as the source announces a size. */
        void require(long missing, long total) throws FailedAttempt {
            requireBound(total);
            long usable = disk.usableBytes(directory);
            if (missing > usable - limits.reserveBytes()) {
                throw FailedAttempt.giveUp(
                        FailureCause.of(Kind.DISK_FULL),
                        "it needs " + missing + " bytes below " + directory + ", where " + usable + " are free and "
                                + limits.reserveBytes() + " have to stay free; free some space");
            }
        }

        /** Checks while bytes arrive: a source may announce no size or a wrong one, and others write to the disk too. */
        void requireMore(long length) throws FailedAttempt {
            requireBound(length);
            if (length >= nextLook) {
                nextLook = length + LOOK_EVERY;
                long usable = disk.usableBytes(directory);
                if (usable < limits.reserveBytes()) {
                    throw full("only " + usable + " bytes are free below " + directory + ", and "
                            + limits.reserveBytes() + " have to stay free");
                }
            }
        }

        FailedAttempt full(String what) {
            return FailedAttempt.withoutLeftovers(FailureCause.of(Kind.DISK_FULL), what + "; free some space");
        }

        private void requireBound(long bytes) throws FailedAttempt {
            if (bytes > limits.maxBytes()) {
                throw FailedAttempt.tooLarge(
                        FailureCause.of(Kind.TOO_LARGE),
                        "the archive is larger than the " + limits.maxBytes()
                                + " bytes that limits.downloadBytes allows; raise it or declare a smaller archive");
            }
        }
    }

    /** Opens an archive that is a local file. */
    private static final class FileFetch {
        private FileFetch() {}

        static Fetched open(Path file) throws FailedAttempt {
            try {
                // Checked before it is opened: opening a FIFO would wait for a writer.
                if (Files.exists(file) && !Files.isRegularFile(file)) {
                    throw FailedAttempt.giveUp(FailureCause.of(Kind.FILE_IN_THE_WAY), "it is not a regular file");
                }
                FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
                return new Fetched(new FileBody(channel), 0, channel.size(), "", false);
            } catch (IOException e) {
                throw FailedAttempt.giveUp(Disk.reason(e), e);
            }
        }

        /** The path that a {@code file:} URL or an absolute path names. */
        static Path path(String url) throws FailedAttempt {
            try {
                return url.startsWith("/") ? Path.of(url) : Path.of(URI.create(url));
            } catch (IllegalArgumentException e) {
                throw FailedAttempt.fatal(
                        FailureCause.of(Kind.URL),
                        "'" + Redaction.url(url) + "' is not the path of a file; correct source.url");
            }
        }

        private record FileBody(FileChannel channel) implements Body {
            @Override
            public boolean fill(Chunk chunk, Deadline deadline) throws IOException, FailedAttempt {
                deadline.remaining();
                int count = channel.read(ByteBuffer.wrap(chunk.bytes, chunk.length, chunk.room()));
                chunk.length += Math.max(count, 0);
                return count > 0;
            }

            @Override
            public void close() throws IOException {
                channel.close();
            }
        }
    }

    /**
     * The beginning of a source's answer.
     *
     * @param offset where in the archive the body begins
     * @param total bytes of the whole archive, -1 when the source does not say
     * @param validator identifies this version of the archive when the rest is requested later; empty when nothing does
     * @param html whether the source calls it a web page
     */
    record Fetched(Body body, long offset, long total, String validator, boolean html) {

        /** The bytes of an archive as they arrive. */
        interface Body extends Closeable {
            /**
             * Waits for at least one byte and takes as many as are there and fit; false at the end.
             *
             * @throws FailedAttempt when the deadline passes first
             */
            boolean fill(Chunk chunk, Deadline deadline) throws IOException, InterruptedException, FailedAttempt;
        }
    }
}
