package io.homeostat.observe.process;

import com.google.common.base.CharMatcher;
import com.google.common.collect.ImmutableSet;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;

/**
 * An open file whose identity is fixed: {@link #path()} refers to what was opened, whatever takes its name later. For directories in which
 * somebody else can rename and link at any time.
 */
public final class PinnedFile implements AutoCloseable {
    // From open(2), asm-generic/fcntl.h; the one that differs is arm's.
    static final int O_RDONLY = 0;
    static final int O_RDWR = 02;
    private static final int O_CREAT = 0100;
    private static final int O_EXCL = 0200;
    private static final int O_NONBLOCK = 04000;
    private static final int O_CLOEXEC = 02000000;
    private static final int O_PATH = 010000000;
    private static final boolean IS_ARM = System.getProperty("os.arch", "").equals("aarch64");
    private static final int O_NOFOLLOW = IS_ARM ? 0100000 : 0400000;
    private static final int O_DIRECTORY = IS_ARM ? 040000 : 0200000;

    private static final int OWNERS_ALONE = 0600;
    private static final String MOUNT = "mnt_id:";

    private static final int ENOENT = 2;
    private static final int EACCES = 13;
    private static final int EEXIST = 17;
    private static final int ENOTDIR = 20;
    private static final int ELOOP = 40;

    /** proc, sysfs, both cgroups, debugfs, tracefs, securityfs, configfs, efivarfs, bpf, devpts; magic.h of the kernel. */
    private static final ImmutableSet<Long> KERNEL_FILE_SYSTEMS = ImmutableSet.of(
            0x9fa0L,
            0x62656572L,
            0x27e0ebL,
            0x63677270L,
            0x64626720L,
            0x74726163L,
            0x73636673L,
            0x62656570L,
            0xde5e81e4L,
            0xcafe4a11L,
            0x1cd1L);

    private static final Path NO_DIRECTORY = Path.of("/dev/null");

    private final int number;

    private PinnedFile(int number) {
        this.number = number;
    }

