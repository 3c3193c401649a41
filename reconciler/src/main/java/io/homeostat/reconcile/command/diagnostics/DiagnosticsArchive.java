package io.homeostat.reconcile.command.diagnostics;

import io.homeostat.reconcile.secrets.SecretMask;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

/**
 * A tar.gz of masked texts, bounded as a whole. Parts that fail, take too long or don't fit are noted in {@code notes.txt}, the last
 * file.
 */
public final class DiagnosticsArchive {
    static final String TOP = "homeostat-diagnostics/";
    private static final int MOST_BYTES = 64 << 20;
    private static final Duration LONGEST = Duration.ofSeconds(30);

    private final GZIPOutputStream gzip;
    private final TarArchiveOutputStream tar;
    private final SecretMask mask;
    private final Instant now;
    private final Duration longest;
    private final List<String> notes = new ArrayList<>();
    private long left;

    @FunctionalInterface
    public interface Part {
        String text() throws IOException, InterruptedException;
    }

    /** Begins one. {@code out} stays open. */
    public DiagnosticsArchive(OutputStream out, SecretMask mask, Instant now) throws IOException {
        this(out, mask, now, MOST_BYTES, LONGEST);
    }

    DiagnosticsArchive(OutputStream out, SecretMask mask, Instant now, long mostBytes, Duration longest)
            throws IOException {
        this.gzip = new GZIPOutputStream(out);
        this.tar = new TarArchiveOutputStream(gzip, StandardCharsets.UTF_8.name());
        this.mask = mask;
        this.now = now;
        this.left = mostBytes;
        this.longest = longest;
        tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
    }

    /** Adds a part, which is called on a thread of its own, as it may hang. */
    public void add(String name, Part part) throws IOException, InterruptedException {
        FutureTask<String> work = new FutureTask<>(part::text);
        Thread.ofVirtual().name("diagnostics " + name).start(work);
        try {
            byte[] bytes = mask.mask(work.get(longest.toMillis(), TimeUnit.MILLISECONDS))
                    .getBytes(StandardCharsets.UTF_8);
            if (bytes.length > left) {
                note(name, "not included: no room is left for its " + bytes.length + " bytes");
            } else {
                left -= bytes.length;
                put(name, bytes);
            }
        } catch (TimeoutException e) {
            note(name, "not included: it was not there within " + longest.toSeconds() + " s");
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            note(name, "not included: " + (cause.getMessage() == null ? cause : cause.getMessage()));
        } finally {
            work.cancel(true);
        }
    }

    /** Notes what has to be known about a part. */
    public synchronized void note(String name, String words) {
        notes.add(name + ": " + words.strip());
    }

    private void put(String name, byte[] bytes) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(TOP + name);
        entry.setSize(bytes.length);
        entry.setMode(0600);
        entry.setModTime(now.toEpochMilli());
        tar.putArchiveEntry(entry);
        tar.write(bytes);
        tar.closeArchiveEntry();
    }

    public void finish() throws IOException {
        String all;
        synchronized (this) {
            all = String.join("\n", notes) + "\n";
        }
        put("notes.txt", mask.mask(all).getBytes(StandardCharsets.UTF_8));
        tar.finish();
        gzip.finish();
        gzip.flush();
    }
}
