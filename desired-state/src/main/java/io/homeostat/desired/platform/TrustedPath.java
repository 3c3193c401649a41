package io.homeostat.desired.platform;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.primitives.Longs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The rule by which sshd and sudo trust a file: nobody but root, the user of this process and those that are named can change it, nor put
 * another one in its place. All directories on the way to it count, those that symbolic links lead through too.
 *
 * <ul>
 *   <li>In a directory with the sticky bit others may create files, but not replace ours.
 *   <li>A group may write that has the name of such a user and nobody else in it, as on systems where each user has a group; one without a
 *       name that has that user's number, too. Not so where an access control list may name others: what the mode says of the group it
 *       says of all of them then.
 *   <li>What is mounted read-only for everybody is as whoever has mounted it wants it.
 *   <li>A file system in user space, fuse(4), is as its user says, whatever it shows.
 * </ul>
 */
public final class TrustedPath {
    private static final int WRITABLE_BY_GROUP = 0020;
    private static final int WRITABLE_BY_OTHERS = 0002;
    private static final int STICKY = 01000;

    /** As many as the kernel follows. */
    private static final int MOST_LINKS = 40;

    private static final String ELSEWHERE = "below a directory that nobody else can change";
    private static final String LOOK = "look at what is in it, then ";

    private static final Splitter FIELDS = Splitter.on(':');

    /** Has no objection to any path. */
    public static final TrustedPath ANY = new TrustedPath(new OnlyOurs(), ImmutableSet.of(0L), ImmutableSet.of());

    private final Machine machine;
    private final ImmutableSet<Long> numbers;
    private final ImmutableSet<String> names;

    /** What is asked about files and users. */
    public interface Machine {
        /**
         * What is at a path; a link itself, not what it leads to.
         *
         * @throws IOException when there is nothing, or it can't be seen
         */
        Entry look(Path path) throws IOException;

        /** The name of the user to whom it belongs, or the number again. */
        String owner(Path path) throws IOException;

        /** The name of its group, or the number again. */
        String group(Path path) throws IOException;

        /**
         * Whether nobody here can change anything on the mount of a path, which leads through no links; false when that can't be found out.
         */
        boolean isReadOnly(Path path);

        /**
         * The user whose program says what is on a device and whose that is, fuse(4); empty of file systems that the kernel itself reads.
         *
         * @throws IOException when that can't be found out
         */
        Optional<Long> mounter(long device) throws IOException;

        /** Whether a group has nobody in it but the user of the same name; false when that can't be found out. */
        boolean isOfOneUser(String group);

        /** Whether an access control list may say more than the mode, acl(5). */
        boolean mayHaveAccessList(Path path);
    }

    /**
     * A file, directory or link.
     *
     * @param mode permissions and the sticky bit
     * @param target where a symbolic link leads; null when it is none
     * @param device that it is on, as stat(2) has it
     */
    public record Entry(long uid, int mode, @Nullable Path target, long device) {}

    /**
     * Why a path can't be trusted.
     *
     * @param place the first thing on the way to it that others can change
     * @param why for people
     * @param remedy what to do, without an end mark
     * @param writer the user or group that can change it, which may be named as one that may; null where that would not help
     */
    public record Objection(
            Path place, String why, String remedy, @Nullable String writer) {
        /** What is said of a file that says what root does, or whom it believes, and is not used for it. */
        public String ofConfiguration() {
            return "root goes by it, and " + why + "; " + remedy;
        }

        /** What is said of documents that are not read for it. */
        public String ofDocuments() {
            return "not read: what is declared here is done as root, and " + why + "; " + remedy
                    + (writer == null ? "" : ", or name " + writer + " in sources.owners of agent.yaml");
        }
    }

    /**
     * @param numbers the users that may change it
     * @param names the same by name
     */
    public TrustedPath(Machine machine, ImmutableSet<Long> numbers, ImmutableSet<String> names) {
        this.machine = machine;
        this.numbers = numbers;
        this.names = names;
    }

    /**
     * The rule for what this process obeys.
     *
     * @param owners the names or numbers of those who may change it, beside root and the user of this process
     */
    public static TrustedPath ofThisProcess(Iterable<String> owners) {
        ImmutableSet.Builder<Long> numbers = ImmutableSet.<Long>builder().add(0L);
        LocalMachine.ourUid().ifPresent(numbers::add);
        LocalMachine.unmappedUid().ifPresent(numbers::add);
        owners.forEach(owner -> Optional.ofNullable(Longs.tryParse(owner)).ifPresent(numbers::add));
        ImmutableSet.Builder<String> names = ImmutableSet.<String>builder().addAll(owners);
        Optional.ofNullable(System.getProperty("user.name")).ifPresent(names::add);
        return new TrustedPath(new LocalMachine(), numbers.build(), names.build());
    }

