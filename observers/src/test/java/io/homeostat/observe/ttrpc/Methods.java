package io.homeostat.observe.ttrpc;

import com.google.protobuf.StringValue;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.protobuf.ProtoUtils;

/** A service with a method of each type, which no guest has. */
final class Methods {
    static final String SERVICE = "test.Words";

    static final MethodDescriptor<StringValue, StringValue> ECHO = method("Echo", MethodType.UNARY);
    static final MethodDescriptor<StringValue, StringValue> SPLIT = method("Split", MethodType.SERVER_STREAMING);
    static final MethodDescriptor<StringValue, StringValue> JOIN = method("Join", MethodType.CLIENT_STREAMING);
    static final MethodDescriptor<StringValue, StringValue> TALK = method("Talk", MethodType.BIDI_STREAMING);

    private Methods() {}

    private static MethodDescriptor<StringValue, StringValue> method(String name, MethodType type) {
        return MethodDescriptor.<StringValue, StringValue>newBuilder()
                .setType(type)
                .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
                .setRequestMarshaller(ProtoUtils.marshaller(StringValue.getDefaultInstance()))
                .setResponseMarshaller(ProtoUtils.marshaller(StringValue.getDefaultInstance()))
                .build();
    }
}
