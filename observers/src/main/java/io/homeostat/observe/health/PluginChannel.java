package io.homeostat.observe.health;

import com.google.common.collect.ImmutableList;
import io.grpc.Channel;
import io.grpc.ConnectivityState;
import io.grpc.Deadline;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Structs;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.Observation;
import io.homeostat.observe.files.UserSockets;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.process.ThreadWaker;
import io.homeostat.proto.plugin.ApplyRequest;
import io.homeostat.proto.plugin.GetStatusRequest;
import io.homeostat.proto.plugin.GuestAgentPluginGrpc;
import io.homeostat.proto.plugin.GuestAgentPluginGrpc.GuestAgentPluginBlockingStub;
import io.homeostat.proto.plugin.StartRequest;
import io.homeostat.proto.plugin.Status;
import io.homeostat.proto.plugin.StopRequest;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Speaks the plugin protocol over a plugin's unix socket. Safe for use by several threads.
 *
 * <p>What is asked again and again, the health of a plugin that runs, is asked over a connection that is kept until it breaks, a question
 * fails, somebody else is asked at that socket, or a minute is over: to open one costs several times what an answer does. All else is
 * rare, and gets a connection of its own.
 */
public final class PluginChannel implements AutoCloseable {
    /** An open connection does not show whether the plugin still accepts others, as Apply and Stop need them. */
    static final Duration KEPT = Duration.ofMinutes(1);

    private static final MethodDescriptor<GetStatusRequest, Status> GET_STATUS =
            GuestAgentPluginGrpc.getGetStatusMethod().toBuilder(
                            GuestAgentPluginGrpc.getGetStatusMethod().getRequestMarshaller(), new StatusMarshaller())
                    .build();

    private final GrpcTransport transport = new GrpcTransport(UserSockets::find, ThreadWaker::ofThisThread);
    private final InstantSource clock;
    private final LongSupplier ticker;
    private final Map<Path, Kept> kept = new ConcurrentHashMap<>();
    private volatile boolean closed;

    /**
     * Who answers at a socket.
     *
     * @param file tells the socket from a later one of its name
     */
    public record Peer(Path socket, String launchId, Object file) {}

    /** @param since when it was opened, of the ticker */
    private record Kept(Peer peer, ManagedChannel channel, long since) {}

    public PluginChannel(InstantSource clock) {
        this(clock, System::nanoTime);
    }

    /** @param ticker nanoseconds since whenever */
    PluginChannel(InstantSource clock, LongSupplier ticker) {
        this.clock = clock;
        this.ticker = ticker;
    }

