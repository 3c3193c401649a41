package io.homeostat.actuate.unpack;

import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.actuate.archive.Sha256;
import io.homeostat.actuate.unpack.StagedTree.LinkWalk;
import io.homeostat.actuate.unpack.StagedTree.Node;
import io.homeostat.actuate.unpack.UnpackLimits.UnpackBudget;
import io.homeostat.observe.install.FileList;
import io.homeostat.observe.install.FileList.InstalledFile;
import io.homeostat.observe.install.InstallationMarker;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The directory that an archive is unpacked into, and its contents so far.
 *
 * <p>The directory was empty and is ours alone, so its contents are known without looking: an entry below anything but a directory, or
 * over anything but its like, is refused without asking the file system. Symlinks are created last, when all entries are known and each
 * link has been resolved on paper; until then nothing can be written through one.
 */
final class StagedTree {
    private static final int SETUID_OR_SETGID = 06000;
    private static final int WRITABLE_BY_OTHERS = 022;
    private static final FileTime LATEST = FileTime.fromMillis(7_258_118_400_000L);
    private static final FileTime EARLIEST = FileTime.fromMillis(0);

    private final Path root;
    private final UnpackBudget budget;
    private final Map<String, Node> nodes = new HashMap<>();
    private final Sha256 sha256;
    private final byte[] buffer = new byte[Chunk.BYTES];

    /** What is at a path. */
    sealed interface Node {
        record Directory() implements Node {}

        record File(boolean executable, String sha256) implements Node {}

        record Link(String target) implements Node {}
    }

    /** @param sha256 used, not closed */
    StagedTree(Path root, UnpackBudget budget, Sha256 sha256) {
        this.root = root;
        this.sha256 = sha256;
        this.budget = budget;
        nodes.put("", new Node.Directory());
    }

    Map<String, Node> nodes() {
        return nodes;
    }

    /** Adds a directory; what the archive says of the root itself is ignored. */
    void directory(String raw, int mode) throws RefusedArchive, IOException {
        String name = admitted(raw, mode);
        if (name.isEmpty()) {
            return;
        }
        switch (nodes.get(name)) {
            case null -> {
                parents(raw, name);
                make(name);
            }
            case Node.Directory() -> {}
            default -> throw RefusedArchive.entry(raw, "is a directory where an earlier entry is none");
        }
        Files.setPosixFilePermissions(path(name), permissions(mode | 0700));
    }

