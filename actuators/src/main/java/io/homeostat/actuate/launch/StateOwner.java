package io.homeostat.actuate.launch;

import io.homeostat.observe.process.Account;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.UserPrincipal;
import java.nio.file.attribute.UserPrincipalLookupService;
import org.jspecify.annotations.Nullable;

/**
 * Gives a workload's state directory and its contents to the user that the workload runs as, also after the declared user has changed.
 *
 * <p>The contents were made by the workload and may be a trap: no link is followed, and nothing but files and directories is touched.
 */
final class StateOwner {
    private static final int DEEPEST = 200;

    private final UserPrincipal user;
    private final GroupPrincipal group;
    private final int uid;

    private StateOwner(int uid, int gid, UserPrincipalLookupService principals) throws IOException {
        this.uid = uid;
        this.user = principals.lookupPrincipalByName(Integer.toString(uid));
        this.group = principals.lookupPrincipalByGroupName(Integer.toString(gid));
    }

    /** @param account null for root */
    static StateOwner of(@Nullable Account account, Path directory) throws IOException {
        UserPrincipalLookupService principals = directory.getFileSystem().getUserPrincipalLookupService();
        return account == null
                ? new StateOwner(0, 0, principals)
                : new StateOwner(account.uid(), account.gid(), principals);
    }

    /**
     * Gives a directory to the user, unless it is theirs already.
     *
     * @param log inside the directory; must not be a link, because whoever runs the workload next writes to it
     */
    void own(Path directory, Path log) throws IOException {
        if ((Integer) Files.getAttribute(directory, "unix:uid", LinkOption.NOFOLLOW_LINKS) == uid) {
            return;
        }
        // From here on the former user can create nothing in it.
        Files.setAttribute(directory, "unix:uid", 0, LinkOption.NOFOLLOW_LINKS);
        if (Files.exists(log, LinkOption.NOFOLLOW_LINKS) && !Files.isRegularFile(log, LinkOption.NOFOLLOW_LINKS)) {
            Files.delete(log);
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            if (!(entries instanceof SecureDirectoryStream<Path> secure)) {
                throw new IOException("the file system of " + directory + " lacks openat(2)");
            }
            ownEntries(secure, directory, 0);
        }
        // Last, so that an interrupted change is repeated.
        Files.getFileAttributeView(directory, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                .setGroup(group);
        Files.setAttribute(directory, "unix:uid", uid, LinkOption.NOFOLLOW_LINKS);
    }

    private void ownEntries(SecureDirectoryStream<Path> directory, Path where, int depth) throws IOException {
        if (depth > DEEPEST) {
            throw new IOException(where + " is more than " + DEEPEST + " directories deep; remove it");
        }
        for (Path entry : directory) {
            Path name = entry.getFileName();
            PosixFileAttributeView view =
                    directory.getFileAttributeView(name, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
            BasicFileAttributes attributes = view.readAttributes();
            if (attributes.isDirectory()) {
                try (SecureDirectoryStream<Path> inner =
                        directory.newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS)) {
                    ownEntries(inner, where.resolve(name), depth + 1);
                }
            }
            if (attributes.isDirectory() || attributes.isRegularFile()) {
                view.setOwner(user);
                view.setGroup(group);
            }
        }
    }
}
