package io.homeostat.actuate.launch;

import com.google.common.base.Joiner;
import io.homeostat.actuate.HostileTree;
import io.homeostat.desired.model.VisibleText;
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
 * <p>The contents were made by the workload and may be a trap, and its former user may go on making some: no link is followed, and only
 * directories and files of the former user change hands, of files those that have no other name. The directory itself is root's, and closed
 * to all others, while they do; the new user gets it without the permissions that the former one has granted.
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

    private final int uid;
    private final int gid;
    private final int mostEntries;

    private int entries;
    private int leftAlone;
    private final List<String> named = new ArrayList<>();

    /** @param mostEntries that a directory may have which changes hands, with all that are below it */
    StateOwner(int uid, int gid, int mostEntries) {
        this.uid = uid;
        this.gid = gid;
        this.mostEntries = mostEntries;
    }

    /** @param account null for root */
    static StateOwner of(@Nullable Account account) {
        return account == null
                ? new StateOwner(0, 0, MOST_ENTRIES)
                : new StateOwner(account.uid(), account.gid(), MOST_ENTRIES);
    }

    /**
     * Gives a directory with its contents to the user, unless it is theirs already. What was interrupted goes on.
     *
     * @return what of the contents the former user has left and stays as it is, for people; empty when nothing does
     */
    Optional<String> own(Path directory) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(directory)) {
            PinnedFile.Facts facts = pinned.facts();
            boolean begun = (facts.mode() & PERMISSIONS) == CHANGING_HANDS;
            int former = begun && facts.uid() == 0 ? facts.gid() : facts.uid();
            if (former == uid && !begun) {
                return Optional.empty();
            }
            if (former != uid) {
                take(pinned, former);
                ownEntries(pinned, directory, former, 0);
            }
            giveDirectory(pinned);
        }
        return leftAlone == 0
                ? Optional.empty()
                : Optional.of("not given to user " + uid + ", because they are links, have other names, are no files or"
                        + " can't be looked at: " + Joiner.on(", ").join(named)
                        + (leftAlone > named.size() ? " and " + (leftAlone - named.size()) + " more" : "")
                        + "; remove what is not known");
    }

    /** Gives a directory to the user alone, without its contents. */
    void ownDirectory(Path directory) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(directory)) {
            giveDirectory(pinned);
        }
    }

    /**
     * Removes what is in the place of a file that the user's program writes to, unless it is a regular file of the user with no other name:
     * where it would write, somebody else may have chosen.
     *
     * @param file in a directory of the user
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
        HostileTree.delete(file);
        return Optional.of(file + " is removed: it was no file of user " + uid + " that has no other name");
    }

    private static void take(PinnedFile directory, int former) throws IOException {
        Files.setAttribute(directory.path(), "unix:mode", CHANGING_HANDS);
        Files.setAttribute(directory.path(), "unix:gid", former);
        Files.setAttribute(directory.path(), "unix:uid", 0);
        // Until now its owner could set another one.
        Files.setAttribute(directory.path(), "unix:mode", CHANGING_HANDS);
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
            if (facts.uid() != former) {
                return;
            }
            if (facts.basic().isDirectory()) {
                ownEntries(pinned, where, former, depth + 1);
                give(pinned);
            } else if (facts.basic().isRegularFile() && facts.names() == 1) {
                give(pinned);
            } else {
                leave(where);
            }
        } catch (NoSuchFileException e) {
            // Removed by the former user meanwhile.
        } catch (FileSystemException e) {
            // Something that keeps root out may be mounted there.
            leave(where);
        }
    }

    private void leave(Path where) {
        leftAlone++;
        if (named.size() < MOST_NAMED) {
            named.add(VisibleText.lines(where.toString()).replace('\n', '?'));
        }
    }

    /** The group first: another owner takes from a file what it does with the rights of that group. */
    private void give(PinnedFile file) throws IOException {
        Files.setAttribute(file.path(), "unix:gid", gid);
        Files.setAttribute(file.path(), "unix:uid", uid);
    }

    /** The mode last: it says that the contents may not have changed hands yet. */
    private void giveDirectory(PinnedFile directory) throws IOException {
        Files.setAttribute(directory.path(), "unix:uid", uid);
        Files.setAttribute(directory.path(), "unix:gid", gid);
        Files.setAttribute(directory.path(), "unix:mode", OWNERS_ALONE);
    }
}