    /**
     * The same for root. An ordinary user, who has less to lose and may have to live with the directories of others, has no objection to any
     * path.
     */
    public static TrustedPath of(boolean root, Iterable<String> owners) {
        return root ? ofThisProcess(owners) : ANY;
    }

    /** What is wrong with a file that this process obeys, or that says whom it believes; nothing for a user other than root. */
    public static Optional<Objection> objectionOfRoot(Path file) {
        return of(isRoot(), ImmutableSet.of()).objection(file);
    }

    /** Whether this process is one of root. */
    public static boolean isRoot() {
        return LocalMachine.ourUid().filter(uid -> uid == 0).isPresent();
    }

    /**
     * The owner, in a user namespace, of all that belongs to nobody in it, as whom nobody in it can act. Empty where the namespace has a user
     * with that number, as most have: nobody.
     *
     * @param map the numbers of users in the namespace
     * @param overflow as whose it is shown
     */
    static Optional<Long> unmappedUid(MappedNumbers map, long overflow) {
        return map.contains(overflow) ? Optional.empty() : Optional.of(overflow);
    }

    /**
     * Whether the mount of a path is read-only for everybody: the file system is, or the first process sees the same mount. What is mounted in
     * a namespace of this process, as by systemd for a service, keeps nobody else from writing.
     */
    static boolean isReadOnly(Path path, MountTable ours, MountTable ofInit) {
        return ours.of(path)
                .filter(mount -> mount.isFileSystemReadOnly() || (mount.isReadOnly() && ofInit.has(mount)))
                .isPresent();
    }

    /**
     * Whether a group has nobody in it but the user of the same name. Who is in other databases of users is not known: a group that has a name
     * only there has others in it. One without any name, which has its number for one, is that of the user with this number: Kubernetes gives
     * such a group (fsGroup) the right to write to all of a volume.
     *
     * @param groups the lines of group(5)
     * @param users the lines of passwd(5)
     */
    static boolean isOfOneUser(String group, List<String> groups, List<String> users) {
        Optional<List<String>> known = groups.stream()
                .map(FIELDS::splitToList)
                .filter(fields -> fields.size() > 3 && fields.getFirst().equals(group))
                .findFirst();
        if (known.isEmpty() && Longs.tryParse(group) == null) {
            return false;
        }
        String number = known.map(fields -> fields.get(2)).orElse(group);
        String members = known.map(fields -> fields.get(3)).orElse("");
        return Splitter.on(',').omitEmptyStrings().splitToStream(members).allMatch(group::equals)
                && users.stream()
                        .map(FIELDS::splitToList)
                        .filter(fields -> fields.size() > 3 && fields.get(3).equals(number))
                        .allMatch(fields ->
                                fields.get(0).equals(group) || fields.get(2).equals(group));
    }

    /**
     * What is wrong with obeying what is at a path. Nothing may be there: whoever else could put something there, or has taken it away for
     * a moment, is an objection.
     */
    public Optional<Objection> objection(Path path) {
        return new Walk().objection(path);
    }

    /**
     * What is wrong with a path at which something may have yet to be made. It may be in a directory with the sticky bit, where others can
     * be faster: once it is there, {@link #objection} tells.
     */
    public Optional<Objection> objectionToMaking(Path path) {
        return new Walk().objection(path, End.TO_BE_MADE);
    }

    /**
     * What is wrong with connecting to a unix socket. To whom the socket belongs and who may connect to it does not matter, but in a directory
     * with the sticky bit, where its owner could replace it.
     */
    public Optional<Objection> objectionToConnecting(Path socket) {
        return new Walk().objection(socket, End.SOCKET);
    }

    /** What a path is to lead to. */
    private enum End {
        OBEYED,
        TO_BE_MADE,
        SOCKET
    }

    /** One look at many paths, each directory of which is looked at once. */
    public Walk walk() {
        return new Walk();
    }

    /** See {@link #walk}. Not for use by several threads. */
    public final class Walk {
        private final Set<Path> trusted = new HashSet<>();
        private final Map<Path, Entry> seen = new HashMap<>();
        private final Map<Long, Optional<Long>> mounters = new HashMap<>();

        private Walk() {}

        /** See {@link TrustedPath#objection}. */
        public Optional<Objection> objection(Path path) {
            return objection(path, End.OBEYED);
        }

