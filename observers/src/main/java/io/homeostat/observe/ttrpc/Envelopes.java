package io.homeostat.observe.ttrpc;

import com.google.common.base.CharMatcher;
import com.google.common.base.Splitter;
import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.homeostat.proto.ttrpc.KeyValue;
import io.homeostat.proto.ttrpc.Request;
import io.homeostat.proto.ttrpc.Response;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What gRPC has in its headers and trailers, as ttRPC puts it into messages. */
final class Envelopes {
    private static final Logger LOG = LoggerFactory.getLogger(Envelopes.class);

    private static final Splitter LINES = Splitter.on(CharMatcher.anyOf("\r\n")).omitEmptyStrings();

    /** Characters of a description that are kept. */
    private static final int SHOWN = 1000;

    private Envelopes() {}

    static ByteString message(Object message) {
        return ((MessageLite) message).toByteString();
    }

    /** @param timeout nanoseconds, or 0 for none */
    static ByteString request(MethodDescriptor<?, ?> method, ByteString payload, long timeout, Metadata headers) {
        return Request.newBuilder()
                .setService(method.getServiceName())
                .setMethod(method.getBareMethodName())
                .setPayload(payload)
                .setTimeoutNano(timeout)
                .addAllMetadata(metadata(headers))
                .build()
                .toByteString();
    }

    private static List<KeyValue> metadata(Metadata headers) {
        List<KeyValue> result = new ArrayList<>();
        for (String name : headers.keys()) {
            // ttRPC has text only.
            if (!name.endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
                Iterable<String> values = headers.getAll(key(name));
                if (values != null) {
                    values.forEach(value -> result.add(
                            KeyValue.newBuilder().setKey(name).setValue(value).build()));
                }
            }
        }
        return result;
    }

    /** What gRPC has no room for, as a key with spaces, is left out. */
    static Metadata headers(List<KeyValue> metadata) {
        Metadata result = new Metadata();
        for (KeyValue pair : metadata) {
            try {
                result.put(key(pair.getKey()), pair.getValue());
            } catch (IllegalArgumentException e) {
                LOG.debug("metadata that no call of gRPC can have: {}", e.getMessage());
            }
        }
        return result;
    }

    private static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }

    static ByteString success(ByteString payload) {
        // With an empty status, as others send it: not all of them take its absence for success.
        return Response.newBuilder()
                .setStatus(com.google.rpc.Status.getDefaultInstance())
                .setPayload(payload)
                .build()
                .toByteString();
    }

    static ByteString failure(Status status) {
        String description = status.getDescription();
        return Response.newBuilder()
                .setStatus(com.google.rpc.Status.newBuilder()
                        .setCode(status.getCode().value())
                        .setMessage(description == null ? "" : description))
                .build()
                .toByteString();
    }

    /** OK when there is none. Of a message only the first line is for people: agents add where in their code they were. */
    static Status status(Response response) {
        com.google.rpc.Status status = response.getStatus();
        Status result = Status.fromCodeValue(status.getCode());
        if (result.isOk()) {
            return result;
        }
        String line = firstLine(status.getMessage());
        return result.withDescription(line.substring(0, Math.min(line.length(), SHOWN)));
    }

    private static String firstLine(String message) {
        // Some are a string as Rust writes it in a program.
        int end = message.startsWith("\"") ? message.indexOf("\\n") : -1;
        return end < 0 ? LINES.splitToStream(message).findFirst().orElse("") : message.substring(0, end) + '"';
    }
}
