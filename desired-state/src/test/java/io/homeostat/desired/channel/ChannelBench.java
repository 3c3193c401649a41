package io.homeostat.desired.channel;

import com.google.rpc.Status;
import io.homeostat.controlplane.FakeControlPlane;
import io.homeostat.controlplane.FakeMetadataServer;
import io.homeostat.desired.model.AgentConfig.ControlPlane;
import io.homeostat.desired.model.AgentConfig.Identity;
import io.homeostat.desired.model.AgentConfig.Tls;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** A control plane, a metadata server and a channel between them, with short pauses. */
final class ChannelBench implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(30);
    static final String CHANNEL = "example.com/agent";
    static final String RESOURCE = "projects/7/zones/z/instances/42";

    /** Nothing is ever waited for longer than a test can bear; what has to be waited for is set by the test. */
    static final ChannelTiming FAST = new ChannelTiming(
            Duration.ofSeconds(30),
            Duration.ofSeconds(30),
            Duration.ofMillis(20),
            Duration.ofHours(1),
            Duration.ofSeconds(20),
            Backoff.doubling(Duration.ofMillis(20), Duration.ofMillis(100)),
            Backoff.doubling(Duration.ofMillis(20), Duration.ofMillis(100)));

    /** Sends again before long; also when it need not. */
    static ChannelTiming repeatingAfter(Duration acknowledgement) {
        return timing(FAST.registration(), acknowledgement, FAST.renewal(), FAST.reconnect());
    }

    static ChannelTiming renewingAfter(Duration renewal) {
        return timing(FAST.registration(), FAST.acknowledgement(), renewal, FAST.reconnect());
    }

    static ChannelTiming givingUpRegistrationAfter(Duration registration) {
        return timing(registration, FAST.acknowledgement(), FAST.renewal(), FAST.reconnect());
    }

    static ChannelTiming pausing(Backoff reconnect) {
        return timing(FAST.registration(), FAST.acknowledgement(), FAST.renewal(), reconnect);
    }

    private static ChannelTiming timing(
            Duration registration, Duration acknowledgement, Duration renewal, Backoff reconnect) {
        return new ChannelTiming(
                registration, acknowledgement, FAST.exhausted(), renewal, FAST.healthy(), reconnect, FAST.refused());
    }

    final FakeControlPlane controlPlane;
    final FakeMetadataServer metadata = new FakeMetadataServer();
    final MetadataClient client = new MetadataClient(metadata.host());
    volatile Function<MessageBody, Status> answer = body -> Status.getDefaultInstance();
    ChannelTiming timing = FAST;
    RandomGenerator random = RandomGenerator.getDefault();

    @Nullable
    String resource = RESOURCE;

    String instance = "";

    Identity identity = Identity.Known.NONE;

    @Nullable
    Tls tls;

    private final List<String> received = new CopyOnWriteArrayList<>();
    private @Nullable ControlPlaneChannel channel;

    ChannelBench(Path directory) throws IOException {
        this(FakeControlPlane.onUnixSocket(directory.resolve("acs.sock")));
    }

    ChannelBench(FakeControlPlane controlPlane) throws IOException {
        this.controlPlane = controlPlane;
    }

    void open() {
        open(controlPlane.endpoint());
    }

    void open(String endpoint) {
        channel = ControlPlaneChannel.open(
                new ControlPlane(endpoint, CHANNEL, resource, identity, tls, false),
                client,
                instance,
                (id, body) -> {
                    received.add(id);
                    return answer.apply(body);
                },
                InstantSource.system(),
                timing,
                random);
    }

    Channel channel() {
        if (channel == null) {
            throw new IllegalStateException("open comes first");
        }
        return channel;
    }

    /** The ids of what the inbox was given. */
    List<String> received() {
        return List.copyOf(received);
    }

    /** What we said with a body, repetitions included. */
    List<StreamAgentMessagesRequest> heardBodies() {
        return controlPlane.transcript().heard().stream()
                .filter(StreamAgentMessagesRequest::hasMessageBody)
                .toList();
    }

    static MessageBody body(String name) {
        return MessageBody.newBuilder().putLabels("name", name).build();
    }

    static String name(MessageBody body) {
        return body.getLabelsOrThrow("name");
    }

    @Override
    public void close() throws InterruptedException {
        if (channel != null) {
            channel.close();
        }
        client.close();
        metadata.close();
        controlPlane.close();
    }
}
