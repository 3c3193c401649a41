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
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Tells whether who answers on a port is a process of a launch: by the inodes of sockets in /proc/net/tcp and tcp6
 * (proc_pid_net(5)), and by what processes have open.
 */
public final class PortOwners {
    private static final String ESTABLISHED = "01";
    private static final String LISTEN = "0A";
    private static final int ADDRESS_FIELD = 1;
    private static final int PEER_FIELD = 2;
    private static final int STATE_FIELD = 3;
    private static final int USER_FIELD = 7;
    private static final int INODE_FIELD = 9;
    private static final int FIELDS = 10;
    private static final int HEXADECIMAL = 16;
    private static final int WORD = 4;
    /** The port at the other end of a listening socket. */
    private static final int NO_PORT = 0;
    /** That of a connection that nobody has accepted, or whose process has closed it. */
    private static final String NO_INODE = "0";

    /** So many processes and descriptors are looked at to find one, which takes half a second. Any user can have millions. */
    static final int MOST_LOOKS = 50_000;

    /** Anybody can set the mark, so that it does not count. */
    private static final String STRAYED =
            ", which this workload seems to have started, and which has left its session and its user (declare spec.user,"
                    + " or keep it in the foreground)";

    private final Layout layout;
    private final ProcFs procFs;
    private final LimitObserver groups;
    private final int mostLooks;

    public PortOwners(Layout layout, ProcFs procFs, LimitObserver groups) {
        this(layout, procFs, groups, MOST_LOOKS);
    }

    PortOwners(Layout layout, ProcFs procFs, LimitObserver groups, int mostLooks) {
        this.layout = layout;
        this.procFs = procFs;
        this.groups = groups;
        this.mostLooks = mostLooks;
    }

    /** Who answers. */
    public sealed interface Owner {
        /** A process of the launch. */
        record Own() implements Owner {}

        /** Certainly none of its processes; {@code words} name the one it is, as far as that may be seen. */
        record Other(String words) implements Owner {}

        /** Somebody who has closed the connection before it could be seen who it was. */
        record Gone() implements Owner {}

        /** It can't be seen: another host, another network namespace, or files that we may not look at. */
        record Unknown() implements Owner {}
    }

    /** A line of the kernel's tables. */
    private record Entry(InetSocketAddress local, InetSocketAddress peer, String state, String user, String inode) {
        boolean isOn(InetAddress asked) {
            return local.getAddress().equals(asked);
        }

        boolean isOnAny(boolean v4) {
            return local.getAddress().isAnyLocalAddress() && local.getAddress() instanceof Inet4Address == v4;
        }
    }

    /** What a search may still look at. */
    private static final class Looks {
        private int left;

        Looks(int most) {
            this.left = most;
        }

        boolean isOver() {
            return left-- <= 0 || Thread.currentThread().isInterrupted();
        }
    }

