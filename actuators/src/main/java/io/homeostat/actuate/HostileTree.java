package io.homeostat.actuate;

import com.google.common.base.Joiner;
import io.homeostat.observe.process.Account;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Deletes a tree that a workload has made, and may still be changing. As root no link is followed; for other users see {@link #permit}.
 * Directories that are nested so deeply that they would use up our stack and our descriptors are moved to the top first. The caller sees
 * to it that nothing is mounted there.
 */
public final class HostileTree {
    private static final int DEEPEST = 40;

    /** Each round removes {@value #DEEPEST} levels; paths of more than this nobody makes by accident. */
    private static final int MOST_ROUNDS = 100_000;

    /** More than anybody puts files into what is being removed. */
    private static final int MOST_REPEATED = 20;

    private static final int MOST_NAMED = 3;
    private static final int NAMES_TRIED = 20;

    private static final Set<PosixFilePermission> NEEDED = EnumSet.of(
            PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE, PosixFilePermission.OWNER_EXECUTE);

    private final Path tree;
    private final List<String> problems = new ArrayList<>();
    private int moved;
    private boolean cameIn;
    private int names;

    private HostileTree(Path tree) {
        this.tree = tree;
    }

    /**
     * Deletes a directory with all in it, or whatever else has this name; does nothing when there is none.
     *
     * @param tree whose parent nobody but us can change
     * @throws IOException that names what could not be deleted; the rest is gone
     */
    public static void delete(Path tree) throws IOException {
        if (!Files.isDirectory(tree, LinkOption.NOFOLLOW_LINKS)) {
            Files.deleteIfExists(tree);
            return;
        }
        new HostileTree(tree).delete();
    }

    private void delete() throws IOException {
        int repeated = 0;
        for (int round = 0; round < MOST_ROUNDS; round++) {
            problems.clear();
            cameIn = false;
            int before = moved;
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(tree)) {
                if (!(entries instanceof SecureDirectoryStream<Path> top)) {
                    throw new IOException("the file system of " + tree + " lacks openat(2)");
                }
                empty(top, top, tree, 0);
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

    private void empty(SecureDirectoryStream<Path> directory, SecureDirectoryStream<Path> top, Path where, int depth) {
        try {
            for (Path entry : directory) {
                Path name = entry.getFileName();
                try {
                    delete(directory, name, top, where.resolve(name), depth);
                } catch (IOException e) {
                    if (!(e instanceof NoSuchFileException)) {
                        note(where.resolve(name), Disk.reason(e));
                    }
                }
            }
        } catch (DirectoryIteratorException e) {
            note(where, Disk.reason(Objects.requireNonNull(e.getCause())));
        }
    }

    private void delete(
            SecureDirectoryStream<Path> directory, Path name, SecureDirectoryStream<Path> top, Path where, int depth)
            throws IOException {
        PosixFileAttributeView view =
                directory.getFileAttributeView(name, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
        PosixFileAttributes attributes = view.readAttributes();
        if (!attributes.isDirectory()) {
            directory.deleteFile(name);
            return;
        }
        Set<PosixFilePermission> rights = attributes.permissions();
        if (rights.addAll(NEEDED)) {
            permit(view, where, rights);
        }
        if (depth == DEEPEST) {
            moveUp(directory, name, top);
            return;
        }
        try (SecureDirectoryStream<Path> inner = directory.newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS)) {
            empty(inner, top, where, depth + 1);
        }
        try {
            directory.deleteDirectory(name);
        } catch (DirectoryNotEmptyException e) {
            if (problems.isEmpty()) {
                cameIn(where);
            }
        }
    }

    /**
     * Sets a directory's permissions. To do that without following a link the directory is opened, which only root can do where nobody
     * may read it. Others follow the path: only programs of the same user could replace it by a link.
     */
    private static void permit(PosixFileAttributeView view, Path where, Set<PosixFilePermission> rights)
            throws IOException {
        try {
            view.setPermissions(rights);
        } catch (AccessDeniedException e) {
            if (Account.ourUid() == 0) {
                throw e;
            }
            // Nobody else's, as it is to be deleted; and what a link leads to is opened to nobody else.
            Files.setPosixFilePermissions(where, NEEDED);
        }
    }

    /** The next round begins with it. */
    private void moveUp(SecureDirectoryStream<Path> directory, Path name, SecureDirectoryStream<Path> top)
            throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                directory.move(name, top, Path.of("deep-" + names++));
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

    private void note(Path where, String problem) {
        problems.add(problem.contains(where.toString()) ? problem : where + ": " + problem);
    }
}
