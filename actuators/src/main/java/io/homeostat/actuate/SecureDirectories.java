package io.homeostat.actuate;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Set;

/** Makes directories with exactly the rights they should have, whatever the umask. */
public final class SecureDirectories {
    /** For whoever owns it. */
    public static final Set<PosixFilePermission> OURS = PosixFilePermissions.fromString("rwx------");

    /** Others may go through it to what they know the name of. */
    static final Set<PosixFilePermission> PASSAGE = PosixFilePermissions.fromString("rwx--x--x");

    /** For programs that others may run. */
    public static final Set<PosixFilePermission> PUBLIC = PosixFilePermissions.fromString("rwxr-xr-x");

    /** A file for whoever owns it. */
    public static final FileAttribute<Set<PosixFilePermission>> OUR_FILE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private SecureDirectories() {}

    /** Makes a directory with these rights, durably; its missing parents can be passed through. One that exists is left as it is. */
    public static void create(Path directory, Set<PosixFilePermission> rights) throws IOException {
        if (Files.isDirectory(directory)) {
            return;
        }
        Path parent = directory.toAbsolutePath().getParent();
        if (parent != null) {
            create(parent, PASSAGE);
        }
        try {
            // Closed first: what others find open for a moment they can hold open.
            Files.createDirectory(directory, PosixFilePermissions.asFileAttribute(OURS));
        } catch (FileAlreadyExistsException e) {
            if (Files.isDirectory(directory)) {
                return;
            }
            throw new FileSystemException(directory.toString(), null, "is not a directory");
        }
        // Also for our own: a umask may have taken even the owner's.
        Files.setPosixFilePermissions(directory, rights);
        if (parent != null) {
            sync(parent);
        }
    }

    /** Lets other users pass from a directory down to a file, without letting them see what else is there. */
    public static void letThrough(Path from, Path file) throws IOException {
        Path directory = file.getParent();
        while (directory != null && directory.startsWith(from)) {
            Set<PosixFilePermission> rights = EnumSet.copyOf(Files.getPosixFilePermissions(directory));
            // For the group too: whoever is in it is not one of the others.
            if (rights.addAll(EnumSet.of(PosixFilePermission.GROUP_EXECUTE, PosixFilePermission.OTHERS_EXECUTE))) {
                Files.setPosixFilePermissions(directory, rights);
            }
            directory = directory.getParent();
        }
    }

    /** Makes durable which names are in a directory. */
    public static void sync(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
