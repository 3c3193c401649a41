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

/** Creates directories with exact permissions, whatever the umask. */
public final class SecureDirectories {
    /** For its owner only. */
    public static final Set<PosixFilePermission> OURS = PosixFilePermissions.fromString("rwx------");

    /** Others may pass through to what they know the name of. */
    static final Set<PosixFilePermission> PASSAGE = PosixFilePermissions.fromString("rwx--x--x");

    /** For programs that others may run. */
    public static final Set<PosixFilePermission> PUBLIC = PosixFilePermissions.fromString("rwxr-xr-x");

    public static final FileAttribute<Set<PosixFilePermission>> OUR_FILE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private SecureDirectories() {}

    /**
     * Creates a directory with these permissions, durably, and its missing parents with {@link #PASSAGE}. An existing directory is left
     * as it is.
     */
    public static void create(Path directory, Set<PosixFilePermission> rights) throws IOException {
        Path parent = directory.toAbsolutePath().getParent();
        if (createUnsynced(directory, rights) && parent != null) {
            sync(parent);
        }
    }

    /** The same for what tells of processes, of which a power failure leaves none; missing parents are durable. */
    public static boolean createUnsynced(Path directory, Set<PosixFilePermission> rights) throws IOException {
        if (Files.isDirectory(directory)) {
            return false;
        }
        Path parent = directory.toAbsolutePath().getParent();
        if (parent != null) {
            create(parent, PASSAGE);
        }
        try {
            // Never wider than this, as what others can open for a moment, they can keep open; nor closed first, as it
            // would stay so if
            // we are killed.
            Files.createDirectory(directory, PosixFilePermissions.asFileAttribute(rights));
        } catch (FileAlreadyExistsException e) {
            if (Files.isDirectory(directory)) {
                return false;
            }
            throw new FileSystemException(directory.toString(), null, "is not a directory");
        }
        // Also for private ones: a umask may have taken even the owner's permissions.
        Files.setPosixFilePermissions(directory, rights);
        return true;
    }

    /** Lets other users pass from a directory down to a file, without letting them list what else is there. */
    public static void letThrough(Path from, Path file) throws IOException {
        Path directory = file.getParent();
        while (directory != null && directory.startsWith(from)) {
            Set<PosixFilePermission> rights = EnumSet.copyOf(Files.getPosixFilePermissions(directory));
            // For the group too, since its members do not count as others.
            if (rights.addAll(EnumSet.of(PosixFilePermission.GROUP_EXECUTE, PosixFilePermission.OTHERS_EXECUTE))) {
                Files.setPosixFilePermissions(directory, rights);
            }
            directory = directory.getParent();
        }
    }

    /** Makes the names in a directory durable. */
    public static void sync(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** The permissions of a mode, chmod(2); other bits do not count. */
    public static Set<PosixFilePermission> permissions(int mode) {
        Set<PosixFilePermission> permissions = EnumSet.noneOf(PosixFilePermission.class);
        PosixFilePermission[] all = PosixFilePermission.values();
        for (int i = 0; i < all.length; i++) {
            // Declared in the order of the bits, the owner's read permission first.
            if ((mode & (0400 >> i)) != 0) {
                permissions.add(all[i]);
            }
        }
        return permissions;
    }
}
