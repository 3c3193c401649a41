package io.homeostat.desired.platform;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.io.BaseEncoding;
import com.google.common.primitives.Longs;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The mounts that a process sees, in the order in which they were made: proc_pid_mountinfo(5). {@link java.nio.file.FileStore} is of no use
 * where a file is on none of these, as in a chroot whose root is no mount point: there it fails for every file.
 */
public record MountTable(ImmutableList<Mount> mounts) {
    /**
     * A mount.
     *
     * @param id which no other has, not even in another mount namespace
     * @param above the id of the mount that it is mounted on
     * @param device of all files on it, as stat(2) has it
     * @param point where it is mounted
     * @param options of this mount alone
     * @param type of its file system, such as {@code ext4}
     * @param fileSystemOptions of its file system, through whatever mount it is seen
     */
    public record Mount(
            String id,
            String above,
            long device,
            Path point,
            ImmutableSet<String> options,
            String type,
            ImmutableSet<String> fileSystemOptions) {
        private static final ImmutableSet<String> IN_MEMORY = ImmutableSet.of("tmpfs", "ramfs");
        private static final String MOUNTER = "user_id=";

        /** Whether nobody can write through this mount. */
        public boolean isReadOnly() {
            return options.contains("ro") || isFileSystemReadOnly();
        }

        /** Whether nobody can write through any mount of its file system. */
        public boolean isFileSystemReadOnly() {
            return fileSystemOptions.contains("ro");
        }

        /** Whether no program on it can be executed. */
        public boolean isNoExec() {
            return options.contains("noexec");
        }

        /** The user whose program says what is on it and whose that is, fuse(4); empty of what the kernel itself reads. */
        public Optional<Long> mounter() {
            return fileSystemOptions.stream()
                    .filter(option -> type.startsWith(USER_SPACE) && option.startsWith(MOUNTER))
                    .map(option -> Longs.tryParse(option.substring(MOUNTER.length())))
                    .flatMap(Stream::ofNullable)
                    .findFirst();
        }

        /** Whether what is written there is memory. */
        public boolean isInMemory() {
            return IN_MEMORY.contains(type);
        }
    }

    private static final Splitter BLANKS = Splitter.on(' ');
    private static final String USER_SPACE = "fuse";
    private static final Splitter COMMAS = Splitter.on(',');

    /** Between fields of which there may be more, and those of the file system. */
    private static final String SEPARATOR = "-";

    private static final int ID = 0;
    private static final int ABOVE = 1;
    private static final int DEVICE = 2;
    private static final int POINT = 4;
    private static final int OPTIONS = 5;
    private static final int TYPE = 1;
    private static final int FILE_SYSTEM_OPTIONS = 3;

    private static final int ESCAPE_DIGITS = 3;

