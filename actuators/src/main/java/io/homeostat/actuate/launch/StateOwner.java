package io.homeostat.actuate.launch;

import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Gives a workload's state directory and its contents to the user that the workload runs as, also after the declared user has changed.
 *
 * <p>The contents were made by the workload and may be a trap, and its former user may go on making some: no link is followed, and only
 * directories and files of the former user change hands, of files those that have no other name.
 */
final class StateOwner {
    private static final int DEEPEST = 200;

    private final int uid;
    private final int gid;

    private StateOwner(int uid, int gid) {
        this.uid = uid;
        this.gid = gid;
    }

    /** @param account null for root */
    static StateOwner of(@Nullable Account account) {
        return account == null ? new StateOwner(0, 0) : new StateOwner(account.uid(), account.gid());
    }

    /**
     * Gives a directory to the user, unless it is theirs already.
     *
     * @param log inside the directory; must not be a link, because whoever runs the workload next writes to it
     */
    void own(Path directory, Path log) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(directory)) {
            int former = pinned.facts().uid();
            if (former == uid) {
                return;
            }
            ownEntries(pinned.path(), directory, former, 0);
            // Last, so that an interrupted change is repeated.
            give(pinned);
        }
        // The former user can make no other one any more.
        if (Files.exists(log, LinkOption.NOFOLLOW_LINKS) && !isOurs(log)) {
            Files.delete(log);
        }
    }

    private boolean isOurs(Path log) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(log)) {
            PinnedFile.Facts facts = pinned.facts();
            return facts.basic().isRegularFile() && facts.uid() == uid;
        }
    }

    private void ownEntries(Path directory, Path where, int former, int depth) throws IOException {
        if (depth > DEEPEST) {
            throw new IOException(where + " is more than " + DEEPEST + " directories deep; remove it");
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                try (PinnedFile pinned = PinnedFile.of(entry)) {
                    PinnedFile.Facts facts = pinned.facts();
                    if (facts.uid() != former) {
                        continue;
                    }
                    if (facts.basic().isDirectory()) {
                        ownEntries(pinned.path(), where.resolve(entry.getFileName()), former, depth + 1);
                        give(pinned);
                    } else if (facts.basic().isRegularFile() && facts.names() == 1) {
                        give(pinned);
                    }
                } catch (NoSuchFileException e) {
                    // Removed by the former user meanwhile.
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    /** The group first: another owner takes from a file what it does with the rights of that group. */
    private void give(PinnedFile file) throws IOException {
        Files.setAttribute(file.path(), "unix:gid", gid);
        Files.setAttribute(file.path(), "unix:uid", uid);
    }
}