        private Optional<Objection> objection(Path path, End end) {
            try {
                return follow(path.toAbsolutePath(), end);
            } catch (IOException e) {
                String why = (e instanceof AccessDeniedException ? "permission denied: " : "") + e.getMessage();
                return Optional.of(
                        new Objection(path, path + " can't be looked at: " + why, "name another path", null));
            }
        }

        private Optional<Objection> follow(Path path, End end) throws IOException {
            Deque<Path> names = new ArrayDeque<>();
            path.forEach(names::addLast);
            Path at = path.getRoot();
            int links = 0;
            Entry directory = look(at);
            boolean replaceable = false;
            while (true) {
                Path next = names.isEmpty() ? null : child(at, names.removeFirst());
                if (next == null && end == End.SOCKET) {
                    return replaceable && !isOurs(at, directory)
                            ? Optional.of(foreign(at, "move it " + ELSEWHERE))
                            : Optional.empty();
                }
                // Before what is in it: whoever can change it can take that away for as long as it is looked for.
                if (!trusted.contains(at)) {
                    Optional<Objection> found = objection(at, directory, next == null);
                    if (found.isPresent()) {
                        return found;
                    }
                    if ((directory.mode() & STICKY) == 0) {
                        trusted.add(at);
                    }
                }
                if (next == null) {
                    return Optional.empty();
                }
                Optional<Entry> entry = find(next);
                if (entry.isEmpty()) {
                    return end == End.TO_BE_MADE ? Optional.empty() : missing(next, at, directory);
                }
                Path target = entry.get().target();
                if (target == null) {
                    replaceable = (directory.mode() & STICKY) != 0;
                    at = next;
                    directory = entry.get();
                    continue;
                }
                if (!isOurs(next, entry.get()) && !machine.isReadOnly(at)) {
                    return Optional.of(foreign(next, "see where it leads, then chown -h root " + next));
                }
                if (++links > MOST_LINKS) {
                    throw new FileSystemException(path.toString(), null, "more links than the kernel follows");
                }
                for (int i = target.getNameCount() - 1; i >= 0; i--) {
                    names.addFirst(target.getName(i));
                }
                if (target.isAbsolute()) {
                    at = target.getRoot();
                    directory = look(at);
                }
            }
        }

        /** Empty when nothing is there. */
        private Optional<Entry> find(Path path) throws IOException {
            try {
                return Optional.of(look(path));
            } catch (NoSuchFileException e) {
                return Optional.empty();
            }
        }

        private Entry look(Path path) throws IOException {
            Entry known = seen.get(path);
            if (known == null) {
                known = machine.look(path);
                seen.put(path, known);
            }
            return known;
        }

        private Optional<Long> mounter(Entry entry) throws IOException {
            Optional<Long> known = mounters.get(entry.device());
            if (known == null) {
                known = machine.mounter(entry.device());
                mounters.put(entry.device(), known);
            }
            return known;
        }

        private Path child(Path directory, Path name) {
            return switch (name.toString()) {
                case "", "." -> directory;
                case ".." -> directory.getParent() == null ? directory : directory.getParent();
                default -> directory.resolve(name);
            };
        }

        /** @param isEnd whether it is what the path leads to */
        private Optional<Objection> objection(Path place, Entry entry, boolean isEnd) throws IOException {
            Optional<Objection> found = mounter(entry)
                    .filter(user -> !numbers.contains(user))
                    .map(user -> new Objection(
                            place,
                            place + " is on a file system of the user with the number " + user
                                    + ", who says what is in it",
                            "move it " + ELSEWHERE,
                            null));
            if (found.isPresent()) {
                return found;
            }
            if (!isOurs(place, entry)) {
                found = Optional.of(foreign(place, isEnd ? LOOK + "chown root " + place : "move it " + ELSEWHERE));
            } else if (isEnd) {
                found = writable(place, entry, "", LOOK + "chmod go-w " + place);
            } else if ((entry.mode() & STICKY) == 0) {
                found = writable(place, entry, "", "chmod go-w " + place + ", or move it " + ELSEWHERE);
            }
            return found.filter(objection -> !machine.isReadOnly(place));
        }

        /** What is wrong with a directory in which something is missing, and only that. */
        private Optional<Objection> missing(Path name, Path directory, Entry entry) throws IOException {
            return writable(directory, entry, name + " is not there, and ", "name a path " + ELSEWHERE)
                    .filter(objection -> !machine.isReadOnly(directory));
        }