    /** Whether something accepts connections on the socket. Nothing is sent, because before Start a plugin must not be called. */
    public Observation<Boolean> listening(Path socket) {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            // A blocking connect would wait as long as the plugin's accept queue is full.
            channel.configureBlocking(false);
            return connects(channel, socket);
        } catch (IOException e) {
            return Observation.unseen("could not ask whether " + socket + " takes connections: " + e.getMessage());
        }
    }

    private static Observation<Boolean> connects(SocketChannel channel, Path socket) throws IOException {
        try {
            channel.connect(UnixDomainSocketAddress.of(socket));
            return Observation.seen(true);
        } catch (ConnectException e) {
            return Observation.seen(false);
        } catch (BindException e) {
            // java.net turns EACCES into this. What keeps root out is a file system of a user's, mounted there.
            if (TrustedPath.isRoot()) {
                return Observation.seen(false);
            }
            throw e;
        } catch (SocketException e) {
            // Nobody listens or, with EAGAIN, a full queue; Java has no types to tell them apart.
            return Observation.seen(Files.exists(socket));
        }
    }

    /** Asks for the plugin's health. Any answer counts as healthy, whatever its code: the code is the plugin's own business. */
    public Health status(Path socket, Duration timeout) {
        return status(socket, GetStatusRequest.getDefaultInstance(), timeout);
    }

    /** Asks a plugin about something that it was told to do, in the plugin's own words. */
    public Health status(Path socket, String request, Duration timeout) {
        return status(socket, GetStatusRequest.newBuilder().setData(request).build(), timeout);
    }

    private Health status(Path socket, GetStatusRequest request, Duration timeout) {
        return health(timeout, () -> call(socket, timeout, plugin -> getStatus(plugin, request)));
    }

    /** As {@link #status(Path, Duration)}, for who is asked often. */
    public Health status(Peer peer, Duration timeout) {
        return health(timeout, () -> askKept(peer, Deadline.after(timeout.toNanos(), TimeUnit.NANOSECONDS)));
    }

    private Health health(Duration timeout, Supplier<Status> question) {
        try {
            Status status = question.get();
            return new Health(
                    Verdict.HEALTHY,
                    status.getCode(),
                    ImmutableList.copyOf(status.getResultsList()),
                    "",
                    clock.instant());
        } catch (StatusRuntimeException e) {
            return Health.failed(CallFailure.verdict(e), CallFailure.words("GetStatus", e, timeout), clock.instant());
        }
    }

    private Status askKept(Peer peer, Deadline deadline) {
        Kept known = kept.get(peer.socket());
        long now = ticker.getAsLong();
        if (known != null && known.peer().equals(peer) && now - known.since() < KEPT.toNanos()) {
            try {
                return ask(known.channel(), deadline);
            } catch (StatusRuntimeException e) {
                drop(known);
                if (e.getStatus().getCode() != Code.UNAVAILABLE) {
                    throw e;
                }
                // It may have broken just now, which says nothing of who listens there.
            }
        }
        Kept fresh = new Kept(peer, transport.unix(peer.socket()).build(), now);
        boolean answered = false;
        try {
            Status status = ask(fresh.channel(), deadline);
            answered = true;
            return status;
        } finally {
            if (answered) {
                keep(fresh);
            } else {
                fresh.channel().shutdownNow();
            }
        }
    }

    private static Status ask(Channel channel, Deadline deadline) {
        return getStatus(
                GuestAgentPluginGrpc.newBlockingStub(channel).withDeadline(deadline),
                GetStatusRequest.getDefaultInstance());
    }

    private static Status getStatus(GuestAgentPluginBlockingStub plugin, GetStatusRequest request) {
        return ClientCalls.blockingUnaryCall(plugin.getChannel(), GET_STATUS, plugin.getCallOptions(), request);
    }

    private void keep(Kept fresh) {
        Kept before = kept.put(fresh.peer().socket(), fresh);
        if (before != null) {
            // Whoever is asking over it asks again, over this one.
            before.channel().shutdownNow();
        }
        // A channel whose connection has broken would back off and refuse calls although the next process may be
        // listening already.
        fresh.channel().notifyWhenStateChanged(ConnectivityState.READY, () -> drop(fresh));
        if (closed) {
            drop(fresh);
        }
    }

    private void drop(Kept broken) {
        kept.remove(broken.peer().socket(), broken);
        broken.channel().shutdownNow();
    }

    /** How many connections are kept. */
    int connections() {
        return kept.size();
    }

    /** Starts the plugin's work. Call it once per process: some plugins do not survive a second Start. */
    public PluginReply start(Path socket, Path stateDirectory, @Nullable Config config, Duration timeout)
            throws InterruptedException {
        transport.launched(socket);
        StartRequest.Builder request = StartRequest.newBuilder()
                .setConfig(StartRequest.Config.newBuilder().setStateDirectoryPath(stateDirectory.toString()));
        if (config != null && config.string() != null) {
            request.setStringConfig(config.string());
        } else if (config != null && config.struct() != null) {
            request.setStructConfig(Structs.toProto(config.struct()));
        }
        return reply("Start", socket, timeout, plugin -> plugin.start(request.build()));
    }

    /** Sends a plugin its complete new configuration; an empty request when there is none. */
    public PluginReply apply(Path socket, @Nullable Config config, Duration timeout) throws InterruptedException {
        ApplyRequest.Builder request = ApplyRequest.newBuilder();
        if (config != null && config.string() != null) {
            request.setStringConfig(config.string());
        } else if (config != null && config.struct() != null) {
            request.setStructConfig(Structs.toProto(config.struct()));
        }
        return reply("Apply", socket, timeout, plugin -> plugin.apply(request.build()));
    }

    /**
     * Asks a plugin to stop; never before Start.
     *
     * @param cleanup whether the plugin is being removed and should leave nothing behind
     * @param deadline sent to the plugin, and the time within which it has to answer
     */
    public PluginReply stop(Path socket, boolean cleanup, Duration deadline) throws InterruptedException {
        StopRequest request = StopRequest.newBuilder()
                .setCleanup(cleanup)
                .setDeadline(com.google.protobuf.Duration.newBuilder()
                        .setSeconds(deadline.getSeconds())
                        .setNanos(deadline.getNano()))
                .build();
        return reply("Stop", socket, deadline, plugin -> plugin.stop(request));
    }

    private PluginReply reply(
            String method, Path socket, Duration timeout, Function<GuestAgentPluginBlockingStub, ?> call)
            throws InterruptedException {
        try {
            call(socket, timeout, call);
            return new PluginReply.Done();
        } catch (StatusRuntimeException e) {
            if (Thread.interrupted()) {
                throw new InterruptedException(method + " was interrupted");
            }
            String words = CallFailure.words(method, e, timeout);
            return switch (e.getStatus().getCode()) {
                case UNIMPLEMENTED -> new PluginReply.Unimplemented();
                case DEADLINE_EXCEEDED -> new PluginReply.TimedOut(words);
                case UNAVAILABLE, CANCELLED -> new PluginReply.Unreachable(words);
                default -> new PluginReply.Refused(e.getStatus().getCode().value(), words);
            };
        }
    }

    private <T> T call(Path socket, Duration timeout, Function<GuestAgentPluginBlockingStub, T> call) {
        ManagedChannel channel = transport.unix(socket).build();
        try {
            return call.apply(GuestAgentPluginGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS));
        } finally {
            channel.shutdownNow();
        }
    }

    @Override
    public void close() {
        closed = true;
        kept.values().forEach(this::drop);
        transport.close();
    }

    /** The outcome of a call to a plugin. */
    public sealed interface PluginReply {
        /** It accepted. */
        record Done() implements PluginReply {}

        /** It does not implement the method; for Apply this asks for a restart with the new configuration. */
        record Unimplemented() implements PluginReply {}

        /** It answered with an error, with gRPC's code. */
        record Refused(int code, String problem) implements PluginReply {}

        /** No answer within the deadline; what the plugin did is not known. */
        record TimedOut(String problem) implements PluginReply {}

        /** No connection, or it broke off; what the plugin did is not known. */
        record Unreachable(String problem) implements PluginReply {}

        /** For people: what went wrong; empty when nothing did. */
        default String words() {
            return switch (this) {
                case Done() -> "";
                case Unimplemented() -> "does not implement the call";
                case Refused(int code, String problem) -> problem;
                case TimedOut(String problem) -> problem;
                case Unreachable(String problem) -> problem;
            };
        }

        /** For programs: why it went wrong, if it did. */
        default FailureCause cause() {
            return switch (this) {
                case Done() -> FailureCause.of(FailureCause.Kind.REFUSED);
                case Unimplemented() -> new FailureCause(FailureCause.Kind.REFUSED, Code.UNIMPLEMENTED.value());
                case Refused(int code, String problem) -> new FailureCause(FailureCause.Kind.REFUSED, code);
                case TimedOut(String problem) -> FailureCause.of(FailureCause.Kind.TIMED_OUT);
                case Unreachable(String problem) -> FailureCause.of(FailureCause.Kind.CONNECTION_LOST);
            };
        }
    }
}
