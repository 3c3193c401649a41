package io.homeostat.actuate.archive;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes partial downloads that nobody waits for, and unneeded archives when they are too old or too many. The mtime of an archive says
 * when it was last needed; while it is needed, it is renewed.
 *
 * <p>Nothing may start to need an archive during a run: its download or unpacking may fail.
 */
public final class CacheCleaner {
    private static final Logger LOG = LoggerFactory.getLogger(CacheCleaner.class);

    /** A key (see {@link io.homeostat.desired.model.Source#archiveKey}) and the files beside it; other files in the cache are not ours. */
    private static final Pattern OURS = Pattern.compile("((?:unverified-)?[0-9a-f]{64})(?:\\.[a-z0-9]+)*");

    /** Where an archive is unpacked while it is downloaded. */
    private static final Pattern EARLY_TREE = Pattern.compile("[0-9a-f]{64}\\.[0-9]+\\.tree");

    /** The cache is cleaned every minute; the files' times need not be written as often. */
    private static final Duration RENEWAL = Duration.ofHours(1);

    private final Layout layout;
    private final Disk disk;

    public CacheCleaner(Layout layout) {
        this(layout, new LocalDisk());
    }

    CacheCleaner(Layout layout, Disk disk) {
        this.layout = layout;
        this.disk = disk;
    }

    /** One archive or download: the files of one key. */
    private static final class Entry {
        private final String key;
        private final List<Path> files = new ArrayList<>();
        private long bytes;
        private Instant neededAt = Instant.MIN;

        private Entry(String key) {
            this.key = key;
        }

        private void add(Path file, BasicFileAttributes attributes) {
            files.add(file);
            bytes += attributes.size();
            Instant changed = attributes.lastModifiedTime().toInstant();
            neededAt = changed.isAfter(neededAt) ? changed : neededAt;
        }

        private Instant neededAt() {
            return neededAt;
        }
    }

    /**
     * Removes unneeded archives beyond the bounds. Needed archives stay, however large.
     *
     * @throws ActuationFailure when something could not be removed; the rest is gone
     */
    public void clean(Set<String> needed, CacheBounds bounds, Instant now) throws ActuationFailure {
        Failures failures = new Failures();
        for (Entry each : unneeded(layout.downloads(), needed, now, failures)) {
            remove(each, "a download that nobody waits for any more", failures);
        }
        List<Entry> unneeded = unneeded(layout.archives(), needed, now, failures);
        unneeded.sort(Comparator.comparing(Entry::neededAt));
        long kept = unneeded.stream().mapToLong(entry -> entry.bytes).sum();
        for (Entry each : unneeded) {
            String why = null;
            if (Duration.between(each.neededAt, now).compareTo(bounds.age()) >= 0) {
                why = "an archive that nobody has needed for " + bounds.age().toMinutes() + " min";
            } else if (kept > bounds.bytes()) {
                why = "an archive that nobody needs, there are more than " + bounds.bytes() + " bytes of such";
            } else if (disk.usableBytes(layout.archives()) < bounds.bytes()) {
                why = "an archive that nobody needs, the disk has less than " + bounds.bytes() + " bytes left";
            }
            if (why != null) {
                remove(each, why, failures);
                kept -= each.bytes;
            }
        }
        failures.raise();
    }

    /**
     * Removes what was being unpacked while it was downloaded when somebody was killed. Nothing may be downloaded or unpacked meanwhile.
     *
     * @throws ActuationFailure when something could not be removed; the rest is gone
     */
    public void collectLeftovers() throws ActuationFailure {
        Failures failures = new Failures();
        try (DirectoryStream<Path> trees = Files.newDirectoryStream(
                layout.downloads(),
                place -> EARLY_TREE.matcher(place.getFileName().toString()).matches()
                        && Files.isDirectory(place, LinkOption.NOFOLLOW_LINKS))) {
            for (Path tree : trees) {
                disk.deleteTree(tree);
                LOG.info("removed {}, which an interrupted download had left", tree);
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            return;
        } catch (DirectoryIteratorException e) {
            failures.add(Objects.requireNonNull(e.getCause()));
        } catch (IOException e) {
            failures.add(e);
        }
        failures.raise();
    }

    private void remove(Entry entry, String why, Failures failures) {
        for (Path file : entry.files) {
            try {
                disk.delete(file);
            } catch (IOException e) {
                failures.add(e);
                return;
            }
        }
        LOG.info("removed from the cache: {} ({} bytes), {}", entry.key, entry.bytes, why);
    }

    /** Also renews the time of what is needed. */
    private static List<Entry> unneeded(Path directory, Set<String> needed, Instant now, Failures failures) {
        Map<String, Entry> found = new HashMap<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                Matcher name = OURS.matcher(file.getFileName().toString());
                if (name.matches()) {
                    look(file, name.group(1), needed, now, found, failures);
                }
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            return new ArrayList<>();
        } catch (DirectoryIteratorException e) {
            failures.add(Objects.requireNonNull(e.getCause()));
        } catch (IOException e) {
            failures.add(e);
        }
        return new ArrayList<>(found.values());
    }

    private static void look(
            Path file, String key, Set<String> needed, Instant now, Map<String, Entry> found, Failures failures) {
        try {
            BasicFileAttributeView view =
                    Files.getFileAttributeView(file, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
            BasicFileAttributes attributes = view.readAttributes();
            if (attributes.isDirectory()) {
                return;
            }
            if (!needed.contains(key)) {
                found.computeIfAbsent(key, Entry::new).add(file, attributes);
            } else if (attributes.isRegularFile()
                    && attributes.lastModifiedTime().toInstant().isBefore(now.minus(RENEWAL))) {
                view.setTimes(FileTime.from(now), null, null);
            }
        } catch (NoSuchFileException e) {
            return;
        } catch (IOException e) {
            failures.add(e);
        }
    }

    /** What went wrong: a file that cannot be removed does not keep the others from being removed. */
    private static final class Failures {
        private int count;
        private String first = "";
        private Exception cause = new IOException();

        private void add(IOException e) {
            if (count++ == 0) {
                first = Disk.reason(e);
                cause = e;
            }
        }

        private void raise() throws ActuationFailure {
            if (count > 0) {
                throw new ActuationFailure(
                        "cleaning the cache failed for " + count + (count == 1 ? " file: " : " files, the first is ")
                                + first,
                        false,
                        cause);
            }
        }
    }

    /** How much of unneeded archives to keep: bytes in total, and time since one was last needed, accurate to about an hour. */
    public record CacheBounds(long bytes, Duration age) {
        public static final CacheBounds NOTHING = new CacheBounds(0, Duration.ZERO);
    }
}
