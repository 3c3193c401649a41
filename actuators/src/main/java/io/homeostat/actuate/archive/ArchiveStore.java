package io.homeostat.actuate.archive;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.common.hash.Hashing;
import com.google.common.io.MoreFiles;
import io.homeostat.actuate.Disk;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.regex.Pattern;

/**
 * The complete archives. One whose SHA-256 was declared has it as its key; for another, {@code <key>.sha256} beside it says what
 * arrived.
 */
public final class ArchiveStore {
    /** What the key of an archive without a declared checksum begins with, see {@link io.homeostat.observe.ArchiveKey}. */
    public static final String UNVERIFIED = "unverified-";

    private static final Pattern KEY = Pattern.compile("(unverified-)?[0-9a-f]{64}");
    private static final Pattern SHA256 = Pattern.compile("[0-9a-f]{64}");

    private final Layout layout;
    private final Disk disk;

    public ArchiveStore(Layout layout, Disk disk) {
        this.layout = layout;
        this.disk = disk;
    }

    /** A key becomes a file name, so nothing else may be one. */
    public static void check(String key) {
        if (!KEY.matcher(key).matches()) {
            throw new IllegalArgumentException("'" + key + "' is not the key of an archive");
        }
    }

    public static boolean isVerified(String key) {
        return !key.startsWith(UNVERIFIED);
    }

    public boolean has(String key) {
        return Files.isRegularFile(layout.archive(key), LinkOption.NOFOLLOW_LINKS);
    }

    /** Writes down what arrived; before the archive itself becomes visible. */
    public void note(String key, String sha256) throws IOException {
        if (!isVerified(key)) {
            disk.write(noteOf(key), sha256.getBytes(US_ASCII));
        }
    }

    /** The SHA-256 of an archive as it was when it arrived. */
    public String sha256(String key) throws IOException {
        if (isVerified(key)) {
            return key;
        }
        try {
            String noted = Files.readString(noteOf(key), US_ASCII);
            if (SHA256.matcher(noted).matches()) {
                return noted;
            }
        } catch (NoSuchFileException e) {
            // Somebody removed it; what is there now is the best that is known.
            return actualSha256(key);
        }
        return actualSha256(key);
    }

    /** Whether an archive still is what arrived. */
    public boolean isIntact(String key) throws IOException {
        return actualSha256(key).equals(sha256(key));
    }

    public void delete(String key) throws IOException {
        disk.delete(layout.archive(key));
        disk.delete(noteOf(key));
    }

    private String actualSha256(String key) throws IOException {
        return MoreFiles.asByteSource(layout.archive(key))
                .hash(Hashing.sha256())
                .toString();
    }

    private Path noteOf(String key) {
        return layout.archives().resolve(key + ".sha256");
    }
}
