package io.homeostat.desired.platform;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.UUID;

/**
 * Files that are written under another name before they get their own. They may be in a directory of another user, who can put anything
 * into their place at any time: so each is created and written by one descriptor, and no link is followed.
 */
public final class NewFile {
    private static final FileAttribute<Set<PosixFilePermission>> OWNERS =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private NewFile() {}

    /** A name in the same directory that nothing has. */
    public static Path beside(Path file) {
        return file.resolveSibling("." + file.getFileName() + "." + UUID.randomUUID() + ".part");
    }

    /**
     * Creates a file for its owner alone, and opens it for writing.
     *
     * @throws java.nio.file.FileAlreadyExistsException when something has this name
     */
    public static FileChannel create(Path file) throws IOException {
        return FileChannel.open(file, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OWNERS);
    }

    /**
     * Lets others at a file, whatever the umask.
     *
     * @throws IOException also when a link has taken its place
     */
    public static void permit(Path file, Set<PosixFilePermission> permissions) throws IOException {
        // The view of a path follows links, whatever it is told.
        try (DirectoryStream<Path> directory =
                Files.newDirectoryStream(file.toAbsolutePath().getParent())) {
            ((SecureDirectoryStream<Path>) directory)
                    .getFileAttributeView(file.getFileName(), PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .setPermissions(permissions);
        }
    }
}