        private Optional<Objection> writable(Path place, Entry entry, String what, String remedy) throws IOException {
            if ((entry.mode() & WRITABLE_BY_OTHERS) != 0) {
                return Optional.of(
                        new Objection(place, what + place + " may be written to by everybody", remedy, null));
            }
            if ((entry.mode() & WRITABLE_BY_GROUP) == 0) {
                return Optional.empty();
            }
            String group = machine.group(place);
            boolean ofOneUser = machine.isOfOneUser(group);
            boolean listed = ofOneUser && machine.mayHaveAccessList(place);
            if (ofOneUser && !listed && (names.contains(group) || group.equals("root"))) {
                return Optional.empty();
            }
            return Optional.of(new Objection(
                    place,
                    what + place + " may be written to by "
                            + (listed ? "whom its access control list names" : "the group " + group),
                    remedy,
                    ofOneUser && !listed ? group : null));
        }

        private boolean isOurs(Path path, Entry entry) throws IOException {
            return numbers.contains(entry.uid()) || (!names.isEmpty() && names.contains(machine.owner(path)));
        }

        private Objection foreign(Path place, String remedy) throws IOException {
            String owner = machine.owner(place);
            return new Objection(place, place + " belongs to " + owner, remedy, owner);
        }
    }

    /** Where all belongs to root alone. */
    private static final class OnlyOurs implements Machine {
        @Override
        public Entry look(Path path) {
            return new Entry(0, 0, null, 0);
        }

        @Override
        public String owner(Path path) {
            return "";
        }

        @Override
        public String group(Path path) {
            return "";
        }

        @Override
        public boolean isReadOnly(Path path) {
            return true;
        }

        @Override
        public Optional<Long> mounter(long device) {
            return Optional.empty();
        }

        @Override
        public boolean isOfOneUser(String group) {
            return true;
        }

        @Override
        public boolean mayHaveAccessList(Path path) {
            return false;
        }
    }

    /** This machine, as the kernel and passwd(5) and group(5) describe it. */
    private static final class LocalMachine implements Machine {
        private static final Path MOUNTS = Path.of("/proc/self/mountinfo");
        private static final Path PASSWD = Path.of("/etc/passwd");
        private static final Path GROUP = Path.of("/etc/group");
        private static final int TYPE = 0170000;
        private static final int LINK = 0120000;

        static Optional<Long> ourUid() {
            try {
                return Optional.of(((Number) Files.getAttribute(Path.of("/proc/self"), "unix:uid")).longValue());
            } catch (IOException e) {
                return Optional.empty();
            }
        }

        static Optional<Long> unmappedUid() {
            try {
                return TrustedPath.unmappedUid(
                        MappedNumbers.users(), Sysctl.number(Path.of("/proc/sys/kernel/overflowuid")));
            } catch (IOException e) {
                return Optional.empty();
            }
        }

        @Override
        public Entry look(Path path) throws IOException {
            Map<String, Object> unix = Files.readAttributes(path, "unix:uid,mode,dev", LinkOption.NOFOLLOW_LINKS);
            int mode = (int) number(unix, "mode");
            return new Entry(
                    number(unix, "uid"),
                    mode,
                    (mode & TYPE) == LINK ? Files.readSymbolicLink(path) : null,
                    number(unix, "dev"));
        }

        private static long number(Map<String, Object> unix, String name) {
            return ((Number) Objects.requireNonNull(unix.get(name))).longValue();
        }

        @Override
        public Optional<Long> mounter(long device) throws IOException {
            return MountTable.mounter(device, MOUNTS);
        }

        @Override
        public String owner(Path path) throws IOException {
            return Files.getOwner(path, LinkOption.NOFOLLOW_LINKS).getName();
        }

        @Override
        public String group(Path path) throws IOException {
            return Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                    .group()
                    .getName();
        }

        @Override
        public boolean isReadOnly(Path path) {
            try {
                return TrustedPath.isReadOnly(
                        path, MountTable.read(MOUNTS), MountTable.read(Path.of("/proc/1/mountinfo")));
            } catch (IOException e) {
                return false;
            }
        }

        @Override
        public boolean isOfOneUser(String group) {
            try {
                return TrustedPath.isOfOneUser(group, lines(GROUP), lines(PASSWD));
            } catch (IOException e) {
                return false;
            }
        }

        @Override
        public boolean mayHaveAccessList(Path path) {
            return AccessList.mayExist(path);
        }

        /** None in a change root or container without such a file: users and groups have numbers only there. */
        private static List<String> lines(Path file) throws IOException {
            try {
                return Files.readAllLines(file, StandardCharsets.ISO_8859_1);
            } catch (NoSuchFileException e) {
                return ImmutableList.of();
            }
        }
    }
}
