package io.homeostat.observe.process;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.io.BaseEncoding;
import com.google.common.primitives.Bytes;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.ProcFs.Stat;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Tells whether who listens on a port is a process of a launch: by the inode of the listening socket in /proc/net/tcp and tcp6
 * (proc_pid_net(5)), and by what processes have open.
 */
public final class PortOwners {
    private static final String LISTEN = "0A";
    private static final int ADDRESS_FIELD = 1;
    private static final int STATE_FIELD = 3;
    private static final int INODE_FIELD = 9;
    private static final int FIELDS = 10;
    private static final int HEXADECIMAL = 16;
    private static final int WORD = 4;

    private final Layout layout;
    private final ProcFs procFs;
    private final LimitObserver groups;

    public PortOwners(Layout layout, ProcFs procFs, LimitObserver groups) {
        this.layout = layout;
        this.procFs = procFs;
        this.groups = groups;
    }

    /** Who listens. */
    public sealed interface Owner {
        /** A process of the launch. */
        record Own() implements Owner {}

        /** Certainly none of its processes; {@code words} name the one it is, as far as that may be seen. */
        record Other(String words) implements Owner {}

        /** It can't be seen: another host, another network namespace, or files that we may not look at. */
        record Unknown() implements Owner {}
    }

    /** A listening socket. */
    private record Listening(InetAddress address, String inode) {
        boolean isOn(InetAddress asked) {
            return address.equals(asked);
        }

        boolean isOnAny(boolean v4) {
            return address.isAnyLocalAddress() && address instanceof Inet4Address == v4;
        }
    }

    /** Who takes connections to an address, given a launch and its main process. */
    public Owner of(Instance instance, ProcessIdentity main, InetSocketAddress address) {
        try {
            if (!isHere(address.getAddress()) || !isInOurNetwork(main.pid())) {
                return new Owner.Unknown();
            }
            ImmutableSet<String> inodes = listening(address);
            if (inodes.isEmpty()) {
                // Something translates addresses on the way, or it has just stopped listening.
                return new Owner.Unknown();
            }
            // Nearly always it is this one, and to look at all processes takes long.
            if (holds(main.pid(), inodes).orElse(false)) {
                return new Owner.Own();
            }
            List<Stat> tree =
                    new ProcessTree(procFs, layout, instance, main, groups, ProcessTree.Extent.TREE).members();
            boolean seen = true;
            for (Stat member : tree) {
                Optional<Boolean> holds = holds(member.pid(), inodes);
                if (holds.orElse(false)) {
                    return new Owner.Own();
                }
                seen &= holds.isPresent();
            }
            return seen ? new Owner.Other(words(inodes)) : new Owner.Unknown();
        } catch (IOException e) {
            return new Owner.Unknown();
        }
    }

    /** Who listens on an address of this host: a process, if there is one, or somebody else. */
    public Owner of(Optional<ProcessIdentity> process, InetSocketAddress address) {
        try {
            ImmutableSet<String> inodes = listening(address);
            Optional<Boolean> own = process.isPresent() ? holds(process.get().pid(), inodes) : Optional.of(false);
            if (inodes.isEmpty() || own.isEmpty()) {
                return new Owner.Unknown();
            }
            return own.get() ? new Owner.Own() : new Owner.Other(words(inodes));
        } catch (IOException e) {
            return new Owner.Unknown();
        }
    }

    private static boolean isHere(InetAddress address) throws IOException {
        return address.isLoopbackAddress()
                || address.isAnyLocalAddress()
                || NetworkInterface.getByInetAddress(address) != null;
    }

    private boolean isInOurNetwork(long pid) throws IOException {
        Path ours = Files.readSymbolicLink(procFs.path("self", "ns", "net"));
        return ours.equals(Files.readSymbolicLink(procFs.path(Long.toString(pid), "ns", "net")));
    }