    /**
     * Opens whatever has this name, a symlink itself rather than its target, without any effect on it, even if it is a FIFO or a device.
     *
     * @throws NoSuchFileException when nothing has
     */
    public static PinnedFile of(Path file) throws IOException {
        return new PinnedFile(open(file, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    }

    /**
     * As {@link #of}, but what a symlink leads to, for places to which nobody else can lead it.
     *
     * @throws NoSuchFileException when nothing has this name, or a link leads nowhere
     */
    public static PinnedFile ofTarget(Path file) throws IOException {
        return new PinnedFile(open(file, O_PATH | O_CLOEXEC));
    }

    /** Whether anything has this name, also a link that leads nowhere. As {@link #isDirectory}, it asks nobody. */
    public static boolean exists(Path file) throws IOException {
        return has(file, 0);
    }

    /**
     * Whether a directory has this name, and not only a link to one. Whoever has mounted something there is not asked, fuse(4): that could
     * take for ever, or be refused even to root.
     *
     * @throws IOException when the directory above can't be looked at
     */
    public static boolean isDirectory(Path file) throws IOException {
        return has(file, O_DIRECTORY);
    }

    private static boolean has(Path file, int flags) throws IOException {
        int opened = Libc.open(bytes(file), O_PATH | O_NOFOLLOW | O_CLOEXEC | flags, OWNERS_ALONE);
        if (opened == -ENOENT || (opened == -ENOTDIR && flags == O_DIRECTORY)) {
            return false;
        }
        int _ = Libc.close(checked(opened, file.toString()));
        return true;
    }

    /**
     * As {@link #of}, but what a symlink leads to. The links of /proc to what a process has open or where it is (fd, cwd, root, exe) are
     * refused, anywhere on the way: the kernel lets every thread of this process follow its own, past directories that are closed to the
     * user whose rights the thread has.
     *
     * @throws NoSuchFileException when nothing has this name, or a link leads nowhere
     */
    public static PinnedFile following(Path file) throws IOException {
        int opened = Libc.openWithoutMagicLinks(bytes(file), O_PATH | O_CLOEXEC);
        // A kernel before Linux 5.6, or a container runtime that does not know the call and forbids it.
        if (opened == -Libc.ENOSYS || opened == -Libc.EPERM) {
            return reachable(file);
        }
        return new PinnedFile(checked(opened, file.toString()));
    }

    /** Follows all links, and then makes sure that what is there can also be reached by its own name. */
    static PinnedFile reachable(Path file) throws IOException {
        PinnedFile pinned = new PinnedFile(open(file, O_PATH | O_CLOEXEC));
        try (PinnedFile named = of(Files.readSymbolicLink(pinned.path()))) {
            if (named.isSameAs(pinned)) {
                return pinned;
            }
        } catch (IOException e) {
            // Its own name leads nowhere, or only others may go there.
        } catch (RuntimeException | Error e) {
            pinned.close();
            throw e;
        }
        pinned.close();
        throw failure(ELOOP, file.toString());
    }

    private boolean isSameAs(PinnedFile other) throws IOException {
        return Files.isSameFile(path(), other.path());
    }

    /**
     * Opens a regular file for reading, and never waits: neither for a writer of a FIFO that has taken its name, nor for who holds a lease.
     *
     * @throws NoSuchFileException when nothing has this name
     * @throws FileSystemException when it is something else, such as a symlink
     */
    public static FileChannel read(Path file) throws IOException {
        try (PinnedFile pinned = of(file)) {
            return pinned.read(file.toString());
        }
    }

    /**
     * Opens what is pinned, if it is a regular file with content of its own: one in which the kernel tells something may wait for that.
     *
     * @param name for people
     */
    public FileChannel read(String name) throws IOException {
        try (PinnedFile held = held(name, O_RDONLY)) {
            return FileChannel.open(held.path(), StandardOpenOption.READ);
        }
    }

    /** As {@link #read(String)}, for writing, too. */
    public FileChannel change(String name) throws IOException {
        try (PinnedFile held = held(name, O_RDWR)) {
            return FileChannel.open(held.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
        }
    }

    /**
     * Opens it so that whatever opens it again in this way, while this is open, does not wait. The owner of a file may hold a lease on it,
     * fcntl(2), and whoever opens it waits for that, up to 45 s; nobody is given one while a file is open.
     */
    PinnedFile held(String name, int mode) throws IOException {
        if (!facts().basic().isRegularFile()) {
            throw new FileSystemException(name, null, "it is no regular file");
        }
        if (KERNEL_FILE_SYSTEMS.contains(Libc.fileSystemType(number))) {
            throw new FileSystemException(
                    name, null, "it is no file on a disk, the kernel makes what is in it; copy it into one");
        }
        return new PinnedFile(open(path(), name, mode | O_NONBLOCK | O_CLOEXEC));
    }

    /**
     * Creates a new, empty file for its owner only.
     *
     * @throws FileAlreadyExistsException when something has this name
     */
    public static PinnedFile create(Path file) throws IOException {
        return new PinnedFile(open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC));
    }

    /**
     * The attributes of the file.
     *
     * @param names the number of its hard links
     * @param mode with its type
     */
    public record Facts(BasicFileAttributes basic, int names, int uid, int gid, int mode) {}

    public Facts facts() throws IOException {
        // At once: one by one, each would be a call of the system.
        Map<String, Object> unix = Files.readAttributes(path(), "unix:nlink,uid,gid,mode");
        return new Facts(
                Files.readAttributes(path(), BasicFileAttributes.class),
                number(unix, "nlink"),
                number(unix, "uid"),
                number(unix, "gid"),
                number(unix, "mode"));
    }

    private static int number(Map<String, Object> attributes, String name) {
        return (int) Objects.requireNonNull(attributes.get(name));
    }

    /** A path to the open file, valid while this is open. */
    public Path path() {
        return Path.of("/proc/self/fd/" + number);
    }

    /** The id of the mount that it is on, as in {@link io.homeostat.desired.platform.MountTable}, proc_pid_fdinfo(5). Asks nobody who serves that. */
    public String mount() throws IOException {
        Path facts = Path.of("/proc/self/fdinfo/" + number);
        return Files.readAllLines(facts).stream()
                .filter(line -> line.startsWith(MOUNT))
                .map(line -> line.substring(MOUNT.length()).strip())
                .findFirst()
                .orElseThrow(() -> new FileSystemException(facts.toString(), null, "has no " + MOUNT));
    }

    /** Takes the mount away at once whose root it is, whoever uses that. Returns 0, or a negated error number. */
    public int detach() {
        return Libc.detachOpen(number);
    }

    @Override
    public void close() {
        int _ = Libc.close(number);
    }

    /** The descriptor, which is open as long as this. */
    int number() {
        return number;
    }

    private static int open(Path file, int flags) throws IOException {
        return open(file, file.toString(), flags);
    }

    private static int open(Path file, String name, int flags) throws IOException {
        return checked(Libc.open(bytes(file), flags, OWNERS_ALONE), name);
    }

    /** Returns the bytes of a path. Java shows bytes that are no character in its encoding as others, and would not find them. */
    private static byte[] bytes(Path file) {
        String name = file.toString();
        if (CharMatcher.ascii().matchesAllOf(name)) {
            return name.getBytes(StandardCharsets.US_ASCII);
        }
        // A URI has the bytes. Java looks whether a directory has that path: below what is none, nobody is asked.
        Path relative = file.getRoot() == null ? file : file.getRoot().relativize(file);
        String uri = NO_DIRECTORY
                .resolve(relative)
                .toUri()
                .getRawPath()
                .substring(NO_DIRECTORY.toString().length());
        byte[] path = URLDecoder.decode(uri.replace("+", "%2B"), StandardCharsets.ISO_8859_1)
                .getBytes(StandardCharsets.ISO_8859_1);
        return file.isAbsolute() ? path : Arrays.copyOfRange(path, 1, path.length);
    }

    private static int checked(int opened, String name) throws IOException {
        if (opened < 0) {
            throw failure(-opened, name);
        }
        return opened;
    }

    private static FileSystemException failure(int error, String name) {
        return switch (error) {
            case ENOENT -> new NoSuchFileException(name);
            case EACCES -> new AccessDeniedException(name);
            case ENOTDIR -> new NotDirectoryException(name);
            case EEXIST -> new FileAlreadyExistsException(name);
            case ELOOP ->
                new FileSystemException(
                        name,
                        null,
                        "its links go round in a circle, or through one of /proc to what a process has open or where it"
                                + " is, as that of /dev/stdin does; name the file itself");
            case Libc.EAGAIN -> new FileSystemException(name, null, "somebody holds a lease on it; lslocks shows who");
            default -> new FileSystemException(name, null, "opening it failed with errno " + error);
        };
    }
}