    /**
     * Who answers on a connection that is open, given a launch and its main process: has accepted it, or as long as nobody has, listens
     * where it leads.
     *
     * @param from our end
     * @param to the other end
     * @param speaks whether an answer counts, and not only that there is a connection
     */
    public Owner of(
            Instance instance, ProcessIdentity main, InetSocketAddress from, InetSocketAddress to, boolean speaks) {
        try {
            if (!isHere(to.getAddress()) || !isInOurNetwork(main.pid())) {
                return new Owner.Unknown();
            }
            // Both in one go: who listens for a connection that nobody has accepted is in the table before it.
            ImmutableList<Entry> all = sockets(to.getPort(), ImmutableSet.of(NO_PORT, from.getPort()));
            List<Entry> others = all.stream()
                    .filter(entry -> entry.peer().equals(from) && isSame(entry.local(), to))
                    .toList();
            ImmutableList<Entry> owned = others.stream()
                    .filter(entry -> !entry.inode().equals(NO_INODE))
                    .collect(ImmutableList.toImmutableList());
            if (owned.isEmpty()) {
                boolean connected = isConnected(from, to);
                if (speaks && !connected) {
                    // Who had it may have answered, and has left the port to somebody else.
                    return new Owner.Gone();
                }
                owned = listening(all, to.getAddress());
                if (owned.isEmpty()) {
                    // If our end is still connected, the other one is somewhere else: addresses are translated on the
                    // way.
                    return others.isEmpty() && connected ? new Owner.Unknown() : new Owner.Gone();
                }
            }
            ImmutableSet<String> inodes = inodes(owned);
            Looks looks = new Looks(mostLooks);
            // Nearly always it is this one, and to look at all processes takes long.
            if (holds(main.pid(), inodes, looks).orElse(false)) {
                return new Owner.Own();
            }
            ProcessTree launch = new ProcessTree(procFs, layout, instance, main, groups, ProcessTree.Extent.TREE);
            List<Stat> tree = launch.members();
            boolean seen = true;
            for (Stat member : tree) {
                Optional<Boolean> holds = holds(member.pid(), inodes, looks);
                if (holds.orElse(false)) {
                    return new Owner.Own();
                }
                seen &= holds.isPresent();
            }
            if (!seen) {
                return new Owner.Unknown();
            }
            Optional<Stat> holder = holder(owned);
            if (holder.isEmpty() ? isOfUserOf(tree, owned) : launch.mayBe(holder.get())) {
                return new Owner.Unknown();
            }
            boolean marked = holder.flatMap(stat -> procFs.launch(stat.pid()))
                    .filter(instance.launchId()::equals)
                    .isPresent();
            return new Owner.Other(words(holder, owned) + (marked ? STRAYED : ""));
        } catch (IOException e) {
            return new Owner.Unknown();
        }
    }

    /**
     * Whether sockets that nobody shows to have are those of a user that the launch has processes of. A program may keep them where no
     * descriptor of its main thread leads to them: in an io_uring, in a thread with descriptors of its own, or after its main thread has ended.
     */
    private boolean isOfUserOf(List<Stat> tree, ImmutableList<Entry> owned) {
        Set<String> users = tree.stream()
                .map(member -> procFs.realUserId(member.pid()))
                .flatMapToInt(OptionalInt::stream)
                .mapToObj(Integer::toString)
                .collect(Collectors.toSet());
        return owned.stream().allMatch(entry -> users.contains(entry.user()));
    }

