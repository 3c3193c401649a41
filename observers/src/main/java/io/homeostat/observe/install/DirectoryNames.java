package io.homeostat.observe.install;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The names in a directory, read again only after the directory has changed: a thousand workloads that share a directory are
 * looked at one by one, and each look must not cost a thousand names.
 *
 * <p>Whether it has changed is seen by its inode and its time of change. File systems round that time (to milliseconds), so a
 * listing is only kept when the last change was well before it was read: a later change then has another time for certain.
 */
final class DirectoryNames {
    private static final Duration SETTLED = Duration.ofSeconds(2);

    private final InstantSource clock;
    private final Map<Path, Listing> settled = new ConcurrentHashMap<>();

    DirectoryNames(InstantSource clock) {
        this.clock = clock;
    }

    private record Listing(ImmutableList<Object> inode, Instant changed, ImmutableSortedSet<String> names) {}

    /** The names, sorted; none when there is no such directory. */
    ImmutableSortedSet<String> in(Path directory) throws IOException {
        Map<String, Object> attributes;
        try {
            // Through a symlink, if somebody moved the directory to a larger disk: its own times do not change.
            attributes = Files.readAttributes(directory, "unix:dev,ino,ctime");
        } catch (NoSuchFileException e) {
            settled.remove(directory);
            return ImmutableSortedSet.of();
        }
        Object device = attributes.get("dev");
        Object number = attributes.get("ino");
        FileTime changed = (FileTime) attributes.get("ctime");
        if (device == null || number == null || changed == null) {
            return read(directory);
        }
        ImmutableList<Object> inode = ImmutableList.of(device, number);
        @Nullable Listing known = settled.get(directory);
        if (known != null && known.inode.equals(inode) && known.changed.equals(changed.toInstant())) {
            return known.names;
        }
        Instant before = clock.instant();
        Listing fresh = new Listing(inode, changed.toInstant(), read(directory));
        if (fresh.changed.plus(SETTLED).isBefore(before)) {
            settled.put(directory, fresh);
        } else {
            settled.remove(directory);
        }
        return fresh.names;
    }

    private static ImmutableSortedSet<String> read(Path directory) throws IOException {
        ImmutableSortedSet.Builder<String> names = ImmutableSortedSet.naturalOrder();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                names.add(String.valueOf(entry.getFileName()));
            }
        } catch (NoSuchFileException e) {
            return ImmutableSortedSet.of();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return names.build();
    }
}
