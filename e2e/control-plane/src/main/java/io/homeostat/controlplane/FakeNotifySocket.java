package io.homeostat.controlplane;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;

/** What systemd is to a service of Type=notify: a socket of unix(7) that takes datagrams. Not for several threads at once. */
public final class FakeNotifySocket implements AutoCloseable {
    private static final int AF_UNIX = 1;
    private static final int SOCK_DGRAM_CLOEXEC = 2 | 02000000;
    private static final short POLLIN = 1;
    private static final int LONGEST = 4096;

    private static final MethodHandle SOCKET = function("socket", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle BIND = function("bind", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle POLL = function("poll", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
    private static final MethodHandle RECV = function("recv", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
    private static final MethodHandle CLOSE = function("close", JAVA_INT, JAVA_INT);

    private final String socket;
    private final int descriptor;

    /** Listens on an absolute path, or on '@' and a name in the abstract namespace. */
    public FakeNotifySocket(String socket) throws IOException {
        this.socket = socket;
        byte[] name = socket.getBytes(StandardCharsets.UTF_8);
        if (socket.startsWith("@")) {
            name[0] = 0;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = arena.allocate(Short.BYTES + name.length, Short.BYTES);
            address.set(JAVA_SHORT, 0, (short) AF_UNIX);
            MemorySegment.copy(name, 0, address, JAVA_BYTE, Short.BYTES, name.length);
            descriptor = (int) call(() -> (int) SOCKET.invokeExact(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0));
            if (descriptor < 0
                    || call(() -> (int) BIND.invokeExact(descriptor, address, (int) address.byteSize())) < 0) {
                throw new IOException("can't listen on " + socket);
            }
        }
    }

    /** The next message; empty when none came in this time. */
    public Optional<String> receive(Duration patience) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment awaited = arena.allocate(Integer.BYTES + 2 * Short.BYTES, Integer.BYTES);
            awaited.set(JAVA_INT, 0, descriptor);
            awaited.set(JAVA_SHORT, Integer.BYTES, POLLIN);
            if (call(() -> (int) POLL.invokeExact(awaited, 1L, (int) patience.toMillis())) == 0) {
                return Optional.empty();
            }
            MemorySegment buffer = arena.allocate(LONGEST);
            long length = call(() -> (long) RECV.invokeExact(descriptor, buffer, buffer.byteSize(), 0));
            if (length < 0) {
                throw new IOException("can't receive from " + socket);
            }
            return Optional.of(new String(buffer.asSlice(0, length).toArray(JAVA_BYTE), StandardCharsets.UTF_8));
        }
    }

    @Override
    public void close() {
        call(() -> (int) CLOSE.invokeExact(descriptor));
    }

    private interface Call {
        long make() throws Throwable;
    }

    private static long call(Call call) {
        try {
            return call.make();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a foreign function threw what it does not declare", e);
        }
    }

    private static MethodHandle function(String name, ValueLayout result, ValueLayout... arguments) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow(name), FunctionDescriptor.of(result, arguments));
    }
}
