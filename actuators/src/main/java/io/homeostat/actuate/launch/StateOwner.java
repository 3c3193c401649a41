package io.homeostat.actuate.launch;

import com.google.common.base.Joiner;
import io.homeostat.actuate.HostileTree;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.platform.AccessList;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Gives a workload's state directory and its contents to the user that the workload runs as, also after the declared user has changed.
 *
 * <p>The contents were made by the workload and may be a trap, and its former user may go on making some, also in directories that a
 * process of that user is in, and with files that one has open. So no link is followed, and nothing is changed but what its own descriptor
 * shows to be a directory, or a regular file with no other name, of the former user.
 *
 * <p>Each directory is taken first: it is root's, and closed to all others, before anything is done to its entries, and becomes the new
 * user's when all of them are done. Nobody can rename or link in there meanwhile. The new user gets it closed to all others, so that the
 * former one finds nothing by a name in there any more.
 *
 * <p>A file that the former user has open can be linked by them from anywhere, as long as it is theirs, or they may read and write it:
 * linkat(2) of /proc/self/fd/N. So it is nobody's at first ({@link #IN_BETWEEN}), and writable by its owner alone; nobody without privileges
 * can link it any more, provided that fs.protected_hardlinks is 1. If it has no other name then, the new user gets it; else it goes back.
 */
final class StateOwner {
    private static final int DEEPEST = 200;
    private static final int MOST_ENTRIES = 1_000_000;
    private static final int MOST_NAMED = 3;

    private static final int PERMISSIONS = 07777;

    /** An access control list grants nothing beyond the permissions of the group. */
    private static final int OWNERS_ALONE = 0700;

    /**
     * A directory whose contents are about to change hands. Should we be killed, its group has the number of the former user, who is
     * known by nothing else then. The group may do nothing.
     */
    private static final int CHANGING_HANDS = 01700;

    /** The number that no user has: (uid_t) -1 of 16 bits, reserved since. What belongs to it was left so by somebody who was killed. */
    private static final int IN_BETWEEN = 65_535;

    private static final int CHANGED_BY_OTHERS = 0022;

    private final int uid;
    private final int gid;
    private final int mostEntries;
    private final Runnable between;

    private int entries;
    private int leftAlone;
    private final List<String> named = new ArrayList<>();

    private StateOwner(int uid, int gid) {
        this(uid, gid, MOST_ENTRIES, () -> {});
    }

    /**
     * Of a user; for tests.
     *
     * @param mostEntries that a directory may have which changes hands, with all that are below it
     * @param between called when a file has been looked at, before its owner is changed or it is removed
     */
    StateOwner(int uid, int gid, int mostEntries, Runnable between) {
        this.uid = uid;
        this.gid = gid;
        this.mostEntries = mostEntries;
        this.between = between;
    }

    /** @param account null for root */
    static StateOwner of(@Nullable Account account) {
        return account == null ? new StateOwner(0, 0) : new StateOwner(account.uid(), account.gid());
    }

