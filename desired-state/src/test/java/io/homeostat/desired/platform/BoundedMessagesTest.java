package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.ListValue;
import com.google.protobuf.Message;
import com.google.protobuf.StringValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.ProtoUtils;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class BoundedMessagesTest {
    /** The start and the end of a group with the number 15, which none of these messages has. */
    private static final byte[] GROUP = {0x7b, 0x7c};

    private static final MethodDescriptor<Struct, ListValue> METHOD = MethodDescriptor.<Struct, ListValue>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("test.Service/Method")
            .setRequestMarshaller(ProtoUtils.marshaller(Struct.getDefaultInstance()))
            .setResponseMarshaller(ProtoUtils.marshaller(ListValue.getDefaultInstance()))
            .build();

    @Test
    void whatIsKnownIsReadAsEver() throws InvalidProtocolBufferException {
        Struct struct = Struct.newBuilder()
                .putFields("a", Value.newBuilder().setStringValue("b").build())
                .putFields(
                        "c",
                        Value.newBuilder()
                                .setListValue(ListValue.newBuilder()
                                        .addValues(Value.newBuilder().setNumberValue(1)))
                                .build())
                .build();

        assertEquals(struct, BoundedMessages.parse(Struct.getDefaultInstance(), struct.toByteString()));
    }

    @Test
    void nothingIsKeptOfWhatIsNotKnown() throws IOException {
        ByteString text = StringValue.of("known").toByteString();

        StringValue read = BoundedMessages.parse(
                StringValue.getDefaultInstance(), ByteString.copyFrom(GROUP).concat(text));

        assertEquals(StringValue.of("known"), read);
        assertEquals(text.size(), read.getSerializedSize());
    }

    @Test
    void manyFieldsAreRefusedWhereverTheyAre() throws IOException {
        ByteString empty = ByteString.copyFrom(new byte[] {0x0a, 0});
        int most = BoundedMessages.MOST_FIELDS;

        assertEquals(
                most,
                BoundedMessages.parse(ListValue.getDefaultInstance(), repeated(empty, most))
                        .getValuesCount());
        assertRefused(ListValue.getDefaultInstance(), repeated(empty, most + 1));
        assertRefused(StringValue.getDefaultInstance(), repeated(ByteString.copyFrom(GROUP), most + 1));
        assertRefused(
                ListValue.getDefaultInstance(),
                ListValue.newBuilder()
                        .addValues(Value.newBuilder().setListValue(ListValue.parseFrom(repeated(empty, most))))
                        .build()
                        .toByteString());
    }

    @Test
    void soAreMessagesThatAreTooDeep() {
        Value.Builder value = Value.newBuilder().setBoolValue(true);
        for (int i = 0; i < 200; i++) {
            value = Value.newBuilder().setListValue(ListValue.newBuilder().addValues(value.build()));
        }

        assertRefused(Value.getDefaultInstance(), value.build().toByteString());
    }

    @Test
    void soIsWhatIsNoMessage() {
        assertRefused(StringValue.getDefaultInstance(), ByteString.copyFromUtf8("none"));
    }

    @Test
    void theAnswersOfAMethodAreReadSo() throws IOException {
        MethodDescriptor<Struct, ListValue> bounded = BoundedMessages.bounded(METHOD);

        StatusRuntimeException refused = assertThrows(
                StatusRuntimeException.class,
                () -> bounded.parseResponse(
                        repeated(ByteString.copyFrom(new byte[] {0x0a, 0}), BoundedMessages.MOST_FIELDS + 1)
                                .newInput()));

        assertEquals(Status.Code.INTERNAL, refused.getStatus().getCode());
        assertInstanceOf(
                InvalidProtocolBufferException.class, refused.getStatus().getCause());
        assertTrue(
                String.valueOf(refused.getStatus().getDescription()).contains("google.protobuf.ListValue"),
                refused::toString);
        assertEquals(
                ListValue.getDefaultInstance(),
                bounded.parseResponse(bounded.streamResponse(ListValue.getDefaultInstance())));
        assertSame(
                bounded.getResponseMarshaller(),
                BoundedMessages.bounded(bounded).getResponseMarshaller(),
                "it reads its answers in its own way by now");
    }

    @Test
    void soAreTheRequests() throws IOException {
        MethodDescriptor<Struct, ListValue> bounded = BoundedMessages.bounded(METHOD);

        assertThrows(
                StatusRuntimeException.class,
                () -> bounded.parseRequest(repeated(ByteString.copyFrom(GROUP), BoundedMessages.MOST_FIELDS + 1)
                        .newInput()));
        assertEquals(
                Struct.getDefaultInstance(), bounded.parseRequest(bounded.streamRequest(Struct.getDefaultInstance())));
    }

    private static void assertRefused(Message prototype, ByteString bytes) {
        assertThrows(InvalidProtocolBufferException.class, () -> BoundedMessages.parse(prototype, bytes));
    }

    private static ByteString repeated(ByteString part, int times) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        CodedOutputStream out = CodedOutputStream.newInstance(all);
        for (int i = 0; i < times; i++) {
            out.writeRawBytes(part);
        }
        out.flush();
        return ByteString.copyFrom(all.toByteArray());
    }
}
