package io.homeostat.reconcile.command.start;

import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import com.google.common.hash.Hashing;
import com.google.common.hash.HashingOutputStream;
import com.google.common.io.ByteStreams;
import io.homeostat.desired.platform.NewFile;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.Text;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.apache.commons.compress.compressors.gzip.GzipCompressorOutputStream;
import org.apache.commons.compress.compressors.gzip.GzipParameters;

/**
 * A directory as a tar.gz that depends on its contents alone: names in order, no times, no owners, modes 0755 and 0644. The same contents
 * are the same tar, and with the same JDK the same bytes.
 *
 * @param sha256 of the archive
 * @param content SHA-256 of the tar in it
 * @param permissions everybody may read it if everybody may read all that is in it, and otherwise its owner alone
 */
record BundleArchive(String sha256, String content, ImmutableSet<PosixFilePermission> permissions) {
    private static final int CHANGED_BY_OTHERS = 022;
    private static final int TYPE = 0170000;
    private static final int DIRECTORY = 0040000;
    private static final int REGULAR = 0100000;
    private static final int SYMLINK = 0120000;
    private static final int SETUID_OR_SETGID = 06000;
    private static final int EXECUTABLE = 0111;

    /** What there is at a path, so that a change of it can be told. */
    private record Seen(
            int uid, int mode, long size, FileTime modified, FileTime changed, Object inode, String target) {
        private static Seen of(Path path) throws IOException {
            Map<String, Object> is = Files.readAttributes(
                    path, "unix:uid,mode,size,lastModifiedTime,ctime,ino", LinkOption.NOFOLLOW_LINKS);
            int mode = (Integer) Objects.requireNonNull(is.get("mode"));
            return new Seen(
                    (Integer) Objects.requireNonNull(is.get("uid")),
                    mode,
                    (Long) Objects.requireNonNull(is.get("size")),
                    (FileTime) Objects.requireNonNull(is.get("lastModifiedTime")),
                    (FileTime) Objects.requireNonNull(is.get("ctime")),
                    Objects.requireNonNull(is.get("ino")),
                    (mode & TYPE) == SYMLINK ? Files.readSymbolicLink(path).toString() : "");
        }

        int type() {
            return mode & TYPE;
        }
    }

    /**
     * Writes one.
     *
     * @param file to be created
     * @throws CommandFailure when something in the directory can't be in an archive, or it changes meanwhile
     */
    static BundleArchive write(Path directory, NewFile file) throws IOException {
        TreeMap<String, Seen> before = look(directory);
        before.forEach((name, seen) -> requireOrdinary(directory.resolve(name), seen));
        BundleArchive made;
        ImmutableSet<PosixFilePermission> permissions = permissions(directory, before);
        try (FileChannel out = file.create(permissions)) {
            HashingOutputStream archive =
                    new HashingOutputStream(Hashing.sha256(), new BufferedOutputStream(Channels.newOutputStream(out)));
            GzipCompressorOutputStream gzip = new GzipCompressorOutputStream(archive, new GzipParameters());
            HashingOutputStream content = new HashingOutputStream(Hashing.sha256(), gzip);
            TarArchiveOutputStream tar = new TarArchiveOutputStream(content, StandardCharsets.UTF_8.name());
            tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
            tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
            tar.setAddPaxHeadersForNonAsciiNames(true);
            for (Map.Entry<String, Seen> each : before.entrySet()) {
                add(directory, each.getKey(), each.getValue(), tar);
            }
            tar.finish();
            gzip.finish();
            archive.flush();
            out.force(true);
            made = new BundleArchive(archive.hash().toString(), content.hash().toString(), permissions);
        }
        requireUnchanged(directory, before, look(directory));
        return made;
    }

    private static ImmutableSet<PosixFilePermission> permissions(Path directory, Map<String, Seen> all)
            throws IOException {
        Seen root = Seen.of(directory.toRealPath());
        for (Seen seen : Iterables.concat(List.of(root), all.values())) {
            // Of a directory also whether it can be entered; a symlink has no rights of its own.
            int needed = seen.type() == DIRECTORY ? 055 : seen.type() == REGULAR ? 044 : 0;
            if ((seen.mode() & needed) != needed) {
                return ImmutableSet.copyOf(PosixFilePermissions.fromString("rw-------"));
            }
        }
        return ImmutableSet.copyOf(PosixFilePermissions.fromString("rw-r--r--"));
    }

