package io.homeostat.jmh;

import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.observe.guest.GuestDialer;
import io.homeostat.observe.ttrpc.SocketAcceptor;
import io.homeostat.observe.ttrpc.TtrpcChannel;
import io.homeostat.observe.ttrpc.TtrpcServer;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.HealthGrpc;
import io.homeostat.proto.kata.HealthGrpc.HealthImplBase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** Calls to a server in the same JVM, over a unix socket, on one connection. */
@State(Scope.Benchmark)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
        value = 1,
        jvmArgs = {AsTheAgentRuns.GC, AsTheAgentRuns.COMPILER, AsTheAgentRuns.HEAP, AsTheAgentRuns.NATIVE})
public class TtrpcBenchmark {
    private static final int AT_ONCE = 100;

    /** Opened by the setup. */
    private Rig rig;

    private record Rig(Path directory, ScheduledExecutorService timer, TtrpcServer server, TtrpcChannel client) {}

    /** Serves at once, so that what is measured is the way there and back. */
    private static final class Health extends HealthImplBase {
        @Override
        public void check(CheckRequest request, StreamObserver<HealthCheckResponse> answers) {
            answers.onNext(HealthCheckResponse.getDefaultInstance());
            answers.onCompleted();
        }
    }

    @Setup
    public void open() throws IOException {
        Path directory = Files.createTempDirectory("hsj");
        Path socket = directory.resolve("agent.sock");
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        TtrpcServer server = new TtrpcServer(new SocketAcceptor(socket), timer, List.of(new Health().bindService()));
        server.start();
        TtrpcChannel client = new TtrpcChannel(
                new GuestDialer(timer).connect(new GuestEndpoint.Unix(socket.toString()), Duration.ofSeconds(30)),
                "guest",
                timer);
        rig = new Rig(directory, timer, server, client);
    }

    /** One call at a time, with a deadline, as all calls have one. */
    @Benchmark
    @BenchmarkMode(Mode.SampleTime)
    @OutputTimeUnit(TimeUnit.MICROSECONDS)
    public HealthCheckResponse roundTrip() {
        return HealthGrpc.newBlockingStub(rig.client())
                .withDeadlineAfter(30, TimeUnit.SECONDS)
                .check(CheckRequest.getDefaultInstance());
    }

    @Benchmark
    @BenchmarkMode(Mode.Throughput)
    @OutputTimeUnit(TimeUnit.SECONDS)
    @OperationsPerInvocation(AT_ONCE)
    public int manyAtOnce() throws Exception {
        HealthGrpc.HealthFutureStub stub =
                HealthGrpc.newFutureStub(rig.client()).withDeadlineAfter(30, TimeUnit.SECONDS);
        List<ListenableFuture<HealthCheckResponse>> calls = new ArrayList<>(AT_ONCE);
        for (int i = 0; i < AT_ONCE; i++) {
            calls.add(stub.check(CheckRequest.getDefaultInstance()));
        }
        int sum = 0;
        for (ListenableFuture<HealthCheckResponse> call : calls) {
            sum += call.get().getStatusValue();
        }
        return sum;
    }

    @TearDown
    public void close() throws IOException {
        rig.client().close();
        rig.server().close();
        rig.timer().shutdownNow();
        Files.delete(rig.directory().resolve("agent.sock"));
        Files.delete(rig.directory());
    }
}