    /** Adds a regular file. A repeated one replaces the earlier one, as in a tar that files were appended to. */
    void file(String raw, int mode, FileTime modified, InputStream content) throws RefusedArchive, IOException {
        String name = admitted(raw, mode);
        vacate(raw, name);
        Path file = path(name);
        try (FileChannel out = FileChannel.open(
                file, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), SecureDirectories.OUR_FILE)) {
            for (int count; (count = content.read(buffer)) >= 0; ) {
                budget.bytes(root, raw, count);
                sha256.update(buffer, count);
                write(file, out, count);
            }
        }
        Files.setPosixFilePermissions(file, permissions(mode | 0600));
        FileTime bounded =
                modified.compareTo(EARLIEST) < 0 ? EARLIEST : modified.compareTo(LATEST) > 0 ? LATEST : modified;
        Files.getFileAttributeView(file, BasicFileAttributeView.class).setTimes(bounded, null, null);
        nodes.put(name, new Node.File((mode & 0111) != 0, sha256.finish()));
    }

    /** A failure of the disk always is a {@link FileSystemException} here; any other exception comes from the archive. */
    private void write(Path file, FileChannel out, int count) throws IOException {
        try {
            Chunk.writeFully(out, buffer, count);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            FileSystemException failure = new FileSystemException(file.toString(), null, e.getMessage());
            failure.initCause(e);
            throw failure;
        }
    }

    /** Adds a hard link to an earlier regular file. */
    void hardLink(String raw, String rawTarget) throws RefusedArchive, IOException {
        String name = admitted(raw, 0);
        String target;
        try {
            target = EntryName.normal(rawTarget);
        } catch (RefusedArchive e) {
            throw RefusedArchive.entry(
                    raw, "is a hard link out of the archive, to '" + EntryName.shown(rawTarget) + "'");
        }
        if (!(nodes.get(target) instanceof Node.File linked) || target.equals(name)) {
            throw RefusedArchive.entry(
                    raw,
                    "is a hard link to '" + EntryName.shown(rawTarget)
                            + "', which is no earlier regular file of the archive");
        }
        vacate(raw, name);
        Files.createLink(path(name), path(target));
        nodes.put(name, linked);
    }

    /** Records a symlink, to be created by {@link #finish}. */
    void symlink(String raw, String target) throws RefusedArchive, IOException {
        String name = admitted(raw, 0);
        var _ = EntryName.target(raw, target);
        budget.name(target);
        Node there = nodes.get(name);
        if (there == null) {
            parents(raw, name);
            nodes.put(name, new Node.Link(target));
        } else if (!there.equals(new Node.Link(target))) {
            throw RefusedArchive.entry(raw, "is a symlink where an earlier entry is something else");
        }
    }

    /** Creates the symlinks, none of which leads outside, and opens the tree to others. */
    void finish() throws RefusedArchive, IOException {
        LinkWalk walk = new LinkWalk(nodes);
        for (Map.Entry<String, Node> each : nodes.entrySet()) {
            if (each.getValue() instanceof Node.Link) {
                walk.requireInside(each.getKey());
            }
        }
        for (Map.Entry<String, Node> each : nodes.entrySet()) {
            if (each.getValue() instanceof Node.Link(String target)) {
                Files.createSymbolicLink(path(each.getKey()), text(target));
            }
        }
        // Whatever the umask: others may run what is inside, and nobody else may replace it.
        Files.setPosixFilePermissions(root, SecureDirectories.PUBLIC);
    }

    /**
     * Lists the contents, each directory before what is in it. Called after {@link #finish}, when permissions, names and so the ctime of
     * each file are final.
     */
    void list(FileList.Writer files) throws IOException {
        for (Map.Entry<String, Node> each : new TreeMap<>(nodes).entrySet()) {
            String name = each.getKey();
            if (name.isEmpty()) {
                continue;
            }
            InstalledFile.Stat stat = InstalledFile.look(path(name)).stat();
            files.add(
                    switch (each.getValue()) {
                        case Node.Directory() -> new InstalledFile.Directory(name, stat.mode());
                        case Node.Link(String target) -> new InstalledFile.Link(name, target);
                        case Node.File file -> new InstalledFile.Content(name, stat, file.sha256());
                    });
        }
    }

    private String admitted(String raw, int mode) throws RefusedArchive {
        budget.entry(raw);
        String name = EntryName.normal(raw);
        if ((mode & SETUID_OR_SETGID) != 0) {
            throw RefusedArchive.entry(raw, "has the setuid or setgid bit");
        }
        if (name.startsWith(InstallationMarker.FILE)) {
            throw RefusedArchive.entry(raw, "has a name under which Homeostat marks its installations");
        }
        return name;
    }

    /** Removes what is in a file's place. */
    private void vacate(String raw, String name) throws RefusedArchive, IOException {
        if (name.isEmpty()) {
            throw RefusedArchive.entry(raw, "is a file in the place of the root directory");
        }
        switch (nodes.get(name)) {
            case null -> parents(raw, name);
            case Node.File file -> Files.delete(path(name));
            default -> throw RefusedArchive.entry(raw, "is a file where an earlier entry is something else");
        }
    }

    private void parents(String raw, String name) throws RefusedArchive, IOException {
        String parent = EntryName.parent(name);
        switch (nodes.get(parent)) {
            case null -> {
                // Implied, but an entry all the same: names can be deep.
                budget.entry(parent);
                parents(raw, parent);
                make(parent);
            }
            case Node.Directory() -> {}
            case Node.Link(String target) ->
                throw RefusedArchive.entry(
                        raw, "would be written through the symlink '" + EntryName.shown(parent) + "'");
            case Node.File file ->
                throw RefusedArchive.entry(raw, "is below '" + EntryName.shown(parent) + "', which is a file");
        }
    }

    private void make(String name) throws IOException {
        Files.createDirectory(path(name), PosixFilePermissions.asFileAttribute(SecureDirectories.OURS));
        Files.setPosixFilePermissions(path(name), SecureDirectories.PUBLIC);
        nodes.put(name, new Node.Directory());
    }

    private Path path(String name) throws FileSystemException {
        return root.resolve(text(name));
    }

    /** The JVM encodes names in the charset of its locale, which is ASCII in the C locale: not the archive's fault. */
    private static Path text(String name) throws FileSystemException {
        try {
            return Path.of(name);
        } catch (InvalidPathException e) {
            throw new FileSystemException(
                    EntryName.shown(name),
                    null,
                    "the name can't be written in this locale; run Homeostat in one with UTF-8, for example LC_ALL=C.UTF-8");
        }
    }

    /**
     * The permissions of an entry: those in the archive without write permission for others, because only root may change a program that
     * root runs. The owner is whoever unpacks; sticky bits are dropped.
     */
    private static Set<PosixFilePermission> permissions(int mode) {
        return SecureDirectories.permissions(mode & 0777 & ~WRITABLE_BY_OTHERS);
    }

    /** Resolves paths through the symlinks of an archive as the kernel would, before anything is on disk. */
    static final class LinkWalk {
        /** As many as Linux follows (path_resolution(7)). */
        private static final int MAX_LINKS = 40;

        /** Characters of paths that are resolved for all links together; a second or two. */
        private static final long MAX_WORK = 1L << 28;

        private final Map<String, Node> nodes;
        private long work;

        LinkWalk(Map<String, Node> nodes) {
            this.nodes = nodes;
        }

        /** Refuses a symlink that leads outside or in a circle; a dangling one is harmless. */
        void requireInside(String link) throws RefusedArchive {
            String _ = follow(link);
        }

        /** What a path resolves to; empty when that is not in the archive. */
        Optional<Node> resolve(String path) throws RefusedArchive {
            return Optional.ofNullable(nodes.get(follow(path)));
        }

        private String follow(String path) throws RefusedArchive {
            Deque<String> ahead = new ArrayDeque<>(List.of(path.split("/", -1)));
            StringBuilder at = new StringBuilder();
            int links = 0;
            while (!ahead.isEmpty()) {
                String component = ahead.pop();
                if (component.isEmpty() || component.equals(".")) {
                    continue;
                }
                if (component.equals("..")) {
                    if (at.isEmpty()) {
                        throw RefusedArchive.entry(path, "is a symlink that leads out of the archive");
                    }
                    at.setLength(Math.max(at.lastIndexOf("/"), 0));
                    continue;
                }
                int parent = at.length();
                at.append(parent == 0 ? "" : "/").append(component);
                String reached = at.toString();
                work += reached.length();
                if (work > MAX_WORK) {
                    throw RefusedArchive.entry(
                            path, "is one of more symlinks than can be followed; they are long and tangled");
                }
                if (nodes.get(reached) instanceof Node.Link(String target)) {
                    links++;
                    if (links > MAX_LINKS) {
                        throw RefusedArchive.entry(path, "is a symlink that leads round in circles");
                    }
                    at.setLength(parent);
                    List<String> more = EntryName.target(path, target);
                    for (int i = more.size() - 1; i >= 0; i--) {
                        ahead.push(more.get(i));
                    }
                }
            }
            return at.toString();
        }
    }

    /** Checks that the declared program is in an archive. */
    static final class EntryPoint {
        private static final int CANDIDATES = 5;

        private EntryPoint() {}

        /** What is wrong with an entry point, with suggestions; empty when nothing is. */
        static Optional<String> problem(Map<String, Node> nodes, String entryPoint) {
            String wrong;
            try {
                String name = EntryName.normal(entryPoint);
                wrong = switch (new LinkWalk(nodes).resolve(name).orElse(null)) {
                    case null -> "is not in the archive";
                    case Node.Link(String target) -> "is a symlink to '" + EntryName.shown(target) + "'";
                    case Node.Directory() -> "is a directory";
                    case Node.File file -> file.executable() ? "" : "is not executable";
                };
            } catch (RefusedArchive e) {
                wrong = "is not a path inside the archive";
            }
            return wrong.isEmpty()
                    ? Optional.empty()
                    : Optional.of("the entry point '" + EntryName.shown(entryPoint) + "' " + wrong + "; "
                            + candidates(nodes, entryPoint));
        }

        private static String candidates(Map<String, Node> nodes, String entryPoint) {
            String wanted = EntryName.last(entryPoint);
            List<String> executables = nodes.entrySet().stream()
                    .filter(each -> each.getValue() instanceof Node.File file && file.executable())
                    .map(Map.Entry::getKey)
                    .sorted(Comparator.comparing(
                                    (String name) -> !EntryName.last(name).equals(wanted))
                            .thenComparingInt(String::length)
                            .thenComparing(Comparator.naturalOrder()))
                    .toList();
            if (executables.isEmpty()) {
                return "no file in the archive is executable";
            }
            String shown =
                    executables.stream().limit(CANDIDATES).map(EntryName::shown).collect(Collectors.joining(", "));
            return "executable are " + shown
                    + (executables.size() > CANDIDATES ? " and " + (executables.size() - CANDIDATES) + " more" : "");
        }
    }
}
