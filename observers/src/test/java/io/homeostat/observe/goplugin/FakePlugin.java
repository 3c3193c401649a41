package io.homeostat.observe.goplugin;

import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import io.grpc.Attributes;
import io.grpc.BindableService;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerTransportFilter;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc.HealthImplBase;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.goplugin.GRPCControllerGrpc;
import io.homeostat.proto.goplugin.GRPCControllerGrpc.GRPCControllerImplBase;
import io.homeostat.proto.goplugin.GRPCStdioGrpc.GRPCStdioImplBase;
import io.homeostat.proto.goplugin.StdioData;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A plugin of go-plugin in this process, on a real socket, with services beside its own; it answers as it is told to and notes what it was asked. */
public final class FakePlugin implements AutoCloseable {
    /** The name of the call by which a plugin is told to end. */
    public static final String END = "GRPCController.Shutdown";

    private static final int CHUNK = 1024;

    /** Names of the calls, as they came. */
    public final List<String> calls = new CopyOnWriteArrayList<>();

    /** How many connections there have been. */
    public final AtomicInteger connections = new AtomicInteger();

    /** Under which names it was called. */
    public final Set<String> authorities = ConcurrentHashMap.newKeySet();

    private final Map<String, Status> errors = new ConcurrentHashMap<>();
    private final Map<String, Metadata> trailers = new ConcurrentHashMap<>();
    private final Set<String> hanging = ConcurrentHashMap.newKeySet();
    private final List<StreamObserver<StdioData>> readers = new CopyOnWriteArrayList<>();
    private final List<StdioData> printed = Collections.synchronizedList(new ArrayList<>());
    private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Server server;

    private volatile ServingStatus serving = ServingStatus.SERVING;
    private volatile boolean endsAtShutdown;

    private FakePlugin(NettyServerBuilder builder, BindableService... services) throws Exception {
        for (BindableService service : services) {
            builder.addService(service);
        }
        server = builder.bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .addService(new Stdio())
                .addService(new Controller())
                .addService(new Health())
                .intercept(new Recording())
                .addTransportFilter(new ServerTransportFilter() {
                    @Override
                    public Attributes transportReady(Attributes attributes) {
                        connections.incrementAndGet();
                        return attributes;
                    }
                })
                .build()
                .start();
    }

    public static FakePlugin on(Path socket, BindableService... services) throws Exception {
        Files.createDirectories(Objects.requireNonNull(socket.getParent()));
        Files.deleteIfExists(socket);
        return new FakePlugin(
                NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                        .channelType(NioServerDomainSocketChannel.class)
                        .withChildOption(ChannelOption.SO_KEEPALIVE, null),
                services);
    }

    static FakePlugin onLoopback() throws Exception {
        return new FakePlugin(NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .channelType(NioServerSocketChannel.class));
    }

    int port() {
        return server.getPort();
    }

    /** Answers a call with an error from now on. */
    public FakePlugin failing(String call, Status error) {
        return failing(call, error, new Metadata());
    }

    public FakePlugin failing(String call, Status error, Metadata details) {
        trailers.put(call, details);
        errors.put(call, error);
        return this;
    }

    /** Never answers a call from now on. */
    public FakePlugin hanging(String call) {
        hanging.add(call);
        return this;
    }

    /** Answers a call as it should, from now on. */
    public void recovering(String call) {
        errors.remove(call);
        hanging.remove(call);
    }

    /** Does not answer Shutdown but breaks the connection, as real ones do. */
    public FakePlugin endingAtShutdown() {
        endsAtShutdown = true;
        return this;
    }

    /** Says that it is going away, and goes on with the calls that there are. */
    void retire() {
        server.shutdown();
    }

    /** How many read what it prints. */
    int readers() {
        return readers.size();
    }

    public FakePlugin serving(ServingStatus status) {
        serving = status;
        return this;
    }

    /** How often it was called so. */
    public long count(String call) {
        return calls.stream().filter(call::equals).count();
    }

    /** Prints to whoever reads its output, now or first. */
    void print(StdioData.Channel channel, byte[] bytes) {
        for (int from = 0; from < bytes.length; from += CHUNK) {
            StdioData data = StdioData.newBuilder()
                    .setChannel(channel)
                    .setData(ByteString.copyFrom(bytes, from, Math.min(CHUNK, bytes.length - from)))
                    .build();
            print(data);
        }
    }

    void print(StdioData data) {
        synchronized (printed) {
            if (readers.isEmpty()) {
                printed.add(data);
            }
            readers.forEach(reader -> reader.onNext(data));
        }
    }

    @Override
    public void close() throws InterruptedException {
        server.shutdownNow().awaitTermination();
        loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).await();
    }

    private final class Recording implements ServerInterceptor {
        @Override
        public <A, B> ServerCall.Listener<A> interceptCall(
                ServerCall<A, B> call, Metadata headers, ServerCallHandler<A, B> next) {
            String full = call.getMethodDescriptor().getFullMethodName();
            // Drivers have a call of this name, too.
            String name = full.equals(GRPCControllerGrpc.getShutdownMethod().getFullMethodName())
                    ? END
                    : full.substring(full.indexOf('/') + 1);
            calls.add(name);
            authorities.add(String.valueOf(call.getAuthority()));
            Status error = errors.get(name);
            if (error != null) {
                // The server writes into what it sends.
                Metadata sent = new Metadata();
                sent.merge(Objects.requireNonNull(trailers.get(name)));
                call.close(error, sent);
            }
            return error != null || hanging.contains(name)
                    ? new ServerCall.Listener<>() {}
                    : next.startCall(call, headers);
        }
    }

    private final class Stdio extends GRPCStdioImplBase {
        @Override
        public void streamStdio(Empty request, StreamObserver<StdioData> answer) {
            synchronized (printed) {
                ((ServerCallStreamObserver<StdioData>) answer).setOnCancelHandler(() -> readers.remove(answer));
                readers.add(answer);
                printed.forEach(answer::onNext);
                printed.clear();
            }
        }
    }

    private final class Controller extends GRPCControllerImplBase {
        @Override
        public void shutdown(
                io.homeostat.proto.goplugin.Empty request, StreamObserver<io.homeostat.proto.goplugin.Empty> answer) {
            if (endsAtShutdown) {
                server.shutdownNow();
                return;
            }
            answer.onNext(io.homeostat.proto.goplugin.Empty.getDefaultInstance());
            answer.onCompleted();
        }
    }

    /** go-plugin registers itself under this name. */
    private final class Health extends HealthImplBase {
        @Override
        public void check(HealthCheckRequest request, StreamObserver<HealthCheckResponse> answer) {
            if (!request.getService().equals("plugin")) {
                answer.onError(Status.NOT_FOUND.asException());
                return;
            }
            answer.onNext(HealthCheckResponse.newBuilder().setStatus(serving).build());
            answer.onCompleted();
        }
    }
}
