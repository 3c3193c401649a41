package io.homeostat.observe.process;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.primitives.Longs;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.Pace;
import io.homeostat.observe.limits.KernelFile;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.observe.process.ProcFs.Stat;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Reads what the kernel tells about processes from /proc (proc(5)). A missing process is an empty result; what cannot be read is an
 * {@link IOException}.
 */
public final class ProcFs {
    /** The unit of start times for programs, on every architecture that Java runs on: USER_HZ, see times(2). */
    private static final int SETUID = 04000;

    private static final long TICKS_PER_SECOND = 100;

    /** Set in our image, for all that runs in it. Many a namespace of pids is no container, or outlives its first agent. */
    private static final String CONTAINER = "HOMEOSTAT_CONTAINER";

    /** As long as the name of a directory. */
    private static final int LONGEST_LAUNCH = 255;

    public static final long NANOS_PER_TICK = Duration.ofSeconds(1).toNanos() / TICKS_PER_SECOND;

    private final Path root;
    private final boolean isContainer;
    private final long self = ProcessHandle.current().pid();
    private final Pace pace;
    private final ProcessMemory memory;
    private final SharedLook<RunningProcesses> everything;
    private volatile @Nullable String bootId;
    private final ConcurrentMap<ProcessKey, Optional<String>> marksSeen = new ConcurrentHashMap<>();

    public ProcFs() {
        this(Path.of("/proc"), new Pace(), System.getenv(CONTAINER) != null, ProcessMemory.ofThisMachine());
    }

    public ProcFs(Path root) {
        this(root, new Pace(), false, new ProcessMemory(ProcessMemory.PATIENCE));
    }

    /**
     * @param pace of looks at all processes
     * @param isContainer whether all that runs ends with the first process, although the machine stays
     */
    ProcFs(Path root, Pace pace, boolean isContainer, ProcessMemory memory) {
        this.memory = memory;
        this.isContainer = isContainer;
        this.root = root;
        this.pace = pace;
        this.everything = new SharedLook<>(this::lookAtEverything, pace::begin);
    }

    /** A file below /proc. */
    Path path(String first, String... more) {
        return root.resolve(Path.of(first, more));
    }

