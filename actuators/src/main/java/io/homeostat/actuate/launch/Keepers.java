package io.homeostat.actuate.launch;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.homeostat.observe.process.SystemCharset;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Starts the keepers of launches with posix_spawn(3), each in a session of its own, and collects those that have ended. ProcessBuilder would
 * execute a helper before each of them, and have a thread wait for each as long as its program runs.
 */
public final class Keepers {
    /** More than posix_spawnattr_t, posix_spawn_file_actions_t and sigset_t have in glibc and musl. */
    private static final long ROOMY = 1024;

    /** POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID, spawn.h. */
    private static final short FLAGS = 0x04 | 0x08 | 0x80;

    private static final int FIRST_OTHER_DESCRIPTOR = 3;

    /** How many descriptors others may open between our look and the spawn. */
    private static final int OPENED_MEANWHILE = 256;

    /** EBADF, of glibc before 2.34 for a descriptor that the limit of open files does not allow. */
    private static final int BEYOND_THE_LIMIT = 9;

    private static final int LAST_SIGNAL = 64;

    /** SIGKILL and SIGSTOP, whose handling can't be set. */
    private static final List<Integer> UNTOUCHED = List.of(9, 19);

    /** WNOHANG, waitpid(2). */
    private static final int AT_ONCE = 1;

    private final Supplier<Optional<MethodHandle>> closeFrom;

    /** While a child is in here it has not been collected, so nobody else can have its number. */
    private final Set<Integer> children = ConcurrentHashMap.newKeySet();

    public Keepers() {
        this(() -> Calls.CLOSE_FROM);
    }

    /** @param closeFrom empty where the C library does not have it */
    Keepers(Supplier<Optional<MethodHandle>> closeFrom) {
        this.closeFrom = closeFrom;
    }

    /** Links the functions that a start calls, which takes the JVM some 20 ms that no launch need wait for. */
    public void prepare() {
        var _ = closeFrom.get();
    }

