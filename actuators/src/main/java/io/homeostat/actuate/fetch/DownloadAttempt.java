package io.homeostat.actuate.fetch;

import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.archive.ArchiveFormat;
import io.homeostat.actuate.archive.ArchiveStore;
import io.homeostat.desired.model.Source;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.util.Locale;

/** One attempt to complete a partial download: asks for what is missing, takes it, verifies the whole. */
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

    /**
     * Runs the attempt.
     *
     * @return the SHA-256 of the complete archive, which is what the key says if it says one
     */
    String run() throws FailedAttempt, IOException, InterruptedException {
        // Reading the own disk is not the server's time.
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
            default -> throw FailedAttempt.fatal("archives come from https, http or file URLs; correct source.url");
        };
    }

    private static URI uri(String url) throws FailedAttempt {
        try {
            URI uri = new URI(url);
            if (uri.getHost() == null) {
                throw FailedAttempt.fatal("the URL names no host; correct source.url");
            }
            return uri;
        } catch (URISyntaxException e) {
            // Its message quotes the URL with its query.
            throw FailedAttempt.fatal("this is not a URL (" + e.getReason() + "); correct source.url");
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
                    ? FailedAttempt.again("the connection ended after " + received)
                    : FailedAttempt.againFromZero("more came than was announced: " + received);
        }
    }

    private static boolean fill(Body body, Chunk chunk, Deadline deadline)
            throws FailedAttempt, IOException, InterruptedException {
        try {
            return body.fill(chunk, deadline);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            throw FailedAttempt.again(HttpFetch.brokenConnection(e), e);
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
            throw FailedAttempt.againFromZero("the server answered with an HTML page, not an archive;"
                    + " is source.url the address of the file itself, and does it need no login?");
        }
    }

    private String verified() throws FailedAttempt, InterruptedException {
        String actual = partial.sha256();
        if (ArchiveStore.isVerified(key) && !actual.equals(key)) {
            throw FailedAttempt.againFromZero("its " + partial.length() + " bytes have the SHA-256 " + actual
                    + ", declared is " + key + "; correct source.sha256 or publish the archive it belongs to");
        }
        return actual;
    }
}
