package io.homeostat.desired.source;

import io.homeostat.desired.source.Retention.Whereabouts;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** What to make of a configured path that may not be there. */
final class Roots {
    private Roots() {}

    /**
     * Whether there is something to read. A path that isn't there declares nothing; but when it was a directory with
     * declarations, it may as well be on a file system that isn't mounted, and its absence withdraws nothing.
     */
    static boolean there(Path root, Stored stored, Retention retention) {
        if (Files.exists(root, LinkOption.NOFOLLOW_LINKS) || !(Whereabouts.of(root) instanceof Whereabouts.Gone)) {
            return true;
        }
        Path parent = root.getParent();
        boolean wasFile = stored.origins().contains(root.toString());
        Path missing = wasFile && parent != null ? parent : root;
        if (stored.anyBelow(root) || (wasFile && !Files.isDirectory(missing))) {
            retention.problem(
                    root.toString(),
                    missing
                            + ": no such directory; what was declared there stays in force. Create it, empty, to withdraw"
                            + " that, or restore it");
        }
        return false;
    }
}
