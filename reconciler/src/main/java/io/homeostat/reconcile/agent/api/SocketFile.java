package io.homeostat.reconcile.agent.api;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The file that a unix socket is reached by: it outlives the process that made it, and has to be told from a living one. */
public final class SocketFile {
    private static final Path UNIX_SOCKETS = Path.of("/proc/net/unix");
    private static final Path PROCESSES = Path.of("/proc");

    private final Path path;

    public SocketFile(Path path) {
        this.path = path;
    }

    /** @throws ApiException when the kernel would not take the path */
    void checkLength() {
        int length = path.toString().getBytes(StandardCharsets.UTF_8).length;
        if (length > Layout.MAX_SOCKET_PATH) {
            throw notServed(
                    "cannot listen on " + path + ": the path of a unix socket has at most " + Layout.MAX_SOCKET_PATH
                            + " bytes, and this one has " + length + "; choose a shorter --run-dir",
                    null);
        }
    }

    /** What is in the place of a socket. */
    public enum Occupant {
        NOBODY,
        A_DEAD_PROCESS,
        A_LISTENER,
        /** A socket on which nobody is known to listen, and which does not refuse either: its process may have bound it elsewhere. */
        UNKNOWN,
        NO_SOCKET
    }

    /**
     * Looks at the place and touches nothing.
     *
     * @throws IOException when it can't be looked at
     */
    public Occupant occupant() throws IOException {
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return Occupant.NOBODY;
        }
        int type = (Integer) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) & 0170000;
        if (type != 0140000) {
            return Occupant.NO_SOCKET;
        }
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            // Blocking, it would wait for as long as the queue of a process that accepts nothing is full.
            channel.configureBlocking(false);
            channel.connect(UnixDomainSocketAddress.of(path));
            return Occupant.A_LISTENER;
        } catch (ConnectException e) {
            return Occupant.A_DEAD_PROCESS;
        } catch (SocketException e) {
            // Nobody who takes connections just now, or takes ours: in that case the kernel lists a listener.
            return listening().isEmpty() ? Occupant.UNKNOWN : Occupant.A_LISTENER;
        }
    }

    /**
     * Removes a socket that nobody listens on any more.
     *
     * @throws ApiException when somebody does, or something else is in the way
     */
    void makeRoom() {
        String problem = "cannot listen on " + path + ": ";
        try {
            switch (occupant()) {
                case NOBODY -> {}
                case A_DEAD_PROCESS, UNKNOWN -> Files.deleteIfExists(path);
                case A_LISTENER -> {
                    OptionalLong owner = listener();
                    throw notServed(
                            problem
                                    + (owner.isPresent() ? "process " + owner.getAsLong() : "another process")
                                    + " does; stop it, or choose another --run-dir",
                            null);
                }
                case NO_SOCKET ->
                    throw notServed(problem + "what is there is no socket; move it, or choose another --run-dir", null);
            }
        } catch (IOException e) {
            throw notServed(problem + "what is there could not be looked at or removed: " + e.getMessage(), e);
        }
    }

    /** The process that has the listening socket open; empty when there is none, or it is not ours to see. */
    private OptionalLong listener() {
        try {
            for (String inode : listening()) {
                OptionalLong pid = holder("socket:[" + inode + "]");
                if (pid.isPresent()) {
                    return pid;
                }
            }
        } catch (IOException e) {
            // Without it the message names no process.
            return OptionalLong.empty();
        }
        return OptionalLong.empty();
    }

    /** The inodes of sockets that were bound here and listen. */
    private ImmutableList<String> listening() throws IOException {
        // Num RefCount Protocol Flags Type St Inode Path; the flag 0x10000 is of those that listen, proc_net(5).
        try (Stream<String> lines = Files.lines(UNIX_SOCKETS, StandardCharsets.ISO_8859_1)) {
            return lines.map(
                            line -> Splitter.on(' ').omitEmptyStrings().limit(8).splitToList(line))
                    .filter(fields -> fields.size() == 8
                            && fields.get(7).equals(path.toString())
                            && fields.get(3).equals("00010000"))
                    .map(fields -> fields.get(6))
                    .collect(ImmutableList.toImmutableList());
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /** A child that it has just forked has all that its parent has open, until it runs its own program. */
    private static OptionalLong holder(String socket) throws IOException {
        Set<Long> holders = new HashSet<>();
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROCESSES, "[0-9]*")) {
            for (Path process : processes) {
                if (has(process.resolve("fd"), socket)) {
                    holders.add(Long.parseLong(process.getFileName().toString()));
                }
            }
        }
        return holders.stream()
                .flatMap(pid -> ProcessHandle.of(pid).stream())
                .filter(one -> one.parent()
                        .map(ProcessHandle::pid)
                        .filter(holders::contains)
                        .isEmpty())
                .mapToLong(ProcessHandle::pid)
                .findFirst();
    }

    private static boolean has(Path descriptors, String socket) {
        try (DirectoryStream<Path> open = Files.newDirectoryStream(descriptors)) {
            for (Path descriptor : open) {
                if (leadsTo(descriptor, socket)) {
                    return true;
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            // The process ended meanwhile, or is another user's.
            return false;
        }
        return false;
    }

    private static boolean leadsTo(Path descriptor, String socket) throws IOException {
        try {
            return Files.readSymbolicLink(descriptor).toString().equals(socket);
        } catch (NoSuchFileException e) {
            // Closed meanwhile; the process may have the socket all the same.
            return false;
        }
    }

    private static ApiException notServed(String message, @Nullable Throwable cause) {
        return new ApiException(ApiException.Kind.NOT_SERVED, message, cause);
    }
}
