package io.homeostat.actuate;

import com.google.common.base.Joiner;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Deletes a tree that a workload has made, and may still be changing. No link is followed, and what is listed or changed is what was found
 * to be a directory, whatever takes its name. As root, each directory is taken from its owner first, who can't go on in there then.
 * Directories that are nested so deeply that they would use up our stack and our descriptors are moved to the top first. What is mounted in
 * the tree is unmounted, and not deleted.
 */
public final class HostileTree {
    private static final int DEEPEST = 40;

    /** Each round removes {@value #DEEPEST} levels; paths of more than this nobody makes by accident. */
    private static final int MOST_ROUNDS = 100_000;

    /** More than anybody puts files into what is being removed. */
    private static final int MOST_REPEATED = 20;

    private static final int MOST_NAMED = 3;
    private static final int NAMES_TRIED = 20;

    private static final int OURS = 0700;
    private static final int CHANGED_BY_OTHERS = 0022;

    private final Path tree;
    private final Opening opening;
    private final boolean areWeRoot;
    private final List<String> problems = new ArrayList<>();
    private int moved;
    private boolean cameIn;
    private int names;

    /** Opens an entry before it is looked at; for tests, which exchange it at that moment. */
    @FunctionalInterface
    interface Opening {
        PinnedFile open(Path entry) throws IOException;
    }

    private HostileTree(Path tree, Opening opening) throws IOException {
        this.tree = tree;
        this.opening = opening;
        this.areWeRoot = Account.ourUid() == 0;
    }

    /**
     * Deletes a directory with all in it, or whatever else has this name; does nothing when there is none.
     *
     * @param tree in a directory in which nobody but us can rename, or who can would have us take and empty a directory of somebody else
     * @throws IOException that names what could not be deleted; the rest is gone, unless something stays mounted
     */
    public static void delete(Path tree) throws IOException {
        delete(tree, new Mounts(), PinnedFile::of);
    }

    /**
     * As {@link #delete(Path)}.
     *
     * @param mounts what is mounted
     */
    public static void delete(Path tree, Mounts mounts) throws IOException {
        delete(tree, mounts, PinnedFile::of);
    }

    static void delete(Path tree, Mounts mounts, Opening opening) throws IOException {
        if (mayBeDirectory(tree)) {
            // First: it is not ours to delete, and a look at it may take as long as whoever serves it likes.
            mounts.clear(tree);
            if (mayBeDirectory(tree)) {
                new HostileTree(tree, opening).delete();
                return;
            }
        }
        Files.deleteIfExists(tree);
    }

    /** Also when it can't be looked at: something may be mounted there that keeps even root out. */
    private static boolean mayBeDirectory(Path tree) {
        try {
            return PinnedFile.isDirectory(tree);
        } catch (IOException e) {
            return true;
        }
    }

    private void delete() throws IOException {
        int repeated = 0;
        for (int round = 0; round < MOST_ROUNDS; round++) {
            problems.clear();
            cameIn = false;
            int before = moved;
            try (PinnedFile top = opening.open(tree)) {
                PinnedFile.Facts facts = top.facts();
                if (facts.basic().isDirectory()) {
                    take(top, facts);
                    empty(top, top, tree, 0);
                }
            } catch (IOException e) {
                note(tree, e);
            }
            if (moved == before && (isGone() || repeated++ == MOST_REPEATED)) {
                break;
            }
        }
        if (!problems.isEmpty()) {
            List<String> named = problems.subList(0, Math.min(MOST_NAMED, problems.size()));
            throw new FileSystemException(Joiner.on("; ").join(named)
                    + (problems.size() > named.size() ? "; and " + (problems.size() - named.size()) + " more" : ""));
        }
    }

    /** Whether nothing is left of it but what can't be deleted: whoever keeps a launch that has just ended still writes down how. */
    private boolean isGone() throws IOException {
        try {
            Files.deleteIfExists(tree);
        } catch (DirectoryNotEmptyException e) {
            if (problems.isEmpty()) {
                cameIn(tree);
            }
        }
        return !cameIn;
    }

    private void cameIn(Path where) {
        cameIn = true;
        note(where, "is not empty; is something still writing there?");
    }

    private void empty(PinnedFile directory, PinnedFile top, Path where, int depth) throws IOException {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory.path())) {
            for (Path entry : entries) {
                Path place = where.resolve(entry.getFileName());
                try {
                    delete(entry, top, place, depth);
                } catch (NoSuchFileException e) {
                    // Its owner was faster.
                } catch (IOException e) {
                    note(place, e);
                }
            }
        } catch (DirectoryIteratorException e) {
            note(where, Objects.requireNonNull(e.getCause()));
        }
    }

    private void delete(Path entry, PinnedFile top, Path where, int depth) throws IOException {
        // Opened only if need be: there are far more files.
        if (mayBeDirectory(entry)) {
            try (PinnedFile pinned = opening.open(entry)) {
                PinnedFile.Facts facts = pinned.facts();
                if (facts.basic().isDirectory()) {
                    take(pinned, facts);
                    if (depth == DEEPEST) {
                        moveUp(entry, top);
                        return;
                    }
                    empty(pinned, top, where, depth + 1);
                }
            }
        }
        try {
            Files.delete(entry);
        } catch (DirectoryNotEmptyException e) {
            if (problems.isEmpty()) {
                cameIn(where);
            }
        }
    }

    /** The owner first, who could set the mode again. */
    private void take(PinnedFile directory, PinnedFile.Facts facts) throws IOException {
        boolean takeOver = areWeRoot && facts.uid() != 0;
        if (takeOver) {
            Files.setAttribute(directory.path(), "unix:uid", 0);
        }
        boolean canList = (facts.mode() & OURS) == OURS;
        boolean isClosed = (facts.mode() & CHANGED_BY_OTHERS) == 0;
        if (takeOver || !canList || (areWeRoot && !isClosed)) {
            Files.setAttribute(directory.path(), "unix:mode", OURS);
        }
    }

    /** The next round begins with it. */
    private void moveUp(Path entry, PinnedFile top) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                Files.move(entry, top.path().resolve("deep-" + names++), StandardCopyOption.ATOMIC_MOVE);
                moved++;
                return;
            } catch (FileSystemException e) {
                // The workload may have used that name.
                if (attempt == NAMES_TRIED) {
                    throw e;
                }
            }
        }
    }

    /** An exception names what we have open; people know it by its place. */
    private void note(Path where, IOException e) {
        String opened = e instanceof FileSystemException named ? named.getFile() : null;
        String reason = Disk.reason(e);
        note(where, opened == null ? reason : reason.replace(opened, where.toString()));
    }

    private void note(Path where, String problem) {
        problems.add(problem.contains(where.toString()) ? problem : where + ": " + problem);
    }
}