    /** The inodes of the sockets of which the kernel chooses one: the most exact address wins, and the own family before both. */
    private ImmutableSet<String> listening(InetSocketAddress address) throws IOException {
        ImmutableList<Listening> all = ImmutableList.<Listening>builder()
                .addAll(sockets("tcp", address.getPort()))
                .addAll(sockets("tcp6", address.getPort()))
                .build();
        InetAddress asked = address.getAddress();
        boolean v4 = asked instanceof Inet4Address;
        List<Predicate<Listening>> ranks = List.of(
                socket -> socket.isOn(asked), socket -> socket.isOnAny(v4), socket -> v4 && socket.isOnAny(false));
        for (Predicate<Listening> rank : ranks) {
            ImmutableSet<String> found =
                    all.stream().filter(rank).map(Listening::inode).collect(ImmutableSet.toImmutableSet());
            if (!found.isEmpty()) {
                return found;
            }
        }
        return ImmutableSet.of();
    }

    private ImmutableList<Listening> sockets(String protocol, int port) throws IOException {
        ImmutableList.Builder<Listening> found = ImmutableList.builder();
        try (Stream<String> lines = Files.lines(procFs.path("net", protocol), StandardCharsets.US_ASCII)) {
            lines.forEach(line -> {
                List<String> fields = Splitter.on(' ').omitEmptyStrings().splitToList(line);
                if (fields.size() >= FIELDS && fields.get(STATE_FIELD).equals(LISTEN)) {
                    String[] local = fields.get(ADDRESS_FIELD).split(":", 2);
                    // Others may listen on as many as they like.
                    if (Integer.parseInt(local[1], HEXADECIMAL) == port) {
                        found.add(new Listening(address(local[0]), fields.get(INODE_FIELD)));
                    }
                }
            });
        } catch (NoSuchFileException e) {
            return ImmutableList.of(); // A kernel without IPv6.
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        return found.build();
    }

    /** Written as words of four bytes, each in the order of this machine. */
    private static InetAddress address(String hexadecimal) {
        byte[] bytes = BaseEncoding.base16().decode(hexadecimal);
        if (ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN) {
            for (int word = 0; word < bytes.length; word += WORD) {
                Collections.reverse(Bytes.asList(bytes).subList(word, word + WORD));
            }
        }
        try {
            // An IPv4 address within an IPv6 one becomes that IPv4 address.
            return InetAddress.getByAddress(bytes);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(hexadecimal + " is no address: " + Arrays.toString(bytes), e);
        }
    }

    /** Whether a process has one of these sockets open; empty when that may not be seen. */
    private Optional<Boolean> holds(long pid, ImmutableSet<String> inodes) {
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(procFs.path(Long.toString(pid), "fd"))) {
            for (Path descriptor : descriptors) {
                if (isOneOf(descriptor, inodes)) {
                    return Optional.of(true);
                }
            }
            return Optional.of(false);
        } catch (NoSuchFileException e) {
            return Optional.of(false); // It has ended.
        } catch (IOException | DirectoryIteratorException e) {
            return Optional.empty();
        }
    }

    private static boolean isOneOf(Path descriptor, ImmutableSet<String> inodes) throws IOException {
        try {
            String open = Files.readSymbolicLink(descriptor).toString();
            return open.startsWith("socket:[")
                    && inodes.contains(open.substring("socket:[".length(), open.length() - 1));
        } catch (NoSuchFileException e) {
            return false; // Closed meanwhile.
        }
    }

    /** Names the oldest process that has one of these sockets open: until a child executes its program it has what its parent has. */
    private String words(ImmutableSet<String> inodes) throws IOException {
        return procFs.processes().stream()
                .sorted(Comparator.comparingLong(Stat::startTicks))
                .filter(stat -> holds(stat.pid(), inodes).orElse(false))
                .findFirst()
                .map(stat -> "process " + stat.pid() + " (" + stat.name() + ")")
                .orElse("a process of another user");
    }
}