    private static TreeMap<String, Seen> look(Path directory) throws IOException {
        TreeMap<String, Seen> seen = new TreeMap<>();
        look(directory, "", seen);
        return seen;
    }

    private static void look(Path at, String prefix, Map<String, Seen> all) throws IOException {
        try (Stream<Path> children = Files.list(at)) {
            for (Path child : (Iterable<Path>) children::iterator) {
                String name = prefix + child.getFileName();
                Seen seen = seen(child);
                all.put(name, seen);
                if (seen.type() == DIRECTORY) {
                    look(child, name + "/", all);
                }
            }
        }
    }

    private static Seen seen(Path path) throws IOException {
        try {
            return Seen.of(path);
        } catch (NoSuchFileException e) {
            throw changed(path);
        }
    }

    /**
     * Root bundles nothing that others can change: they could lead it to files that only root may read, and the archive may be readable for
     * everybody.
     */
    static void requireOurs(Path directory) {
        TrustedPath.objectionOfRoot(directory).map(TrustedPath.Objection::why).ifPresent(why -> {
            throw changeable(why);
        });
    }

    private static CommandFailure changeable(String why) {
        return new CommandFailure(why
                + ", so root does not bundle what is in it; run it as that user, or bundle a copy in a directory of"
                + " root's (cp -a, chown -R root:, chmod -R go-w)");
    }

    private static void requireOrdinary(Path path, Seen seen) {
        if (seen.type() == DIRECTORY
                && TrustedPath.isRoot()
                && (seen.uid() != 0 || (seen.mode() & CHANGED_BY_OTHERS) != 0)) {
            throw changeable(Text.oneLine(path.toString()) + " can be changed by others");
        }
        String shown = Text.oneLine(path.toString());
        if (seen.type() != DIRECTORY && seen.type() != REGULAR && seen.type() != SYMLINK) {
            throw new CommandFailure(
                    shown + " is neither a file nor a directory nor a symlink, and can't be in an archive; remove it");
        }
        if (seen.type() == REGULAR && (seen.mode() & SETUID_OR_SETGID) != 0) {
            throw new CommandFailure(
                    shown
                            + " has the setuid or setgid bit, which nothing that is installed may have; take it off with chmod ug-s");
        }
    }

    private static void add(Path directory, String name, Seen seen, TarArchiveOutputStream tar) throws IOException {
        TarArchiveEntry entry = switch (seen.type()) {
            case DIRECTORY -> new TarArchiveEntry(name + "/");
            case SYMLINK -> new TarArchiveEntry(name, TarConstants.LF_SYMLINK);
            default -> new TarArchiveEntry(name);
        };
        boolean executable = seen.type() != REGULAR || (seen.mode() & EXECUTABLE) != 0;
        entry.setMode(executable ? 0755 : 0644);
        entry.setModTime(0);
        entry.setIds(0, 0);
        // It is that of whoever runs this, unless it is set.
        entry.setNames("", "");
        if (seen.type() == SYMLINK) {
            entry.setLinkName(seen.target());
        }
        if (seen.type() == REGULAR) {
            entry.setSize(seen.size());
        }
        tar.putArchiveEntry(entry);
        if (seen.type() == REGULAR) {
            copy(directory.resolve(name), seen.size(), tar);
        }
        tar.closeArchiveEntry();
    }

    private static void copy(Path file, long size, OutputStream tar) throws IOException {
        try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
            if (ByteStreams.copy(ByteStreams.limit(in, size), tar) != size) {
                throw changed(file);
            }
        } catch (NoSuchFileException e) {
            throw changed(file);
        }
    }

    private static void requireUnchanged(Path directory, Map<String, Seen> before, Map<String, Seen> after) {
        for (Map.Entry<String, Seen> each : before.entrySet()) {
            if (!each.getValue().equals(after.get(each.getKey()))) {
                throw changed(directory.resolve(each.getKey()));
            }
        }
        for (String name : after.keySet()) {
            if (!before.containsKey(name)) {
                throw changed(directory.resolve(name));
            }
        }
    }

    private static CommandFailure changed(Path path) {
        return new CommandFailure(Text.oneLine(path.toString())
                + " changed while it was read; bundle the directory when nobody writes there");
    }
}
