package io.homeostat.actuate.task;

import io.homeostat.actuate.SecureDirectories;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;

/** Copies a tree into a directory that nobody but us can get into. Permissions are kept, setuid and setgid never are. */
final class TreeCopy {
    private static final int DEEPEST = 200;

    private final Path root;
    private final Way way;

    /** How files of the copy come to be. */
    enum Way {
        /** As what was installed: all of it is ours now, and nothing else than files, directories and links that stay inside may be there. */
        INSTALLED,

        /** As what belongs to the machine: with its owners, and without what is no file, directory or link. */
        SYSTEM,

        /** The same, but a file gets another name rather than a copy where it can: a system has gigabytes of them. */
        SYSTEM_LINKED
    }

    private TreeCopy(Path root, Way way) {
        this.root = root;
        this.way = way;
    }

    /** Copies a directory, with its permissions, or a file. What vanishes meanwhile from the system is left out. */
    static void copy(Path from, Path to, Way way) throws IOException {
        Path real = from.toRealPath();
        new TreeCopy(real, way).copyAny(real, to, 0);
    }

    private void copyAny(Path from, Path to, int depth) throws IOException {
        try {
            PosixFileAttributes attributes =
                    Files.readAttributes(from, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            if (attributes.isSymbolicLink()) {
                copyLink(from, to);
            } else if (attributes.isDirectory()) {
                copyDirectory(from, to, attributes, depth);
            } else if (attributes.isRegularFile()) {
                copyFile(from, to, attributes);
            } else if (way == Way.INSTALLED) {
                throw new FileSystemException(
                        from.toString(), null, "is neither a file nor a directory nor a symlink; remove it");
            }
        } catch (NoSuchFileException e) {
            if (way == Way.INSTALLED || !from.toString().equals(e.getFile())) {
                throw e;
            }
        }
    }

    private void copyDirectory(Path from, Path to, PosixFileAttributes attributes, int depth) throws IOException {
        if (depth > DEEPEST) {
            throw new FileSystemException(
                    from.toString(), null, "is more than " + DEEPEST + " directories deep; remove it");
        }
        Files.createDirectory(to, PosixFilePermissions.asFileAttribute(SecureDirectories.OURS));
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(from)) {
            for (Path entry : entries) {
                copyAny(entry, to.resolve(entry.getFileName().toString()), depth + 1);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        if (way != Way.INSTALLED) {
            own(to, attributes);
        }
        Files.setPosixFilePermissions(to, attributes.permissions());
    }

    private void copyFile(Path from, Path to, PosixFileAttributes attributes) throws IOException {
        if (way == Way.SYSTEM_LINKED && !isPrivileged(from)) {
            try {
                Files.createLink(to, from);
                return;
            } catch (NoSuchFileException e) {
                throw new NoSuchFileException(from.toString());
            } catch (FileSystemException e) {
                // It is on another file system, or has too many names.
                Files.deleteIfExists(to);
            }
        }
        Files.copy(from, to, LinkOption.NOFOLLOW_LINKS);
        if (way != Way.INSTALLED) {
            own(to, attributes);
        }
        // Last, because this takes setuid and setgid away.
        Files.setPosixFilePermissions(to, attributes.permissions());
    }

    /** Whether it runs as somebody else than who runs it. */
    private static boolean isPrivileged(Path file) throws IOException {
        int setuidOrSetgid = 06000;
        return ((int) Files.getAttribute(file, "unix:mode", LinkOption.NOFOLLOW_LINKS) & setuidOrSetgid) != 0;
    }

    private static void own(Path to, PosixFileAttributes attributes) throws IOException {
        PosixFileAttributes now = Files.readAttributes(to, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (!now.owner().equals(attributes.owner()) || !now.group().equals(attributes.group())) {
            Files.setAttribute(to, "posix:group", attributes.group(), LinkOption.NOFOLLOW_LINKS);
            Files.setAttribute(to, "posix:owner", attributes.owner(), LinkOption.NOFOLLOW_LINKS);
        }
    }

    private void copyLink(Path from, Path to) throws IOException {
        Path target = Files.readSymbolicLink(from);
        if (way == Way.INSTALLED && !staysInside(from, target)) {
            throw new FileSystemException(
                    from.toString(),
                    null,
                    "is a symlink to " + target + ", which is outside of " + root + "; remove it");
        }
        Files.createSymbolicLink(to, target);
    }

    private boolean staysInside(Path link, Path target) throws IOException {
        if (target.isAbsolute() || !link.resolveSibling(target).normalize().startsWith(root)) {
            return false;
        }
        return Files.notExists(link) || link.toRealPath().startsWith(root);
    }
}
