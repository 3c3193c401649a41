package io.homeostat.desired.platform;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import com.google.protobuf.WireFormat;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.Status;
import java.io.IOException;
import java.io.InputStream;

/**
 * Reads the messages of peers that are not trusted. Generated code makes an object of each message in a message, also of an empty one, and
 * keeps all that it does not know: two bytes may take two hundred. So what is not known is left out, and a message with too many fields
 * is refused before anything is made of it.
 */
public final class BoundedMessages implements ClientInterceptor {
    /** Fields of a message, with those of the messages in it. An answer of etcd has some 10,000, all else far fewer. */
    static final int MOST_FIELDS = 100_000;

    /** As deep as generated code reads messages in messages. */
    private static final int DEEPEST = 100;

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        return next.newCall(bounded(method), options);
    }

    /** Returns the same method with bounded requests and answers; those that are read in a way of their own stay as they are. */
    public static <Q, A> MethodDescriptor<Q, A> bounded(MethodDescriptor<Q, A> method) {
        return method.toBuilder(bounded(method.getRequestMarshaller()), bounded(method.getResponseMarshaller()))
                .build();
    }

    private static <T> Marshaller<T> bounded(Marshaller<T> marshaller) {
        return marshaller instanceof PrototypeMarshaller<T> generated
                        && generated.getMessagePrototype() instanceof Message prototype
                ? new Bounded<>(generated, prototype)
                : marshaller;
    }

    /**
     * Reads one message.
     *
     * @param prototype of its type
     * @throws InvalidProtocolBufferException when it is none, or has too many fields
     */
    public static <T extends Message> T parse(T prototype, ByteString bytes) throws InvalidProtocolBufferException {
        try {
            new Count().of(bytes.newCodedInput(), prototype.getDescriptorForType(), 0);
        } catch (InvalidProtocolBufferException e) {
            throw e;
        } catch (IOException e) {
            throw new InvalidProtocolBufferException(e);
        }
        @SuppressWarnings("unchecked")
        Parser<T> parser = (Parser<T>) prototype.getParserForType();
        return DiscardUnknownFieldsParser.wrap(parser).parseFrom(bytes);
    }

    /** How many fields there have been so far. */
    private static final class Count {
        private int fields;

        void of(CodedInputStream in, Descriptor type, int depth) throws IOException {
            if (depth > DEEPEST) {
                throw new InvalidProtocolBufferException("it has messages in messages, more than " + DEEPEST + " deep");
            }
            for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
                if (++fields > MOST_FIELDS) {
                    throw new InvalidProtocolBufferException("it has more than " + MOST_FIELDS + " fields");
                }
                FieldDescriptor field = WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_LENGTH_DELIMITED
                        ? type.findFieldByNumber(WireFormat.getTagFieldNumber(tag))
                        : null;
                if (field != null && field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
                    int before = in.pushLimit(in.readRawVarint32());
                    of(in, field.getMessageType(), depth + 1);
                    in.popLimit(before);
                } else {
                    in.skipField(tag);
                }
            }
        }
    }

    private record Bounded<A>(PrototypeMarshaller<A> generated, Message prototype) implements Marshaller<A> {
        @Override
        public InputStream stream(A value) {
            return generated.stream(value);
        }

        @Override
        @SuppressWarnings("unchecked")
        public A parse(InputStream stream) {
            try {
                return (A) BoundedMessages.parse(prototype, ByteString.readFrom(stream));
            } catch (IOException e) {
                throw Status.INTERNAL
                        .withDescription("the message is no "
                                + prototype.getDescriptorForType().getFullName() + " that can be taken: "
                                + e.getMessage())
                        .withCause(e)
                        .asRuntimeException();
            }
        }
    }
}
