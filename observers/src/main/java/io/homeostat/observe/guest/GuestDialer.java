package io.homeostat.observe.guest;

import com.google.common.util.concurrent.Uninterruptibles;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.model.guest.GuestEndpoint.HybridVsock;
import io.homeostat.desired.model.guest.GuestEndpoint.Unix;
import io.homeostat.desired.model.guest.GuestEndpoint.Vsock;
import io.homeostat.desired.platform.ServerRule;
import io.homeostat.desired.platform.SocketFinder.Found;
import io.homeostat.observe.files.UserSockets;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.observe.health.CallFailure;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.process.WakeableThread;
import io.homeostat.observe.ttrpc.SocketWire;
import io.homeostat.observe.ttrpc.Wire;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Connects to agents of guests. */
public final class GuestDialer {
    private static final Logger LOG = LoggerFactory.getLogger(GuestDialer.class);

    /** Of which number a monitor speaks is its own affair: Firecracker's is one of this machine. */
    private static final Pattern ACCEPTED = Pattern.compile("OK [0-9]+");

    /** Bytes of an answer of a monitor, which is a word and a number. */
    private static final int LONGEST_ANSWER = 32;

    // vsock(7), as errno-base.h and errno.h have them.
    private static final int EACCES = 13;
    private static final int ENODEV = 19;
    private static final int EMFILE = 24;
    private static final int ENFILE = 23;
    private static final int ENOMEM = 12;
    private static final int EPERM = 1;
    private static final int EAFNOSUPPORT = 97;
    private static final int EADDRNOTAVAIL = 99;
    private static final int ENETUNREACH = 101;
    private static final int ECONNRESET = 104;
    private static final int ENOBUFS = 105;
    private static final int ETIMEDOUT = 110;
    private static final int ECONNREFUSED = 111;
    private static final int EHOSTUNREACH = 113;

    /** The time beyond a time limit, which is kept unless the kernel is in the way. */
    private static final Duration GRACE = Duration.ofSeconds(1);

    /** The time limit of a connection by vsock: more than the kernel needs to find out that nobody is there. */
    private static final Duration OF_THE_KERNEL = Duration.ofMinutes(1);

    private final ScheduledExecutorService timer;

    /** @param timer for time limits; not closed. Once it is shut down, nobody is connected to any more */
    public GuestDialer(ScheduledExecutorService timer) {
        this.timer = timer;
    }

    /**
     * Connects to whoever listens there now. That the agent answers is not known by it.
     *
     * @param timeout of vsock, what the kernel waits counts instead
     */
    public Wire connect(GuestEndpoint endpoint, Duration timeout) throws UnreachableGuest {
        return switch (endpoint) {
            case Unix(String path) -> apart(endpoint, timeout, () -> unix(endpoint, Path.of(path), -1, timeout));
            case HybridVsock(String path, int port) ->
                apart(endpoint, timeout, () -> unix(endpoint, Path.of(path), port, timeout));
            case Vsock(int cid, int port) -> apart(endpoint, OF_THE_KERNEL, () -> vsock(endpoint, cid, port));
        };
    }

