package io.homeostat.controlplane;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import com.google.rpc.Status;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.ConfigurePluginStates.Manifest;
import io.homeostat.proto.acp.ConfigurePluginStates.Plugin;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.MessageResponse;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.function.Supplier;

/**
 * What a broken or hostile control plane may send, for {@link Connection#flood}: the same for the same seed. No item of it can be
 * installed. Not for several threads.
 */
public final class Nonsense {
    private static final int SMALL = 200;
    private static final int LARGE = 64 * 1024;
    private static final int SELDOM = 50;
    private static final List<String> TYPES =
            List.of("ConfigurePluginStates", "GetAgentInfo", "GetOSInfo", "ListPluginStates", "Unheard", "");
    private static final List<String> NAMES =
            List.of("", "..", "../../etc/passwd", "a/b", "-rf", "name\n", "\u0000", "\ud83d\udc7b", "x".repeat(5_000));

    private final Random random;

    private Nonsense(long seed) {
        random = new Random(seed);
    }

    /** Messages that can be parsed, and make no sense: the stream lives on. */
    public static Supplier<ByteString> messages(long seed) {
        Nonsense nonsense = new Nonsense(seed);
        return () -> nonsense.message().toByteString();
    }

    /** Bytes that are no messages, which no stream survives. */
    public static Supplier<ByteString> bytes(long seed) {
        Nonsense nonsense = new Nonsense(seed);
        // A tag of field 1 with wire type 7, which there is not.
        return () -> ByteString.copyFrom(new byte[] {0x0F}).concat(nonsense.bytesUpTo(SMALL));
    }

    private StreamAgentMessagesResponse message() {
        StreamAgentMessagesResponse.Builder message =
                StreamAgentMessagesResponse.newBuilder().setMessageId(id());
        return switch (random.nextInt(8)) {
            case 0 -> message.build();
            case 1 ->
                message.setMessageResponse(MessageResponse.getDefaultInstance()).build();
            case 2 -> message.setMessageResponse(refusal()).build();
            case 3 -> message.setMessageBody(MessageBody.getDefaultInstance()).build();
            case 4 -> message.setMessageBody(labelled(bytesUpTo(LARGE))).build();
            case 5 -> message.setMessageBody(Bodies.configure(item(), item())).build();
            default -> message.setMessageBody(labelled(bytesUpTo(SMALL))).build();
        };
    }

    private MessageBody labelled(ByteString value) {
        MessageBody.Builder body = Bodies.garbage(oneOf(TYPES), value).toBuilder();
        for (int labels = random.nextInt(4); labels > 0; labels--) {
            body.putLabels(oneOf(NAMES), oneOf(NAMES));
        }
        return random.nextInt(SELDOM) == 0
                ? body.setBody(Any.getDefaultInstance()).build()
                : body.build();
    }

    private ConfigurePlugin item() {
        return ConfigurePlugin.newBuilder()
                .setActionValue(random.nextInt(-1, 6))
                .setPlugin(Plugin.newBuilder()
                        .setName(oneOf(NAMES))
                        .setRevisionId(oneOf(NAMES))
                        .setChecksum(random.nextBoolean() ? "0".repeat(64) : "")
                        .setGcsSignedUrl("https://bucket.invalid/" + oneOf(NAMES))
                        .setEntryPoint(oneOf(NAMES))
                        .addArguments(oneOf(NAMES)))
                .setManifest(Manifest.newBuilder()
                        .setMaxMemoryUsageBytes(random.nextLong())
                        .setMaxCpuUsagePercentage(random.nextInt())
                        .setStartAttemptCount(random.nextInt())
                        .setStopTimeout(Duration.newBuilder()
                                .setSeconds(random.nextLong())
                                .setNanos(random.nextInt())))
                .build();
    }

    private MessageResponse refusal() {
        return MessageResponse.newBuilder()
                .setStatus(Status.newBuilder().setCode(random.nextInt()).setMessage(oneOf(NAMES)))
                .build();
    }

    private String id() {
        return random.nextInt(SELDOM) == 0 ? "" : new UUID(random.nextLong(), random.nextLong()).toString();
    }

    private ByteString bytesUpTo(int length) {
        byte[] bytes = new byte[random.nextInt(length)];
        random.nextBytes(bytes);
        return ByteString.copyFrom(bytes);
    }

    private String oneOf(List<String> choices) {
        return choices.get(random.nextInt(choices.size()));
    }
}
