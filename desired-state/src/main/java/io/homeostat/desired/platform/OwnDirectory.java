package io.homeostat.desired.platform;

import com.google.common.collect.ImmutableList;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.BiFunction;

/**
 * The rule for directories whose content decides what is run, signalled and deleted: whoever else could change it would have all that done
 * as the user of this process. None may belong to another user; for root, {@link TrustedPath} may have no objection either.
 */
public final class OwnDirectory {
    private OwnDirectory() {}

    /**
     * What is against a directory, as a sentence with its remedy; empty when nothing is. It may have yet to be made; once it is there,
     * {@link #objectionToContent} tells whether nobody else was faster.
     *
     * @param root whether it is to be root's
     */
    public static Optional<String> objection(Path directory, boolean root) {
        return objection(directory, root, TrustedPath::objectionToMaking);
    }

    /** The same for a directory in which something was seen, which is still there then. */
    public static Optional<String> objectionToContent(Path directory, boolean root) {
        return objection(directory, root, TrustedPath::objection);
    }

    private static Optional<String> objection(
            Path directory, boolean root, BiFunction<TrustedPath, Path, Optional<TrustedPath.Objection>> trust) {
        Optional<FileOwner> other = otherOwner(directory);
        if (other.isPresent()) {
            FileOwner owner = other.get();
            return Optional.of("it belongs to " + owner.words() + "; run it as that user: sudo -u "
                    + (owner.isNamed() ? owner.name() : "'#" + owner.uid() + "'") + " homeostat ...");
        }
        return root
                ? trust.apply(TrustedPath.ofThisProcess(ImmutableList.of()), directory)
                        .map(found -> found.why() + "; " + found.remedy())
                : Optional.empty();
    }

    private static Optional<FileOwner> otherOwner(Path directory) {
        try {
            Optional<FileOwner> owner = FileOwner.of(directory);
            return owner.isPresent() && owner.get().isOurs() ? Optional.empty() : owner;
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
