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
 * The complete archives in the cache. An archive with a declared SHA-256 has it as its key; for another one, {@code <key>.sha256} beside
 * it records what arrived.
 */
public final class ArchiveStore {
    /** Prefix of the key of an archive without a declared checksum, see {@link io.homeostat.desired.model.Source#archiveKey}. */
    public static final String UNVERIFIED = "unverified-";

    private static final Pattern KEY = Pattern.compile("(unverified-)?[0-9a-f]{64}");
    private static final Pattern SHA256 = Pattern.compile("[0-9a-f]{64}");

    private final Layout layout;
    private final Disk disk;

    public ArchiveStore(Layout layout, Disk disk) {
        this.layout = layout;
        this.disk = disk;
    }

    /** A key becomes a file name, so nothing but a key may pass. */
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

    /** Records what arrived, before the archive itself becomes visible. */
    public void note(String key, String sha256) throws IOException {
        if (!isVerified(key)) {
            disk.write(noteOf(key), sha256.getBytes(US_ASCII));
        }
    }

    /** The SHA-256 that an archive had when it arrived. */
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
            // Somebody removed the record; hashing the present content is the best we can do.
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