    /**
     * Gives a directory with its contents to the user, unless it is theirs already. What was interrupted goes on.
     *
     * @return what of the contents the former user has left and stays as it is, for people; empty when nothing does
     */
    Optional<String> own(Path directory) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(directory)) {
            PinnedFile.Facts facts = pinned.facts();
            int former = owner(facts);
            if (former == uid && !isChangingHands(facts)) {
                return Optional.empty();
            }
            checkDirectory(directory, facts);
            if (former != uid) {
                changeHands(pinned, directory, former, 0);
            } else {
                give(pinned);
            }
        }
        return leftAlone == 0
                ? Optional.empty()
                : Optional.of("not given to user " + uid + ", because they are links, have other names, are no files or"
                        + " can't be looked at or given away: "
                        + Joiner.on(", ").join(named)
                        + (leftAlone > named.size() ? " and " + (leftAlone - named.size()) + " more" : "")
                        + "; remove what is not known");
    }

    /** Gives a directory to the user alone, without its contents. */
    void ownDirectory(Path directory) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(directory)) {
            checkDirectory(directory, pinned.facts());
            give(pinned);
        }
    }

    /**
     * Removes what is in the place of a file that the user's program writes to, unless it is a regular file of the user with no other name:
     * where it would write, somebody else may have chosen. What is removed is in a directory of root's by then.
     *
     * @param file in a directory of the user, which is in one of root's
     * @return that it was removed, for people; empty when it need not be, or is not there
     */
    Optional<String> keepTheirs(Path file) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(file)) {
            PinnedFile.Facts facts = pinned.facts();
            if (facts.basic().isRegularFile() && facts.uid() == uid && facts.names() == 1) {
                return Optional.empty();
            }
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        // A link in its place is root's, who has moved it to a larger disk.
        Path directory = file.resolveSibling("").toRealPath();
        try (PinnedFile above = PinnedFile.of(directory)) {
            PinnedFile.Facts facts = above.facts();
            checkDirectory(directory, facts);
            take(above, facts.uid());
            try {
                between.run();
                HostileTree.delete(file);
            } finally {
                give(above, facts.uid(), facts.gid(), facts.mode() & PERMISSIONS);
            }
        }
        return Optional.of(file + " is removed: it was no file of user " + uid + " that has no other name");
    }

    private static void checkDirectory(Path named, PinnedFile.Facts facts) throws FileSystemException {
        if (!facts.basic().isDirectory()) {
            throw new FileSystemException(named.toString(), null, "is no directory");
        }
    }

    private static boolean isChangingHands(PinnedFile.Facts directory) {
        return (directory.mode() & PERMISSIONS) == CHANGING_HANDS;
    }

    /** Returns who has a directory, or had it before it was taken. */
    private static int owner(PinnedFile.Facts directory) {
        return isChangingHands(directory) && directory.uid() == 0 ? directory.gid() : directory.uid();
    }

    /** The group before the owner: by it the former user is known when that is root. */
    private static void take(PinnedFile directory, int former) throws IOException {
        Files.setAttribute(directory.path(), "unix:mode", CHANGING_HANDS);
        Files.setAttribute(directory.path(), "unix:gid", former);
        Files.setAttribute(directory.path(), "unix:uid", 0);
        // Until now its owner could set another one.
        Files.setAttribute(directory.path(), "unix:mode", CHANGING_HANDS);
    }

    private void changeHands(PinnedFile directory, Path where, int former, int depth) throws IOException {
        take(directory, former);
        ownEntries(directory, where, former, depth);
        give(directory);
    }

    private void ownEntries(PinnedFile directory, Path where, int former, int depth) throws IOException {
        if (depth > DEEPEST) {
            throw new IOException(where + " is more than " + DEEPEST + " directories deep; remove it");
        }
        try (DirectoryStream<Path> found = Files.newDirectoryStream(directory.path())) {
            for (Path entry : found) {
                entries++;
                if (entries > mostEntries) {
                    throw new IOException("there are more than " + mostEntries
                            + " files and directories to give to user " + uid + ", the last of them in " + where
                            + "; remove some, or give them away by hand (chown -hR)");
                }
                ownEntry(entry, where.resolve(entry.getFileName()), former, depth);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    private void ownEntry(Path entry, Path where, int former, int depth) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(entry)) {
            PinnedFile.Facts facts = pinned.facts();
            if (facts.basic().isDirectory()) {
                if (owner(facts) == former) {
                    changeHands(pinned, where, former, depth + 1);
                } else if (isChangingHands(facts) && facts.uid() == uid) {
                    give(pinned);
                }
            } else if ((facts.uid() == former || facts.uid() == IN_BETWEEN) && !ownFile(pinned, facts, former)) {
                leave(where);
            }
        } catch (NoSuchFileException e) {
            // Removed by somebody else meanwhile.
        } catch (FileSystemException e) {
            // Something that keeps root out may be mounted there.
            leave(where);
        }
    }

    /** Returns false when it stays the former user's. */
    private boolean ownFile(PinnedFile file, PinnedFile.Facts found, int former) throws IOException {
        if (!found.basic().isRegularFile() || (found.uid() == former && found.names() != 1)) {
            return false;
        }
        between.run();
        // Another owner also takes setuid and setgid from it.
        Files.setAttribute(file.path(), "unix:uid", IN_BETWEEN);
        PinnedFile.Facts facts = file.facts();
        int permissions = facts.mode() & PERMISSIONS;
        if ((permissions & CHANGED_BY_OTHERS) != 0) {
            Files.setAttribute(file.path(), "unix:mode", permissions & ~CHANGED_BY_OTHERS);
            facts = file.facts();
        }
        boolean given = false;
        try {
            if (facts.names() == 1) {
                AccessList.remove(file.path());
                Files.setAttribute(file.path(), "unix:gid", gid);
                Files.setAttribute(file.path(), "unix:uid", uid);
                given = true;
            }
        } finally {
            // Also when the new user may have no more of them.
            if (!given) {
                Files.setAttribute(file.path(), "unix:gid", facts.gid());
                Files.setAttribute(file.path(), "unix:mode", permissions);
                Files.setAttribute(file.path(), "unix:uid", former);
            }
        }
        return given;
    }

    private void leave(Path where) {
        leftAlone++;
        if (named.size() < MOST_NAMED) {
            named.add(VisibleText.lines(where.toString()).replace('\n', '?'));
        }
    }

    private void give(PinnedFile directory) throws IOException {
        AccessList.remove(directory.path());
        give(directory, uid, gid, OWNERS_ALONE);
    }

    /** The mode last: it says that the contents may not have changed hands yet. */
    private static void give(PinnedFile directory, int uid, int gid, int mode) throws IOException {
        Files.setAttribute(directory.path(), "unix:uid", uid);
        Files.setAttribute(directory.path(), "unix:gid", gid);
        Files.setAttribute(directory.path(), "unix:mode", mode);
    }
}
