package io.homeostat.controlplane;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.homeostat.proto.acp.ConfigurePluginStates;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.GetAgentInfo;
import io.homeostat.proto.acp.GetOSInfo;
import io.homeostat.proto.acp.ListPluginStates;
import io.homeostat.proto.acp.PluginEventMessage;
import io.homeostat.proto.acs.MessageBody;
import java.util.List;

/** Message bodies as control planes make them, and what those of agents hold. */
public final class Bodies {
    /** The label that says what a body holds. */
    public static final String MESSAGE_TYPE = "message_type";

    /** The label that a reply carries back. */
    public static final String REQUEST_ID = "request_id";

    static final String EVENT = "PluginEventMessage";

    private static final String PACKAGE = "agent_controlplane.";

    private Bodies() {}

    /** Asks for an AgentInfo. */
    public static MessageBody getAgentInfo() {
        return of(GetAgentInfo.getDefaultInstance());
    }

    /** Asks for an OSInfo. */
    public static MessageBody getOsInfo() {
        return of(GetOSInfo.getDefaultInstance());
    }

    /** Asks for CurrentPluginStates. */
    public static MessageBody listPluginStates() {
        return of(ListPluginStates.getDefaultInstance());
    }

    /** Installs, removes, or configures plugins. */
    public static MessageBody configure(ConfigurePlugin... plugins) {
        return of(ConfigurePluginStates.newBuilder()
                .addAllConfigurePlugins(List.of(plugins))
                .build());
    }

    /** A body with its label and a well-formed type URL. */
    public static MessageBody of(Message message) {
        return MessageBody.newBuilder()
                .putLabels(MESSAGE_TYPE, message.getDescriptorForType().getFullName())
                .setBody(Any.pack(message))
                .build();
    }

    /** A body that holds arbitrary bytes under the name of a message, such as {@code ConfigurePluginStates}. */
    public static MessageBody garbage(String type, ByteString value) {
        return MessageBody.newBuilder()
                .putLabels(MESSAGE_TYPE, PACKAGE + type)
                .setBody(Any.newBuilder()
                        .setTypeUrl("type.googleapis.com/" + PACKAGE + type)
                        .setValue(value))
                .build();
    }

    /** The same body with a type URL that has no slash, as some servers send it. */
    public static MessageBody withoutSlash(MessageBody body) {
        String url = body.getBody().getTypeUrl();
        return body.toBuilder()
                .setBody(body.getBody().toBuilder().setTypeUrl(url.substring(url.lastIndexOf('/') + 1)))
                .build();
    }

    /** The same body with one label more. */
    public static MessageBody labelled(MessageBody body, String label, String value) {
        return body.toBuilder().putLabels(label, value).build();
    }

    /** What a body says it holds, without the package; empty when it does not. */
    public static String type(MessageBody body) {
        String type = body.getLabelsOrDefault(MESSAGE_TYPE, "");
        return type.startsWith(PACKAGE) ? type.substring(PACKAGE.length()) : type;
    }

    /** What a body holds, or an AssertionError. */
    public static <M extends Message> M read(MessageBody body, Parser<M> parser) {
        try {
            return parser.parseFrom(body.getBody().getValue());
        } catch (InvalidProtocolBufferException e) {
            throw new AssertionError("a body labelled '" + type(body) + "' can't be read: " + e.getMessage(), e);
        }
    }

    static PluginEventMessage event(MessageBody body) {
        return read(body, PluginEventMessage.parser());
    }
}