    /** What a process has open under a descriptor, as the kernel names it; empty when it is closed, or the process is another user's. */
    Optional<String> openFile(long pid, int descriptor) {
        try {
            Path file = root.resolve(Long.toString(pid)).resolve("fd").resolve(Integer.toString(descriptor));
            return Optional.of(Files.readSymbolicLink(file).toString());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /**
     * One line of /proc/PID/stat.
     *
     * @param name of the program, at most 15 bytes, chosen by it: may contain spaces and parentheses
     * @param state one letter, proc_pid_stat(5)
     * @param ownTicks CPU time that it used itself
     * @param childTicks CPU time of its descendants that ended and were waited for
     * @param startTicks clock ticks since boot
     */
    public record Stat(
            long pid,
            String name,
            char state,
            long parent,
            long session,
            long ownTicks,
            long childTicks,
            int threads,
            long startTicks,
            long residentPages) {
        /** How many fields there are after the name, up to the last one that is wanted. */
        private static final int WANTED = 22;

        /** Parses a line. The name is in parentheses and unescaped, so the last parenthesis closes it. */
        static Optional<Stat> parse(String line) {
            int open = line.indexOf('(');
            int close = line.lastIndexOf(')');
            if (open < 1 || close < open) {
                return Optional.empty();
            }
            // Thousands of these are read at a time: what nobody wants stays in one piece.
            String[] rest = line.substring(close + 1).strip().split(" ", WANTED + 1);
            if (rest.length < WANTED) {
                return Optional.empty();
            }
            try {
                return Optional.of(new Stat(
                        Long.parseLong(line.substring(0, open).strip()),
                        line.substring(open + 1, close),
                        rest[0].charAt(0),
                        Long.parseLong(rest[1]),
                        Long.parseLong(rest[3]),
                        Long.parseLong(rest[11]) + Long.parseLong(rest[12]),
                        Long.parseLong(rest[13]) + Long.parseLong(rest[14]),
                        Integer.parseInt(rest[17]),
                        Long.parseLong(rest[19]),
                        Long.parseLong(rest[21])));
            } catch (NumberFormatException e) {
                return Optional.empty();
            }
        }

        /** False for a zombie. A main thread that ended before the other threads looks the same but is alive. */
        public boolean alive() {
            return switch (state) {
                case 'X', 'x' -> false;
                case 'Z' -> threads > 1;
                default -> true;
            };
        }

        public boolean is(ProcessIdentity identity) {
            return pid == identity.pid() && startTicks == identity.startTicks();
        }
    }

    /** The process with this pid, zombies included. */
    public Optional<Stat> stat(long pid) throws IOException {
        Path directory = root.resolve(Long.toString(pid));
        Path file = directory.resolve("stat");
        String line;
        try {
            line = read(file);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            // The process ended between open and read: ESRCH, for which Java has no type.
            if (Files.notExists(directory)) {
                return Optional.empty();
            }
            throw e;
        }
        Optional<Stat> stat = Stat.parse(line);
        if (stat.isEmpty()) {
            throw new IOException(file + " is not what proc_pid_stat(5) describes: " + line.strip());
        }
        return stat;
    }

    /** Whether this very process runs: pid, start time and boot match, and it is not a zombie. */
    public boolean runs(ProcessIdentity identity) throws IOException {
        return identity.bootId().equals(bootId())
                && stat(identity.pid())
                        .filter(stat -> stat.is(identity) && stat.alive())
                        .isPresent();
    }

    /** Whether a process catches a signal, or blocks it to read it. One that is gone does not. */
    public boolean handles(long pid, int signal) throws IOException {
        Path directory = root.resolve(Long.toString(pid));
        try {
            return read(directory.resolve("status"))
                    .lines()
                    .filter(line -> line.startsWith("SigCgt:") || line.startsWith("SigBlk:"))
                    .mapToLong(line -> Long.parseUnsignedLong(
                            line.substring(line.indexOf(':') + 1).strip(), 16))
                    .anyMatch(mask -> (mask >>> (signal - 1) & 1) != 0);
        } catch (IOException e) {
            // Its end shows in different ways, see stat.
            if (Files.notExists(directory)) {
                return false;
            }
            throw e;
        }
    }

    /** All processes, without zombies. */
    public ImmutableList<Stat> processes() throws IOException {
        return table().stream().filter(Stat::alive).collect(ImmutableList.toImmutableList());
    }

    /**
     * All running processes. Read once for all callers that ask at the same time, and never before they asked: a thousand workloads stopped
     * at once would otherwise each read a thousand processes. Where there are so many that reading them would never end, looks go at a
     * {@link Pace}.
     */
    public RunningProcesses running() throws IOException {
        return everything.answer();
    }

    /** Of how many processes it is known whose they are. */
    int marksSeen() {
        return marksSeen.size();
    }

    private RunningProcesses lookAtEverything() throws IOException {
        try {
            long now = uptimeTicks();
            return new RunningProcesses(
                    processes().stream().filter(stat -> stat.pid() != self).toList(), new Marks(), marksSeen, now);
        } finally {
            pace.end();
        }
    }

    /** All processes, zombies included. */
    public ImmutableList<Stat> table() throws IOException {
        ImmutableList.Builder<Stat> found = ImmutableList.builder();
        for (long pid : pids()) {
            stat(pid).ifPresent(found::add);
        }
        return found.build();
    }

    /** The numbers of all processes. */
    ImmutableList<Long> pids() throws IOException {
        ImmutableList.Builder<Long> found = ImmutableList.builder();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(root)) {
            for (Path entry : entries) {
                Long pid = Longs.tryParse(entry.getFileName().toString());
                if (pid != null) {
                    found.add(pid);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return found.build();
    }

    /** Whether all user ids of a process are this one: real, effective, saved and that for files. */
    boolean isOfUser(long pid, int uid) throws IOException {
        List<String> ids = userIds(pid);
        return !ids.isEmpty() && ids.stream().allMatch(Integer.toString(uid)::equals);
    }

    /**
     * Whether a process is this user's by its real id, which also a program keeps that runs with the rights of its file's owner: anybody can
     * have such a program executed with any environment.
     */
    boolean wasStartedBy(int uid, long pid) throws IOException {
        int owner = (int) Files.getAttribute(path(Long.toString(pid)), "unix:uid");
        // The effective one, or root: cheap, and nearly all processes are somebody else's.
        return (owner == uid || owner == 0) && userIds(pid).stream().limit(1).anyMatch(Integer.toString(uid)::equals);
    }

    /** The real user id of a process; empty when it has ended or that can't be seen. */
    public OptionalInt realUserId(long pid) {
        try {
            return userIds(pid).stream().limit(1).mapToInt(Integer::parseInt).findFirst();
        } catch (IOException | NumberFormatException e) {
            return OptionalInt.empty();
        }
    }

    /** Whether the program of a process runs as the owner of its file, whoever executes it (setuid); false when it has ended or that can't be seen. */
    public boolean runsAsOwner(long pid) {
        try {
            return ((int) Files.getAttribute(path(Long.toString(pid), "exe"), "unix:mode") & SETUID) != 0;
        } catch (IOException e) {
            return false;
        }
    }

    /** The user and group that a process runs as, by its real ids and without a name; empty when it has ended or that can't be seen. */
    public Optional<Account> account(long pid) {
        try {
            String status = read(path(Long.toString(pid), "status"));
            List<String> uids = ids(status, "Uid:");
            List<String> gids = ids(status, "Gid:");
            return uids.isEmpty() || gids.isEmpty()
                    ? Optional.empty()
                    : Optional.of(new Account(
                            uids.getFirst(),
                            Integer.parseInt(uids.getFirst()),
                            Integer.parseInt(gids.getFirst()),
                            "",
                            ""));
        } catch (IOException | NumberFormatException e) {
            return Optional.empty();
        }
    }

    /**
     * The process that has stopped a thread of another one to trace it, ptrace(2), who has stopped that one, and so on; empty when none has,
     * or that can't be seen.
     */
    public ImmutableList<Stat> tracers(long pid) {
        Map<Long, Stat> found = new LinkedHashMap<>();
        for (Optional<Stat> next = tracer(pid);
                next.isPresent() && found.putIfAbsent(next.get().pid(), next.get()) == null; ) {
            next = tracer(next.get().pid());
        }
        return ImmutableList.copyOf(found.values());
    }

    private Optional<Stat> tracer(long pid) {
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(path(Long.toString(pid), "task"))) {
            for (Path thread : threads) {
                String status = read(thread.resolve("status"));
                if (ids(status, "State:").stream().anyMatch(state -> state.startsWith("t"))) {
                    List<String> tracer = ids(status, "TracerPid:");
                    return tracer.isEmpty() ? Optional.empty() : ofThread(tracer.getFirst());
                }
            }
            return Optional.empty();
        } catch (IOException | DirectoryIteratorException | NumberFormatException e) {
            return Optional.empty();
        }
    }

    /** Returns the process of a thread: the kernel tells who traces by the thread that does. */
    private Optional<Stat> ofThread(String thread) throws IOException {
        List<String> process = ids(read(path(thread, "status")), "Tgid:");
        return process.isEmpty() ? Optional.empty() : stat(Long.parseLong(process.getFirst()));
    }

    private List<String> userIds(long pid) throws IOException {
        return ids(read(path(Long.toString(pid), "status")), "Uid:");
    }

    /** What a line of proc_pid_status(5) says; of Uid and Gid the real, effective, saved and file system's id, in this order. */
    private static List<String> ids(String status, String field) {
        return status.lines()
                .filter(line -> line.startsWith(field))
                .flatMap(line -> Splitter.on('\t').splitToStream(line).skip(1))
                .toList();
    }

    /** Whether a process is the keeper of a launch: one of ours that has its mark. */
    public boolean keeps(long pid, String launchId) {
        return keptLaunch(pid).filter(launchId::equals).isPresent();
    }

    /** Returns the launch whose keeper a process is; empty when it is none, or that can't be seen. */
    Optional<String> keptLaunch(long pid) {
        try {
            return wasStartedBy(Account.ourUid(), pid)
                    ? found(Account.ourUid(), pid, LaunchMarks.KEEPER).value()
                    : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /**
     * Whether a process's program was executed with this environment variable set to this value. False when that cannot be read, as for
     * another user's process: then it is not known to be ours.
     */
    public boolean carries(long pid, String variable, String value) {
        return variable(pid, variable).filter(value::equals).isPresent();
    }

    /**
     * The value of an environment variable with which a process's program was executed; empty when it had none or that cannot be read.
     */
    public Optional<String> variable(long pid, String variable) {
        OptionalInt user = realUserId(pid);
        if (user.isEmpty()) {
            return Optional.empty();
        }
        try {
            return found(user.getAsInt(), pid, variable).value();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** The launch whose mark a process has; empty when it has none or that cannot be read. */
    public Optional<String> launch(long pid) {
        return variable(pid, LaunchMarks.LAUNCH).filter(ProcFs::isLaunch);
    }

    private ProcessEnvironment.Found found(int user, long pid, String variable) throws IOException {
        Stat stat = stat(pid)
                .orElseThrow(
                        () -> new NoSuchFileException(path(Long.toString(pid)).toString()));
        return found(user, ProcessKey.of(stat), variable);
    }

    private ProcessEnvironment.Found found(int user, ProcessKey process, String variable) throws IOException {
        Path file = path(Long.toString(process.pid()), "environ");
        return memory.read(user, process, () -> new ProcessEnvironment(file).find(variable));
    }

    /** Marks of thousands of processes are remembered, and their users decide what they are. */
    private static boolean isLaunch(String mark) {
        return mark.length() <= LONGEST_LAUNCH;
    }

    private final class Marks implements RunningProcesses.Environments {
        @Override
        public boolean wasStartedBy(int uid, long pid) throws IOException {
            return ProcFs.this.wasStartedBy(uid, pid);
        }

        @Override
        public Optional<String> mark(int user, ProcessKey process) throws IOException {
            ProcessEnvironment.Found found = found(user, process, LaunchMarks.LAUNCH);
            if (!found.isWhole()) {
                throw new IOException("the environment of process " + process.pid() + " is not whole");
            }
            return found.value().filter(ProcFs::isLaunch);
        }
    }

    /** The boot id, which differs after every boot, and in a container after every start of it. */
    public String bootId() throws IOException {
        String known = bootId;
        if (known == null) {
            known = kernelBootId() + containerStart();
            // Nobody outlives a boot.
            bootId = known;
        }
        return known;
    }

    /** What programs see of it, wherever they run: it stays when a container is started again. */
    public String kernelBootId() throws IOException {
        return read(root.resolve("sys/kernel/random/boot_id")).strip();
    }

    /** All that runs in a container ends with its first process, while the kernel's boot id stays. */
    private String containerStart() throws IOException {
        return isContainer ? stat(1).map(init -> "/" + init.startTicks()).orElse("") : "";
    }

    /** When this machine booted, by the present clock. */
    public Instant bootTime() throws IOException {
        for (String line : Splitter.on('\n').split(read(root.resolve("stat")))) {
            if (line.startsWith("btime ")) {
                return Instant.ofEpochSecond(
                        Long.parseLong(line.substring("btime ".length()).strip()));
            }
        }
        throw new IOException(root.resolve("stat") + " has no line btime");
    }

    /** The age of a process with this start time. */
    public Duration age(long startTicks) throws IOException {
        long age = uptimeTicks() - startTicks;
        return Duration.ofMillis(Math.max(0, age) * 1000 / TICKS_PER_SECOND);
    }

    /** The time since boot. */
    public long uptimeTicks() throws IOException {
        return uptimeTicks(read(root.resolve("uptime")));
    }

    /** Parses /proc/uptime: seconds since boot with two decimals, which are ticks. */
    public static long uptimeTicks(String uptime) {
        String seconds = Splitter.on(' ').splitToList(uptime.strip()).get(0);
        return Math.round(Double.parseDouble(seconds) * TICKS_PER_SECOND);
    }

    private static String read(Path file) throws IOException {
        try {
            return new String(KernelFile.bytes(file), StandardCharsets.ISO_8859_1);
        } catch (FileSystemException e) {
            throw e;
        } catch (IOException e) {
            // Unlike an error of opening, one of reading does not name the file.
            throw new IOException(file + " can't be read: " + e.getMessage(), e);
        }
    }

    /**
     * One expensive look shared by all who ask at the same time. An answer never comes from a look that began before the question:
     * whoever asks during one gets the next, together with all others who asked meanwhile. Nothing is kept when nobody asks.
     */
    static final class SharedLook<T> {
        interface Eyes<T> {
            T look() throws IOException;
        }

        private final Eyes<T> eyes;
        private final Runnable mayBegin;

        /** The look that is about to begin; completes empty when it fails. Null when nobody has asked for one. */
        private final AtomicReference<@Nullable CompletableFuture<Optional<T>>> next = new AtomicReference<>();

        /** Held by whoever looks. */
        private final Lock turn = new ReentrantLock();

        /** @param mayBegin called before each look; may wait, and whoever asks meanwhile shares the look */
        SharedLook(Eyes<T> eyes, Runnable mayBegin) {
            this.eyes = eyes;
            this.mayBegin = mayBegin;
        }

        /** How many wait for somebody else's look that has not begun. */
        int waiting() {
            CompletableFuture<Optional<T>> due = next.get();
            return due == null ? 0 : due.getNumberOfDependents();
        }

        /** @throws IOException when this caller's own look failed; those who wait for it try again */
        T answer() throws IOException {
            CompletableFuture<Optional<T>> mine = new CompletableFuture<>();
            while (true) {
                CompletableFuture<Optional<T>> due = next.compareAndExchange(null, mine);
                if (due == null) {
                    return look(mine);
                }
                Optional<T> seen = due.join();
                if (seen.isPresent()) {
                    return seen.get();
                }
            }
        }

        private T look(CompletableFuture<Optional<T>> mine) throws IOException {
            turn.lock();
            try {
                mayBegin.run();
                next.set(null);
                T fresh = eyes.look();
                mine.complete(Optional.of(fresh));
                return fresh;
            } finally {
                next.compareAndSet(mine, null);
                turn.unlock();
                mine.complete(Optional.empty());
            }
        }
    }

    /** Identifies a process within one boot: a pid is reused, but not within the same clock tick. */
    public record ProcessKey(long pid, long startTicks) {
        public static ProcessKey of(Stat stat) {
            return new ProcessKey(stat.pid(), stat.startTicks());
        }
    }
}
