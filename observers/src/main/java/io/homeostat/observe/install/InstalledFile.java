package io.homeostat.observe.install;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One entry of an archive as it was when it had been unpacked. */
public sealed interface InstalledFile {
    /** Relative to the installation, with slashes. */
    String path();

    /**
     * A directory.
     *
     * @param mode the permission bits
     */
    record Directory(String path, int mode) implements InstalledFile {}

    /** A symbolic link. */
    record Link(String path, String target) implements InstalledFile {}

    /**
     * A regular file.
     *
     * @param stat as lstat(2) said
     * @param sha256 of its content, in lower-case hexadecimal
     */
    record Content(String path, Stat stat, String sha256) implements InstalledFile {}

    /**
     * What tells without reading a file that nobody has written to it: every write sets its times, and the time of change can't be
     * set by anybody. The inode is none of it, so that a copy of the installation is as good.
     *
     * @param mode the permission bits
     * @param modified in nanoseconds since 1970
     * @param changed in nanoseconds since 1970, of the inode
     */
    record Stat(int mode, long size, long modified, long changed) {}

    /** What lstat(2) says of a path, whatever is there: no symlink is followed, nothing is opened. */
    static Seen look(Path file) throws IOException {
        Map<String, Object> seen =
                Files.readAttributes(file, "unix:mode,size,lastModifiedTime,ctime", LinkOption.NOFOLLOW_LINKS);
        int mode = (Integer) seen.getOrDefault("mode", 0);
        return new Seen(
                mode & Seen.TYPE,
                new Stat(
                        mode & Seen.PERMISSIONS,
                        (Long) seen.getOrDefault("size", 0L),
                        nanoseconds(seen.get("lastModifiedTime")),
                        nanoseconds(seen.get("ctime"))));
    }

    private static long nanoseconds(@Nullable Object time) {
        return ((FileTime) Objects.requireNonNull(time)).to(TimeUnit.NANOSECONDS);
    }

    /**
     * What is at a path.
     *
     * @param type as in inode(7)
     */
    record Seen(int type, Stat stat) {
        private static final int TYPE = 0170000;
        private static final int PERMISSIONS = 07777;
        private static final int DIRECTORY = 0040000;
        private static final int REGULAR = 0100000;
        private static final int LINK = 0120000;

        boolean isDirectory() {
            return type == DIRECTORY;
        }

        boolean isRegular() {
            return type == REGULAR;
        }

        boolean isLink() {
            return type == LINK;
        }
    }
}