    /** What is never escaped. */
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9._/-]+");

    /**
     * Reads a table.
     *
     * @param file like /proc/self/mountinfo
     */
    public static MountTable read(Path file) throws IOException {
        return parse(lines(file));
    }

    /** Where something is mounted, at or below a directory whose path leads through no links. */
    public static ImmutableList<Path> pointsBelow(Path directory, Path file) throws IOException {
        String name = directory.toString();
        // To take a line apart costs far more, and with a hundred tasks there are hundreds.
        Predicate<String> mayBeBelow = PLAIN.matcher(name).matches() ? line -> line.contains(name) : line -> true;
        return parse(lines(file).stream().filter(mayBeBelow).toList()).mounts.stream()
                .map(Mount::point)
                .filter(point -> point.startsWith(directory))
                .collect(ImmutableList.toImmutableList());
    }

    /**
     * The user who says what is on a file system, and whose that is; empty of those that the kernel itself reads.
     *
     * @param device of a file on it, as stat(2) has it
     * @param file like /proc/self/mountinfo
     */
    static Optional<Long> mounter(long device, Path file) throws IOException {
        return ofUsers(file).stream()
                .filter(mount -> mount.device() == device)
                .flatMap(mount -> mount.mounter().stream())
                .findFirst();
    }

    /**
     * The mounts that have a {@link Mount#mounter}.
     *
     * @param file like /proc/self/mountinfo
     */
    public static ImmutableList<Mount> ofUsers(Path file) throws IOException {
        return parse(lines(file).stream()
                        .filter(line -> line.contains(USER_SPACE))
                        .toList())
                .mounts
                .stream()
                .filter(mount -> mount.mounter().isPresent())
                .collect(ImmutableList.toImmutableList());
    }

    private static List<String> lines(Path file) throws IOException {
        return Files.readAllLines(file, StandardCharsets.ISO_8859_1);
    }

    static MountTable parse(List<String> lines) {
        return new MountTable(
                lines.stream().flatMap(line -> mount(line).stream()).collect(ImmutableList.toImmutableList()));
    }

    private static Optional<Mount> mount(String line) {
        List<String> fields = BLANKS.splitToList(line);
        int separator = fields.indexOf(SEPARATOR);
        if (separator <= OPTIONS || fields.size() <= separator + FILE_SYSTEM_OPTIONS) {
            return Optional.empty();
        }
        return Optional.of(new Mount(
                fields.get(ID),
                fields.get(ABOVE),
                device(fields.get(DEVICE)),
                path(fields.get(POINT)),
                ImmutableSet.copyOf(COMMAS.split(fields.get(OPTIONS))),
                fields.get(separator + TYPE),
                ImmutableSet.copyOf(COMMAS.split(fields.get(separator + FILE_SYSTEM_OPTIONS)))));
    }

    /** As makedev(3) has it. */
    private static long device(String field) {
        int colon = field.indexOf(':');
        long major = Long.parseLong(field, 0, colon, 10);
        long minor = Long.parseLong(field, colon + 1, field.length(), 10);
        return (major & ~0xfffL) << 32 | (minor & ~0xffL) << 12 | (major & 0xfff) << 8 | (minor & 0xff);
    }

    /**
     * The path of a mount point, in which blanks and the like are written as octal numbers. By its bytes: a path that is made of characters
     * can't have those that the locale lacks.
     */
    private static Path path(String field) {
        StringBuilder uri = new StringBuilder("file://");
        for (int at = 0; at < field.length(); at++) {
            char next = field.charAt(at);
            if (next == '\\' && at + ESCAPE_DIGITS < field.length()) {
                next = (char) Integer.parseInt(field, at + 1, at + 1 + ESCAPE_DIGITS, 8);
                at += ESCAPE_DIGITS;
            }
            if (next == '/') {
                uri.append(next);
            } else {
                uri.append('%').append(BaseEncoding.base16().encode(new byte[] {(byte) next}));
            }
        }
        return Path.of(URI.create(uri.toString()));
    }

    boolean has(Mount mount) {
        return mounts.stream().anyMatch(each -> each.id().equals(mount.id()));
    }

    /** The mount that a path is on which leads through no links; empty for what is on none of these, as in a change root. */
    public Optional<Mount> of(Path path) {
        Optional<Mount> found = Optional.empty();
        Optional<Mount> next = first(null, path);
        while (next.isPresent()) {
            found = next;
            next = first(next.get(), path);
        }
        return found;
    }

    /** The one that a walk along the path comes to first: what is mounted further down may be hidden below it. */
    private Optional<Mount> first(@Nullable Mount on, Path path) {
        ImmutableSet<String> ids = mounts.stream().map(Mount::id).collect(ImmutableSet.toImmutableSet());
        return mounts.stream()
                .filter(mount -> {
                    // The first one of all is mounted on itself.
                    boolean isFirst = mount.above().equals(mount.id()) || !ids.contains(mount.above());
                    return on == null ? isFirst : !isFirst && mount.above().equals(on.id());
                })
                .filter(mount -> path.startsWith(mount.point()))
                .min(Comparator.comparingInt(mount -> mount.point().getNameCount()));
    }
}
