package io.homeostat.desired.platform;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * To whom a file belongs.
 *
 * @param name the number again for a user who has no name
 */
public record FileOwner(long uid, String name) {
    /** Empty when there is no such file, or it can't be seen. */
    public static Optional<FileOwner> of(Path file) {
        try {
            return Optional.of(read(file));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /**
     * Somebody else to whom a file belongs that may not be used, or the directory above it that can't be entered; empty when that is this
     * process's user, or it can't be found out.
     */
    public static Optional<FileOwner> refusing(Path file) {
        for (Path each = file.toAbsolutePath(); each != null; each = each.getParent()) {
            try {
                FileOwner owner = read(each);
                return owner.isOurs() ? Optional.empty() : Optional.of(owner);
            } catch (AccessDeniedException e) {
                // What is above it is in the way.
            } catch (IOException e) {
                return Optional.empty();
            }
        }
        return Optional.empty();
    }

    private static FileOwner read(Path file) throws IOException {
        return new FileOwner(
                ((Number) Files.getAttribute(file, "unix:uid")).longValue(),
                Files.getOwner(file).getName());
    }

    /** Whether that is this process's user. */
    public boolean isOurs() throws IOException {
        return uid == read(Path.of("/proc/self")).uid();
    }

    /** For people. */
    public String words() {
        return isNamed() ? name : "the user with the number " + uid;
    }

    public boolean isNamed() {
        return !name.equals(Long.toString(uid));
    }
}