    /**
     * Starts one, without any of our descriptors but the standard ones, and with no signal ignored or blocked.
     *
     * @param command an absolute path and its arguments
     * @param environment all that it gets
     * @return its number
     * @throws IOException when the system refuses
     */
    int start(List<String> command, Map<String, String> environment) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(ROOMY);
            MemorySegment actions = arena.allocate(ROOMY);
            check("posix_spawnattr_init", (int) Calls.ATTRIBUTES_INIT.invokeExact(attributes));
            try {
                check("posix_spawn_file_actions_init", (int) Calls.ACTIONS_INIT.invokeExact(actions));
                try {
                    check("posix_spawnattr_setflags", (int) Calls.SET_FLAGS.invokeExact(attributes, FLAGS));
                    check("posix_spawnattr_setsigdefault", (int)
                            Calls.SET_DEFAULT_SIGNALS.invokeExact(attributes, everySignal(arena)));
                    check("posix_spawnattr_setsigmask", (int)
                            Calls.SET_BLOCKED_SIGNALS.invokeExact(attributes, arena.allocate(ROOMY)));
                    closeOthers(actions);
                    MemorySegment child = arena.allocate(JAVA_INT);
                    int error = (int) Calls.SPAWN.invokeExact(
                            child,
                            string(arena, command.getFirst()),
                            actions,
                            attributes,
                            strings(arena, command),
                            strings(
                                    arena,
                                    environment.entrySet().stream()
                                            .map(each -> each.getKey() + "=" + each.getValue())
                                            .toList()));
                    check("posix_spawn of " + command.getFirst(), error);
                    int pid = child.get(JAVA_INT, 0);
                    children.add(pid);
                    return pid;
                } finally {
                    int _ = (int) Calls.ACTIONS_DESTROY.invokeExact(actions);
                }
            } finally {
                int _ = (int) Calls.ATTRIBUTES_DESTROY.invokeExact(attributes);
            }
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a foreign function threw what it does not declare", e);
        }
    }

    private void closeOthers(MemorySegment actions) throws Throwable {
        Optional<MethodHandle> closes = closeFrom.get();
        if (closes.isPresent()) {
            check("posix_spawn_file_actions_addclosefrom_np", (int)
                    closes.get().invokeExact(actions, FIRST_OTHER_DESCRIPTOR));
            return;
        }
        int highest;
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            highest = open.mapToInt(each -> Integer.parseInt(each.getFileName().toString()))
                    .max()
                    .orElse(FIRST_OTHER_DESCRIPTOR);
        }
        for (int descriptor = FIRST_OTHER_DESCRIPTOR; descriptor <= highest + OPENED_MEANWHILE; descriptor++) {
            int error = (int) Calls.ADD_CLOSE.invokeExact(actions, descriptor);
            if (error == BEYOND_THE_LIMIT) {
                return;
            }
            check("posix_spawn_file_actions_addclose", error);
        }
    }

    /** Whether one of ours has ended; it is collected then. Others may ask at the same time. */
    synchronized boolean hasEnded(int pid) {
        if (!children.contains(pid)) {
            return true;
        }
        int collected;
        try {
            collected = (int) Calls.WAITPID.invokeExact(pid, MemorySegment.NULL, AT_ONCE);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a foreign function threw what it does not declare", e);
        }
        boolean ended = collected > 0 || (collected < 0 && !isOurChild(pid));
        if (ended) {
            children.remove(pid);
        }
        return ended;
    }

    /** Where we were started with SIGCHLD ignored, the kernel collects what ends, and the number may be another's. */
    private static boolean isOurChild(int pid) {
        return ProcessHandle.of(pid)
                .flatMap(ProcessHandle::parent)
                .filter(ProcessHandle.current()::equals)
                .isPresent();
    }

    /** Collects all that have ended, so that they don't stay in the table of processes. */
    public void collect() {
        children.forEach(this::hasEnded);
    }

    private static MemorySegment everySignal(Arena arena) {
        MemorySegment signals = arena.allocate(ROOMY);
        for (int signal = 1; signal <= LAST_SIGNAL; signal++) {
            if (!UNTOUCHED.contains(signal)) {
                int at = (signal - 1) / Byte.SIZE;
                signals.set(JAVA_BYTE, at, (byte) (signals.get(JAVA_BYTE, at) | 1 << (signal - 1) % Byte.SIZE));
            }
        }
        return signals;
    }

    private static MemorySegment strings(Arena arena, List<String> texts) {
        MemorySegment pointers = arena.allocate(ADDRESS, texts.size() + 1L);
        for (int i = 0; i < texts.size(); i++) {
            pointers.setAtIndex(ADDRESS, i, string(arena, texts.get(i)));
        }
        return pointers;
    }

    private static MemorySegment string(Arena arena, String text) {
        byte[] bytes = text.getBytes(SystemCharset.get());
        MemorySegment string = arena.allocate(bytes.length + 1L);
        MemorySegment.copy(bytes, 0, string, JAVA_BYTE, 0, bytes.length);
        return string;
    }

    private static void check(String call, int error) throws IOException {
        if (error != 0) {
            String why = switch (error) {
                case 2 -> "there is no such file";
                case 7 -> "arguments and environment are too long together";
                case 11 -> "the limit of processes is reached";
                case 12 -> "there is not enough memory";
                default -> "errno " + error;
            };
            throw new IOException(call + " failed: " + why);
        }
    }

    /** Linked with the first start: that takes 20 ms, and who only looks, or finds all running, needs none of them. */
    static final class Calls {
        private static final Linker LINKER = Linker.nativeLinker();
        private static final FunctionDescriptor OF_ONE = FunctionDescriptor.of(JAVA_INT, ADDRESS);
        private static final FunctionDescriptor OF_TWO = FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS);
        private static final FunctionDescriptor OF_DESCRIPTOR = FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT);

        static final MethodHandle ATTRIBUTES_INIT = function("posix_spawnattr_init", OF_ONE);
        static final MethodHandle ATTRIBUTES_DESTROY = function("posix_spawnattr_destroy", OF_ONE);
        static final MethodHandle SET_FLAGS =
                function("posix_spawnattr_setflags", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_SHORT));
        static final MethodHandle SET_DEFAULT_SIGNALS = function("posix_spawnattr_setsigdefault", OF_TWO);
        static final MethodHandle SET_BLOCKED_SIGNALS = function("posix_spawnattr_setsigmask", OF_TWO);
        static final MethodHandle ACTIONS_INIT = function("posix_spawn_file_actions_init", OF_ONE);
        static final MethodHandle ACTIONS_DESTROY = function("posix_spawn_file_actions_destroy", OF_ONE);
        static final MethodHandle ADD_CLOSE = function("posix_spawn_file_actions_addclose", OF_DESCRIPTOR);

        /** glibc before 2.34 and musl don't have it. */
        static final Optional<MethodHandle> CLOSE_FROM = LINKER.defaultLookup()
                .find("posix_spawn_file_actions_addclosefrom_np")
                .map(address -> LINKER.downcallHandle(address, OF_DESCRIPTOR));

        static final MethodHandle SPAWN = function(
                "posix_spawn", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
        static final MethodHandle WAITPID =
                function("waitpid", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT));

        private Calls() {}

        private static MethodHandle function(String name, FunctionDescriptor type) {
            return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), type);
        }
    }
}
