package io.homeostat.desired.platform;

import com.google.common.collect.ImmutableList;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The rule for directories whose content decides what is run, signalled and deleted: whoever else could change it would have all that done
 * as the user of this process. None may belong to another user; for root, {@link TrustedPath} may have no objection either.
 */
public final class OwnDirectory {
    private static final int STICKY = 01000;

    private OwnDirectory() {}

    /**
     * What is against a directory, as a sentence with its remedy; empty when nothing is, or when it is not there and nobody else could make
     * another one in its place than is seen once it is made.
     *
     * @param root whether it is to be root's
     */
    public static Optional<String> objection(Path directory, boolean root) {
        Optional<FileOwner> other = otherOwner(directory);
        if (other.isPresent()) {
            FileOwner owner = other.get();
            return Optional.of("it belongs to " + owner.words() + "; run it as that user: sudo -u "
                    + (owner.isNamed() ? owner.name() : "'#" + owner.uid() + "'") + " homeostat ...");
        }
        return root ? trusted(directory).map(found -> found.why() + "; " + found.remedy()) : Optional.empty();
    }

    private static Optional<FileOwner> otherOwner(Path directory) {
        try {
            Optional<FileOwner> owner = FileOwner.of(directory);
            return owner.isPresent() && owner.get().isOurs() ? Optional.empty() : owner;
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Of one that is not there yet, what is above it. */
    private static Optional<TrustedPath.Objection> trusted(Path directory) {
        Path there = directory;
        while (there.getParent() != null && Files.notExists(there, LinkOption.NOFOLLOW_LINKS)) {
            there = there.getParent();
        }
        // Others may create what they like in one with the sticky bit; that it is ours is seen once it is made.
        return there.equals(directory) || !isSticky(there)
                ? TrustedPath.ofThisProcess(ImmutableList.of()).objection(there)
                : Optional.empty();
    }

    private static boolean isSticky(Path directory) {
        try {
            return ((int) Files.getAttribute(directory, "unix:mode") & STICKY) != 0;
        } catch (IOException e) {
            return false;
        }
    }
}
