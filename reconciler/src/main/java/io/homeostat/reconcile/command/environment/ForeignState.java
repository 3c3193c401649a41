package io.homeostat.reconcile.command.environment;

import io.homeostat.desired.platform.FileOwner;
import io.homeostat.desired.platform.Layout;
import java.util.Optional;

/**
 * A state directory of another user that root works on. What root launches there is root's, with its notes and logs, and that user could
 * neither see nor stop nor delete it.
 */
public final class ForeignState {
    private ForeignState() {}

    /**
     * Whose it is; empty when it is ours or new, or when we are not root, whom it would stop anyway. Its database tells: a directory that
     * was mounted empty may be anybody's.
     */
    public static Optional<FileOwner> owner(Environment environment, Layout layout) {
        return environment.isRoot()
                ? FileOwner.of(layout.database()).filter(owner -> owner.uid() != environment.uid())
                : Optional.empty();
    }

    /**
     * For what launches.
     *
     * @param word the command, as typed
     * @throws CommandFailure when it is somebody else's
     */
    public static void refuse(Environment environment, Layout layout, String word) {
        owner(environment, layout).ifPresent(owner -> {
            throw new CommandFailure("the state in " + layout.stateDir() + " belongs to " + owner.words()
                    + ", who could not look after what root launches in it; run it as that user: sudo -u "
                    + (owner.isNamed() ? owner.name() : "'#" + owner.uid() + "'") + " homeostat " + word
                    + " ..., or make all of it root's: chown -R root " + layout.stateDir());
        });
    }
}