    /** Who listens on an address of this host: a process, if there is one, or somebody else. */
    public Owner of(Optional<ProcessIdentity> process, InetSocketAddress address) {
        try {
            ImmutableList<Entry> owned =
                    listening(sockets(address.getPort(), ImmutableSet.of(NO_PORT)), address.getAddress());
            Optional<Boolean> own = process.isPresent()
                    ? holds(process.get().pid(), inodes(owned), new Looks(mostLooks))
                    : Optional.of(false);
            if (owned.isEmpty() || own.isEmpty()) {
                return new Owner.Unknown();
            }
            return own.get() ? new Owner.Own() : new Owner.Other(words(holder(owned), owned));
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

    private boolean isConnected(InetSocketAddress from, InetSocketAddress to) throws IOException {
        return sockets(from.getPort(), ImmutableSet.of(to.getPort())).stream()
                .anyMatch(entry -> entry.local().equals(from)
                        && isSame(entry.peer(), to)
                        && entry.state().equals(ESTABLISHED));
    }

    /** Connections to other addresses may have the same ports at both ends. To no address in particular is to this host. */
    private static boolean isSame(InetSocketAddress found, InetSocketAddress asked) {
        return found.equals(asked) || (asked.getAddress().isAnyLocalAddress() && found.getPort() == asked.getPort());
    }

    /** The sockets of which the kernel chooses one: the most exact address wins, and the own family before both. */
    private static ImmutableList<Entry> listening(ImmutableList<Entry> all, InetAddress asked) {
        boolean v4 = asked instanceof Inet4Address;
        List<Predicate<Entry>> ranks = List.of(
                socket -> socket.isOn(asked), socket -> socket.isOnAny(v4), socket -> v4 && socket.isOnAny(false));
        for (Predicate<Entry> rank : ranks) {
            ImmutableList<Entry> found = all.stream()
                    .filter(entry -> entry.state().equals(LISTEN))
                    .filter(rank)
                    .collect(ImmutableList.toImmutableList());
            if (!found.isEmpty()) {
                return found;
            }
        }
        return ImmutableList.of();
    }

    private static ImmutableSet<String> inodes(ImmutableList<Entry> entries) {
        return entries.stream().map(Entry::inode).collect(ImmutableSet.toImmutableSet());
    }

    /** All that have this port here and one of those at the other end. */
    private ImmutableList<Entry> sockets(int port, ImmutableSet<Integer> peers) throws IOException {
        return ImmutableList.<Entry>builder()
                .addAll(sockets("tcp", port, peers))
                .addAll(sockets("tcp6", port, peers))
                .build();
    }

    private ImmutableList<Entry> sockets(String protocol, int port, ImmutableSet<Integer> peers) throws IOException {
        ImmutableList.Builder<Entry> found = ImmutableList.builder();
        // Others may have as many as they like: most are not taken apart.
        String ours = String.format(":%04X ", port);
        try (Stream<String> lines = Files.lines(procFs.path("net", protocol), StandardCharsets.US_ASCII)) {
            // The first line has the names of the fields.
            lines.skip(1).filter(line -> line.contains(ours)).forEach(line -> {
                List<String> fields = Splitter.on(' ').omitEmptyStrings().splitToList(line);
                if (fields.size() >= FIELDS
                        && port(fields.get(ADDRESS_FIELD)) == port
                        && peers.contains(port(fields.get(PEER_FIELD)))) {
                    found.add(new Entry(
                            address(fields.get(ADDRESS_FIELD)),
                            address(fields.get(PEER_FIELD)),
                            fields.get(STATE_FIELD),
                            fields.get(USER_FIELD),
                            fields.get(INODE_FIELD)));
                }
            });
        } catch (NoSuchFileException e) {
            return ImmutableList.of(); // A kernel without IPv6.
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        return found.build();
    }

    private static int port(String end) {
        return Integer.parseInt(end.substring(end.indexOf(':') + 1), HEXADECIMAL);
    }

    /** Written as words of four bytes, each in the order of this machine, with the port behind them. */
    private static InetSocketAddress address(String end) {
        byte[] bytes = BaseEncoding.base16().decode(end.substring(0, end.indexOf(':')));
        if (ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN) {
            for (int word = 0; word < bytes.length; word += WORD) {
                Collections.reverse(Bytes.asList(bytes).subList(word, word + WORD));
            }
        }
        try {
            // An IPv4 address within an IPv6 one becomes that IPv4 address.
            return new InetSocketAddress(InetAddress.getByAddress(bytes), port(end));
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(end + " is no address: " + Arrays.toString(bytes), e);
        }
    }

    /** Whether a process has one of these sockets open; empty when that may not be seen, or takes too many looks. */
    private Optional<Boolean> holds(long pid, ImmutableSet<String> inodes, Looks looks) {
        if (looks.isOver()) {
            return Optional.empty();
        }
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(procFs.path(Long.toString(pid), "fd"))) {
            for (Path descriptor : descriptors) {
                if (looks.isOver()) {
                    return Optional.empty();
                }
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

    /** The oldest process that has one of these sockets open, since until a child executes its program it has what its parent has. */
    private Optional<Stat> holder(ImmutableList<Entry> owned) throws IOException {
        ImmutableSet<String> inodes = inodes(owned);
        Looks looks = new Looks(mostLooks);
        return procFs.processes().stream()
                .sorted(Comparator.comparingLong(Stat::startTicks))
                .filter(stat -> holds(stat.pid(), inodes, looks).orElse(false))
                .findFirst();
    }

    /** Names the process, or the user where there were too many to look at. */
    private static String words(Optional<Stat> holder, ImmutableList<Entry> owned) {
        return holder.map(stat -> "process " + stat.pid() + " (" + stat.name() + ")")
                .orElseGet(() -> "a process of the user with the number "
                        + owned.getFirst().user());
    }
}