    /** Dials on a thread of its own, as the kernel may wait there. */
    private static Wire apart(GuestEndpoint endpoint, Duration timeout, Callable<Wire> dial) throws UnreachableGuest {
        CompletableFuture<Wire> result = new CompletableFuture<>();
        WakeableThread dialing = new WakeableThread("connect " + endpoint, () -> {
            try {
                Wire wire = dial.call();
                if (!result.complete(wire)) {
                    // Nobody waits for it any more.
                    wire.close();
                }
            } catch (Exception | Error e) {
                result.completeExceptionally(e);
            }
        });
        dialing.start();
        Duration limit = timeout.plus(GRACE);
        dialing.wakeAfter(limit);
        try {
            Wire _ = result.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            result.completeExceptionally(silent(endpoint, timeout));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            result.completeExceptionally(notTried(endpoint, "interrupted while connecting", e));
        } catch (ExecutionException e) {
            LOG.debug("{}: {}", endpoint, e.toString());
        }
        try {
            return result.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof UnreachableGuest unreachable) {
                throw unreachable;
            }
            throw new IllegalStateException("a connection is made, or it is told why not", e.getCause());
        }
    }

    /** @param port of the guest, when a monitor listens at the socket; else -1 */
    private Wire unix(GuestEndpoint endpoint, Path socket, int port, Duration timeout) throws UnreachableGuest {
        SocketChannel channel = open(endpoint);
        AtomicBoolean expired = new AtomicBoolean();
        Future<?> expiry;
        try {
            // A socket whose queue is full, and a monitor that says nothing, are waited for without an end.
            expiry = timer.schedule(
                    () -> {
                        expired.set(true);
                        WakeableThread.close(channel);
                    },
                    timeout.toNanos(),
                    TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            WakeableThread.close(channel);
            throw notTried(endpoint, "no more connections are made", e);
        }
        Found found = null;
        try {
            found = found(endpoint, socket, timeout);
            boolean _ = channel.connect(UnixDomainSocketAddress.of(found.path()));
            requireTrusted(endpoint, found.judge(), channel);
            if (port != -1) {
                greet(endpoint, channel, port);
            }
            if (!expiry.cancel(false)) {
                throw silent(endpoint, timeout);
            }
            return new SocketWire(channel);
        } catch (UnreachableGuest e) {
            WakeableThread.close(channel);
            throw e;
        } catch (IOException e) {
            WakeableThread.close(channel);
            throw expired.get() ? silent(endpoint, timeout) : refused(endpoint, socket, e);
        } catch (RuntimeException | Error e) {
            WakeableThread.close(channel);
            throw e;
        } finally {
            expiry.cancel(false);
            if (found != null) {
                found.release().run();
            }
        }
    }

    private static Found found(GuestEndpoint endpoint, Path socket, Duration timeout) throws IOException {
        CompletableFuture<Found> finding = UserSockets.find(socket, ServerRule.ofPath(socket));
        try {
            return Uninterruptibles.getUninterruptibly(finding, timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException cause ? cause : new IOException(e.getCause());
        } catch (TimeoutException e) {
            if (!finding.cancel(false) && !finding.isCompletedExceptionally()) {
                finding.join().release().run();
            }
            throw silent(endpoint, timeout);
        }
    }

    private static void requireTrusted(GuestEndpoint endpoint, ServerRule.Judge judge, SocketChannel channel)
            throws IOException {
        Optional<String> objection = judge.objection(
                channel.getOption(ExtendedSocketOptions.SO_PEERCRED).user());
        if (objection.isPresent()) {
            throw new UnreachableGuest(Reason.NOT_ALLOWED, endpoint + ": " + objection.get(), null);
        }
    }

    private static SocketChannel open(GuestEndpoint endpoint) throws UnreachableGuest {
        try {
            return SocketChannel.open(StandardProtocolFamily.UNIX);
        } catch (IOException e) {
            throw notTried(endpoint, e.getMessage(), e);
        }
    }

    /** The handshake of Firecracker, which others have taken over. Read byte by byte: what follows is the guest's. */
    private static void greet(GuestEndpoint endpoint, SocketChannel channel, int port) throws IOException {
        StringBuilder answer = new StringBuilder();
        try {
            ByteBuffer request = StandardCharsets.US_ASCII.encode("CONNECT " + Integer.toUnsignedString(port) + "\n");
            while (request.hasRemaining()) {
                int _ = channel.write(request);
            }
            ByteBuffer one = ByteBuffer.allocate(1);
            while (channel.read(one.clear()) > 0 && one.get(0) != '\n' && answer.length() < LONGEST_ANSWER) {
                answer.append((char) (one.get(0) & 0xff));
            }
        } catch (IOException e) {
            if (!channel.isOpen()) {
                throw e;
            }
            // It has closed the connection, which is how it says no.
            LOG.debug("{}: {}", endpoint, e.toString());
        }
        if (answer.isEmpty()) {
            throw new UnreachableGuest(
                    Reason.NOT_UP,
                    endpoint + ": the monitor of the virtual machine runs, and nobody in the machine listens at port "
                            + Integer.toUnsignedString(port) + " yet; it is tried again",
                    null);
        }
        if (!ACCEPTED.matcher(answer).matches()) {
            throw new UnreachableGuest(
                    Reason.WRONG_PROTOCOL,
                    endpoint + ": whoever listens there is no monitor with hybrid vsock, as it does not answer"
                            + " with OK; write unix://PATH when it is the agent itself",
                    null);
        }
    }

    private static UnreachableGuest silent(GuestEndpoint endpoint, Duration timeout) {
        return new UnreachableGuest(
                Reason.NO_ANSWER,
                endpoint + ": nobody has taken the connection within " + timeout.toMillis()
                        + " ms; look whether the machine is busy or hangs",
                null);
    }

    private static UnreachableGuest notTried(GuestEndpoint endpoint, @Nullable String why, Exception e) {
        return new UnreachableGuest(Reason.NOT_TRIED, endpoint + " could not be tried: " + why, e);
    }

    static UnreachableGuest refused(GuestEndpoint endpoint, Path socket, IOException e) {
        // java.net turns EACCES, also from connect, into the first.
        if (e instanceof BindException || String.valueOf(e.getMessage()).contains("Permission denied")) {
            return new UnreachableGuest(
                    Reason.NOT_ALLOWED,
                    endpoint + ": we may not connect to " + socket + "; run as its owner, or give it to us",
                    e);
        }
        if (CallFailure.isLocalError(e)) {
            return notTried(endpoint, e.getMessage(), e);
        }
        if (e instanceof ConnectException) {
            return new UnreachableGuest(
                    Reason.REFUSED, endpoint + ": nobody listens at " + socket + "; start what should", e);
        }
        if (e instanceof NoSuchFileException || !Files.exists(socket)) {
            return new UnreachableGuest(
                    Reason.NO_SOCKET,
                    endpoint + ": there is no " + socket + "; start what makes it, or correct spec.endpoint",
                    e);
        }
        return new UnreachableGuest(Reason.REFUSED, endpoint + ": " + e.getMessage(), e);
    }

    private static Wire vsock(GuestEndpoint endpoint, int cid, int port) throws UnreachableGuest {
        int descriptor = Libc.vsockSocket();
        if (descriptor < 0) {
            throw vsockFailure(endpoint, -descriptor);
        }
        int connected;
        do {
            connected = Libc.connectToVsock(descriptor, cid, port);
        } while (connected == -Libc.EINTR);
        if (connected < 0) {
            int _ = Libc.close(descriptor);
            throw vsockFailure(endpoint, -connected);
        }
        return new VsockWire(descriptor);
    }

    static UnreachableGuest vsockFailure(GuestEndpoint endpoint, int error) {
        Reason reason = switch (error) {
            case EAFNOSUPPORT -> Reason.NO_VSOCK;
            case ENODEV, EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL -> Reason.NO_SUCH_GUEST;
            case ECONNRESET, ECONNREFUSED -> Reason.REFUSED;
            case ETIMEDOUT -> Reason.NO_ANSWER;
            case EACCES, EPERM -> Reason.NOT_ALLOWED;
            case EMFILE, ENFILE, ENOMEM, ENOBUFS -> Reason.NOT_TRIED;
            default -> Reason.REFUSED;
        };
        String remedy = switch (reason) {
            case NO_VSOCK -> "this machine has no vsock; load the module vhost_vsock";
            case NO_SUCH_GUEST -> "no virtual machine has this CID; start it, or correct spec.endpoint";
            case REFUSED -> "nobody in the machine listens there; it is tried again";
            case NO_ANSWER -> "the machine does not answer; look whether it has booted";
            case NOT_ALLOWED -> "we may not connect; run as root";
            default -> "it could not be tried";
        };
        return new UnreachableGuest(reason, endpoint + ": " + remedy + " (" + Libc.words(error) + ")", null);
    }
}
