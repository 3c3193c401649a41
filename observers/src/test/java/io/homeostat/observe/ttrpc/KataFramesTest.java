package io.homeostat.observe.ttrpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.Message;
import com.google.protobuf.MessageLite;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.homeostat.observe.ttrpc.KataFrames.Exchange;
import io.homeostat.proto.kata.AgentServiceGrpc;
import io.homeostat.proto.kata.HealthGrpc;
import io.homeostat.proto.ttrpc.Request;
import io.homeostat.proto.ttrpc.Response;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Client and server say what a real client and a real agent have said, to the byte. */
class KataFramesTest {
    @TempDir
    Path root;

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

    @AfterEach
    void tearDown() {
        timer.shutdownNow();
    }

    static List<Exchange> all() throws IOException {
        return KataFrames.read();
    }

    /** A client numbers its streams by itself, so one with an even number is no client's. */
    static Stream<Exchange> ofClients() throws IOException {
        return all().stream().filter(exchange -> (exchange.asked().stream() & 1) != 0);
    }

    static Stream<Exchange> recordedWhole() throws IOException {
        return all().stream()
                .filter(exchange ->
                        exchange.asked().isWhole() && exchange.answered().isWhole());
    }

    @Test
    void allOfThemAreThere() throws IOException {
        assertEquals(93, all().size());
        assertEquals(65, recordedWhole().count());
    }

    @ParameterizedTest
    @MethodSource("ofClients")
    void theClientAsksAsItWasAskedAndUnderstandsTheAnswer(Exchange exchange) throws Exception {
        Request request =
                Request.parseFrom(exchange.asked().isWhole() ? exchange.asked().payload() : ByteString.EMPTY);
        MethodDescriptor<Object, Object> method = method(exchange);
        Peer.Pair pair = Peer.pair(root.resolve("socket"));
        try (Peer peer = pair.peer();
                TtrpcChannel channel = new TtrpcChannel(pair.tested(), "guest", timer, exchange.asked().stream())) {
            Future<Object> answer = ClientCalls.futureUnaryCall(
                    channel.newCall(method, CallOptions.DEFAULT),
                    method.parseRequest(request.getPayload().newInput()));

            Frame asked = peer.receive();
            // Theirs was told its time with one call.
            if (exchange.asked().isWhole() && request.getTimeoutNano() == 0) {
                assertEquals(exchange.asked().frame(), asked);
            }
            peer.send(Frame.response(asked.stream(), whole(exchange)));

            assertEquals(exchange.code(), code(answer, exchange.words()));
        }
    }

    /** Of what is not recorded as a whole, the code and the beginning of the message are. */
    private static ByteString whole(Exchange exchange) {
        if (exchange.answered().isWhole()) {
            return exchange.answered().payload();
        }
        return exchange.code() == 0
                ? Envelopes.success(ByteString.EMPTY)
                : exchange.answered()
                        .payload()
                        .concat(ByteString.copyFromUtf8("x"
                                .repeat(exchange.answered().length()
                                        - exchange.answered().payload().size())));
    }

    private static int code(Future<Object> answer, String words) throws InterruptedException {
        try {
            Object _ = answer.get();
            return 0;
        } catch (ExecutionException e) {
            Status status = Status.fromThrowable(e);
            String description = String.valueOf(status.getDescription());
            assertTrue(description.startsWith(words.replace("\\\"", "\"")), description);
            return status.getCode().value();
        }
    }

    @ParameterizedTest
    @MethodSource("recordedWhole")
    void theServerAnswersAsAnAgentDid(Exchange exchange) throws Exception {
        Response response = Response.parseFrom(exchange.answered().payload());
        MethodDescriptor<Object, Object> method = method(exchange);
        CompletableFuture<ByteString> asked = new CompletableFuture<>();
        ServerServiceDefinition service = ServerServiceDefinition.builder(exchange.service())
                .addMethod(method, ServerCalls.asyncUnaryCall((question, answers) -> {
                    asked.complete(((MessageLite) question).toByteString());
                    if (exchange.code() == 0) {
                        answers.onNext(
                                method.parseResponse(response.getPayload().newInput()));
                        answers.onCompleted();
                    } else {
                        answers.onError(Status.fromCodeValue(exchange.code())
                                .withDescription(response.getStatus().getMessage())
                                .asRuntimeException());
                    }
                }))
                .build();
        try (TtrpcServer server =
                new TtrpcServer(new SocketAcceptor(root.resolve("socket")), timer, List.of(service))) {
            server.start();
            try (Peer peer = Peer.to(root.resolve("socket"))) {
                peer.send(exchange.asked().frame());

                assertEquals(exchange.answered().frame(), peer.receive());
            }
        }
        if ((exchange.asked().stream() & 1) != 0) {
            ByteString sent = Request.parseFrom(exchange.asked().payload()).getPayload();
            Message question = (Message) method.parseRequest(sent.newInput());
            // What the protocol does not know is not kept.
            assertEquals(
                    DiscardUnknownFieldsParser.wrap(question.getParserForType())
                            .parseFrom(sent)
                            .toByteString(),
                    asked.get());
        }
    }

    @SuppressWarnings("unchecked")
    private static MethodDescriptor<Object, Object> method(Exchange exchange) {
        return Stream.of(AgentServiceGrpc.getServiceDescriptor(), HealthGrpc.getServiceDescriptor())
                .flatMap(service -> service.getMethods().stream())
                .filter(method -> method.getFullMethodName().equals(exchange.service() + "/" + exchange.method()))
                .map(method -> (MethodDescriptor<Object, Object>) method)
                .findAny()
                .orElseThrow();
    }
}
