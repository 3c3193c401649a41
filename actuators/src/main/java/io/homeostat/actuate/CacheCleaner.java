package io.homeostat.actuate;

import io.homeostat.desired.layout.Layout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Removes archives and begun downloads that nobody needs any more. Nothing may be downloading or unpacking meanwhile: its caller
 * holds the state directory's lock and has ended its passes.
 */
public final class CacheCleaner {
    /** A key (see {@link io.homeostat.observe.ArchiveKey}) and what we keep beside it; other files in the cache are not ours. */
    private static final Pattern OURS = Pattern.compile("((?:unverified-)?[0-9a-f]{64})(?:\\.[a-z0-9]+)?");

    private final Layout layout;
    private final Disk disk;

    public CacheCleaner(Layout layout) {
        this.layout = layout;
        this.disk = new LocalDisk();
    }

    /**
     * Removes all but some archives.
     *
     * @param keys of the archives that somebody may need again
     * @throws ActuationFailure when a file can't be removed; what was removed before stays so
     */
    public void keepOnly(Set<String> keys) throws ActuationFailure {
        for (Path directory : List.of(layout.archives(), layout.downloads())) {
            try {
                for (Path file : list(directory)) {
                    Matcher name = OURS.matcher(file.getFileName().toString());
                    if (name.matches() && !keys.contains(name.group(1)) && !Files.isDirectory(file)) {
                        disk.delete(file);
                    }
                }
            } catch (IOException e) {
                throw new ActuationFailure(
                        "removing archives that nobody needs from " + directory + " failed: " + Disk.reason(e),
                        false,
                        e);
            }
        }
    }

    private static List<Path> list(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.toList();
        } catch (NoSuchFileException | NotDirectoryException e) {
            return List.of();
        }
    }
}
