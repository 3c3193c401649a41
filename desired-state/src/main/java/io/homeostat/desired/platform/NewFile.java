package io.homeostat.desired.platform;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Files that are written under another name before they get their own. They may be in a directory of another user, who can put anything
 * into their place at any time: so each is created and written by one descriptor, and no link is followed.
 */
public final class NewFile {
    private static final Logger LOG = LoggerFactory.getLogger(NewFile.class);

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
        return create(file, PosixFilePermissions.fromString("rw-------"));
    }

    /**
     * Creates a file, and opens it for writing. Who else may read it is said here and never changed: by its name, whatever has taken its
     * place would be opened to others.
     *
     * @param permissions what the umask leaves of them
     * @throws java.nio.file.FileAlreadyExistsException when something has this name
     */
    public static FileChannel create(Path file, Set<PosixFilePermission> permissions) throws IOException {
        return FileChannel.open(
                file,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(permissions));
    }

    /** Warns when the umask has kept others from a file that was created for them. */
    public static void warnIfClosed(Path file, Set<PosixFilePermission> permissions) throws IOException {
        Set<PosixFilePermission> left = Files.getPosixFilePermissions(file);
        if (!left.containsAll(permissions)) {
            LOG.warn(
                    "{} has the permissions {} instead of {}, because of the umask; chmod it, or set umask 022",
                    file,
                    PosixFilePermissions.toString(left),
                    PosixFilePermissions.toString(permissions));
        }
    }
}
