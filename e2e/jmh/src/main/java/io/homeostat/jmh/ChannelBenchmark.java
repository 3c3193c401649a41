package io.homeostat.jmh;

import com.google.rpc.Status;
import io.homeostat.controlplane.Bodies;
import io.homeostat.controlplane.FakeControlPlane;
import io.homeostat.controlplane.FakeMetadataServer;
import io.homeostat.desired.channel.ControlPlaneChannel;
import io.homeostat.desired.model.AgentConfig.ControlPlane;
import io.homeostat.desired.model.AgentConfig.Identity;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.proto.acs.MessageBody;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** A message over the channel of the control plane and its acknowledgement back, over a unix socket, one at a time. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
        value = 1,
        jvmArgs = {AsTheAgentRuns.GC, AsTheAgentRuns.COMPILER, AsTheAgentRuns.HEAP, AsTheAgentRuns.NATIVE})
public class ChannelBenchmark {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final MessageBody BODY = Bodies.listPluginStates();

    /** Opened by the setup. */
    private Rig rig;

    private record Rig(
            Path directory,
            FakeControlPlane plane,
            FakeMetadataServer metadata,
            MetadataClient client,
            ControlPlaneChannel channel) {}

    /** Anew for each iteration, because the control plane keeps a transcript. */
    @Setup(Level.Iteration)
    public void open() throws IOException, InterruptedException {
        Path directory = Files.createTempDirectory("hsj");
        FakeControlPlane plane = FakeControlPlane.onUnixSocket(directory.resolve("acs.sock"));
        FakeMetadataServer metadata = new FakeMetadataServer();
        MetadataClient client = new MetadataClient(metadata.host());
        ControlPlane config = new ControlPlane(
                plane.endpoint(), "channel", "projects/1/zones/z/instances/1", Identity.Known.NONE, null, false);
        ControlPlaneChannel channel = ControlPlaneChannel.open(
                config, client, "", (id, body) -> Status.getDefaultInstance(), InstantSource.system());
        rig = new Rig(directory, plane, metadata, client, channel);
        var _ = plane.awaitConnection(PATIENCE);
    }

    @Benchmark
    public Status fromAgent() throws Exception {
        return rig.channel().send(BODY).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    @Benchmark
    public Status toAgent() throws InterruptedException {
        return rig.plane().send(BODY).awaitAcknowledgement(PATIENCE);
    }

    @TearDown(Level.Iteration)
    public void close() throws IOException, InterruptedException {
        rig.channel().close();
        rig.client().close();
        rig.metadata().close();
        rig.plane().close();
        Files.deleteIfExists(rig.directory().resolve("acs.sock"));
        Files.delete(rig.directory());
    }
}
