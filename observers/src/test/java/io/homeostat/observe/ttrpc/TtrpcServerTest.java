package io.homeostat.observe.ttrpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.ByteString;
import com.google.protobuf.StringValue;
import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.ttrpc.KeyValue;
import io.homeostat.proto.ttrpc.Request;
import io.homeostat.proto.ttrpc.Response;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The server against clients that are good, that are mistaken, that hang and that go away. */
@Timeout(120)
class TtrpcServerTest {
    @TempDir
    Path root;

    private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
    /** What hangs goes on when it is counted down. */
    private final CountDownLatch release = new CountDownLatch(1);
    /** Whatever is hanging. */
    private final AtomicInteger hanging = new AtomicInteger();

    private final BlockingQueue<String> cancelled = new ArrayBlockingQueue<>(10_000);
    private final CompletableFuture<Metadata> headers = new CompletableFuture<>();

    private TtrpcServer server;

    @BeforeEach
    void setUp() throws IOException {
        server = new TtrpcServer(
                new SocketAcceptor(socket()),
                timer,
                List.of(ServerInterceptors.intercept(words(), new ServerInterceptor() {
                    @Override
                    public <Q, A> ServerCall.Listener<Q> interceptCall(
                            ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
                        headers.complete(metadata);
                        return next.startCall(call, metadata);
                    }
                })));
        server.start();
    }

    @AfterEach
    void tearDown() {
        release.countDown();
        server.close();
        timer.shutdownNow();
    }

    private Path socket() {
        return root.resolve("socket");
    }

    private TtrpcChannel client() throws IOException {
        return new TtrpcChannel(
                new SocketWire(SocketChannel.open(UnixDomainSocketAddress.of(socket()))), "server", timer);
    }

    private boolean isNobodyThere() {
        try (TtrpcChannel reached = client()) {
            return reached.authority().isEmpty();
        } catch (IOException e) {
            return true;
        }
    }

    private ServerServiceDefinition words() {
        return ServerServiceDefinition.builder(Methods.SERVICE)
                .addMethod(Methods.ECHO, ServerCalls.asyncUnaryCall(this::echo))
                .addMethod(Methods.SPLIT, ServerCalls.asyncServerStreamingCall(this::split))
                .addMethod(Methods.JOIN, ServerCalls.asyncClientStreamingCall(TtrpcServerTest::join))
                .addMethod(Methods.TALK, ServerCalls.asyncBidiStreamingCall(this::talk))
                .build();
    }

    private void echo(StringValue question, StreamObserver<StringValue> answers) {
        switch (question.getValue()) {
            case "hang" -> {
                ((ServerCallStreamObserver<StringValue>) answers).setOnCancelHandler(() -> {});
                Context.current().addListener(context -> cancelled.add("hang"), Runnable::run);
                hanging.incrementAndGet();
                Uninterruptibles.awaitUninterruptibly(release);
            }
            case "fail" -> throw new IllegalStateException("a secret");
            case "refuse" ->
                throw Status.NOT_FOUND.withDescription("no such word").asRuntimeException();
            case "nothing" -> {
                answers.onCompleted();
                return;
            }
            case "long" -> {
                answers.onNext(StringValue.of("x".repeat(Frame.LONGEST)));
                answers.onCompleted();
                return;
            }
            default -> {}
        }
        answers.onNext(question);
        answers.onCompleted();
    }

    private void split(StringValue question, StreamObserver<StringValue> answers) {
        for (String word : Splitter.on(' ').split(question.getValue())) {
            if (word.equals("fail")) {
                answers.onError(
                        Status.DATA_LOSS.withDescription("a word is lost").asRuntimeException());
                return;
            }
            answers.onNext(StringValue.of(word));
        }
        answers.onCompleted();
    }

    private static StreamObserver<StringValue> join(StreamObserver<StringValue> answers) {
        StringBuilder all = new StringBuilder();
        return new Questions(answers) {
            @Override
            public void onNext(StringValue word) {
                all.append(word.getValue());
            }

            @Override
            public void onCompleted() {
                answers.onNext(StringValue.of(all.toString()));
                answers.onCompleted();
            }
        };
    }

    private StreamObserver<StringValue> talk(StreamObserver<StringValue> answers) {
        return new Questions(answers) {
            @Override
            public void onNext(StringValue word) {
                if (word.getValue().equals("hang")) {
                    hanging.incrementAndGet();
                    Uninterruptibles.awaitUninterruptibly(release);
                }
                answers.onNext(StringValue.of(word.getValue() + "!"));
            }

            @Override
            public void onCompleted() {
                answers.onCompleted();
            }
        };
    }

    private abstract static class Questions implements StreamObserver<StringValue> {
        private final StreamObserver<StringValue> answers;

        Questions(StreamObserver<StringValue> answers) {
            this.answers = answers;
        }

        @Override
        public void onError(Throwable problem) {
            answers.onError(problem);
        }
    }

    private static ConditionFactory soon() {
        return Awaitility.await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(10));
    }

    private static String echo(TtrpcChannel client, String word) {
        return ClientCalls.blockingUnaryCall(client, Methods.ECHO, CallOptions.DEFAULT, StringValue.of(word))
                .getValue();
    }

    private static Future<StringValue> begin(TtrpcChannel client, String word) {
        return ClientCalls.futureUnaryCall(client.newCall(Methods.ECHO, CallOptions.DEFAULT), StringValue.of(word));
    }

    private static Status refusal(TtrpcChannel client, String word) {
        return assertThrows(StatusRuntimeException.class, () -> echo(client, word))
                .getStatus();
    }

    private static com.google.rpc.Status status(Frame answer) throws IOException {
        return Response.parseFrom(answer.payload()).getStatus();
    }

    private static Frame echo(int stream, String word) {
        return Frame.request(
                stream,
                (byte) 0,
                Envelopes.request(Methods.ECHO, StringValue.of(word).toByteString(), 0, new Metadata()));
    }

    @Test
    void manyCallsOfManyClientsAtOnceAreAnsweredEachWithItsOwn() throws Exception {
        List<Future<Integer>> right = new ArrayList<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor();
                TtrpcChannel one = client();
                TtrpcChannel other = client()) {
            for (int caller = 0; caller < 20; caller++) {
                String name = "caller" + caller + " ";
                TtrpcChannel client = caller % 2 == 0 ? one : other;
                right.add(threads.submit(() -> {
                    int count = 0;
                    for (int i = 0; i < 200; i++) {
                        count += echo(client, name + i).equals(name + i) ? 1 : 0;
                    }
                    return count;
                }));
            }
            for (Future<Integer> caller : right) {
                assertEquals(200, caller.get());
            }
        }
    }

    @Test
    void callsThatHangHoldUpNobody() throws Exception {
        try (TtrpcChannel client = client()) {
            List<Future<StringValue>> stuck = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                stuck.add(begin(client, "hang"));
            }
            soon().until(() -> hanging.get() == 100);

            assertEquals("kill", echo(client, "kill"));

            release.countDown();
            for (Future<StringValue> call : stuck) {
                assertEquals("hang", call.get().getValue());
            }
        }
    }

    @Test
    void whatFailsIsOneCallsErrorAndTellsNothingOfWhy() throws Exception {
        try (TtrpcChannel client = client()) {
            assertEquals(Code.UNKNOWN, refusal(client, "fail").getCode());
            assertEquals(
                    "failed, see the log of the server", refusal(client, "fail").getDescription());
            assertEquals(Status.NOT_FOUND.getCode(), refusal(client, "refuse").getCode());
            assertEquals("no such word", refusal(client, "refuse").getDescription());
            assertEquals(Code.INTERNAL, refusal(client, "nothing").getCode());
            assertEquals(Code.RESOURCE_EXHAUSTED, refusal(client, "long").getCode());
            assertEquals("fine", echo(client, "fine"));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "test.Nobody, Echo, INVALID_ARGUMENT, test.Nobody service does not exist",
        "test.Words, Sing, UNIMPLEMENTED, test.Words has no method Sing",
        "'', '', INVALID_ARGUMENT, ' service does not exist'",
    })
    void whatNobodyServesIsRefused(String service, String method, Code code, String words) throws Exception {
        try (Peer peer = Peer.to(socket())) {
            Request request =
                    Request.newBuilder().setService(service).setMethod(method).build();

            peer.send(Frame.request(1, (byte) 0, request.toByteString()));

            com.google.rpc.Status status = status(peer.receive());
            assertEquals(code.value(), status.getCode());
            assertEquals(words, status.getMessage());
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            an even stream           | 00000000 00000002 01 00            | stream id must be odd
            the stream 0             | 00000000 00000000 01 00            | stream id must be odd
            no message               | 00000003 00000003 01 00 ffffff     | the request can't be read
            text that is not UTF-8   | 00000004 00000005 01 00 0a02c328   | the request can't be read
            data of no call          | 00000001 00000007 03 00 00         | no call is under way on this stream
            """)
    void aMistakeIsRefusedOnItsStreamAndTheConnectionLives(String name, String frame, String words) throws Exception {
        try (Peer peer = Peer.to(socket())) {
            peer.send(frame);

            com.google.rpc.Status status = status(peer.receive());
            assertEquals(Code.INVALID_ARGUMENT.value(), status.getCode(), name);
            assertTrue(status.getMessage().startsWith(words), status.getMessage());
            peer.send(echo(9, "still"));
            assertEquals(9, peer.receive().stream());
        }
    }

    /** Each would take some memory, however short it is. */
    @Test
    void aRequestWithTooManyFieldsIsRefused() throws Exception {
        try (Peer peer = Peer.to(socket())) {
            ByteString many = ByteString.copyFromUtf8("\u007a\u0000".repeat(100_001));

            peer.send(Frame.request(1, (byte) 0, many));

            com.google.rpc.Status status = status(peer.receive());
            assertEquals(Code.INVALID_ARGUMENT.value(), status.getCode());
            assertTrue(status.getMessage().contains("more than 100000 fields"), status.getMessage());
        }
    }

    @Test
    void framesThatAServerIsNotMeantToGetAreIgnored() throws Exception {
        try (Peer peer = Peer.to(socket())) {
            peer.send("00000000 00000001 02 00");
            peer.send("00000001 00000001 63 00 61");
            peer.send(new Frame(5, Frame.REQUEST, (byte) 0x70, echo(5, "flags").payload()));

            assertEquals(5, peer.receive().stream());
        }
    }

    @Test
    void aStreamMayBeUsedAgainButNotWhileItIsInUse() throws Exception {
        try (Peer peer = Peer.to(socket())) {
            peer.send(echo(3, "one"));
            assertEquals(3, peer.receive().stream());
            peer.send(echo(3, "hang"));
            soon().until(() -> hanging.get() == 1);

            peer.send(echo(3, "two"));

            assertEquals(
                    "a call is under way on this stream", status(peer.receive()).getMessage());
        }
    }

    @Test
    void theLongestMessageIsTakenAndALongerOneIsRefused() throws Exception {
        try (Peer peer = Peer.to(socket())) {
            peer.send(new Frame(1, Frame.REQUEST, (byte) 0, ByteString.copyFrom(new byte[Frame.LONGEST + 1])));
            com.google.rpc.Status status = status(peer.receive());
            assertEquals(Code.INVALID_ARGUMENT.value(), status.getCode());
            assertEquals("the message has 4194305 bytes, of which 4194304 are allowed", status.getMessage());

            int rest = Frame.LONGEST - echo(3, "").payload().size();
            Frame longest = echo(3, "x".repeat(rest - 10));
            peer.send(longest);
            assertEquals("", status(peer.receive()).getMessage());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"ffffffff 00000001 01 00", "01000000 00000001 01 00"})
    void anAbsurdLengthEndsTheConnectionAndNoOther(String header) throws Exception {
        try (TtrpcChannel other = client();
                Peer peer = Peer.to(socket())) {
            assertEquals("before", echo(other, "before"));

            peer.send(header);

            assertTrue(peer.isClosed());
            assertEquals("after", echo(other, "after"));
        }
    }

    @Test
    void theTimeThatAClientGivesIsKept() throws Exception {
        try (Peer peer = Peer.to(socket())) {
            peer.send(Frame.request(
                    1,
                    (byte) 0,
                    Envelopes.request(
                            Methods.ECHO,
                            StringValue.of("hang").toByteString(),
                            TimeUnit.SECONDS.toNanos(1),
                            new Metadata())));

            com.google.rpc.Status status = status(peer.receive());
            assertEquals(Code.DEADLINE_EXCEEDED.value(), status.getCode());
            assertEquals("timeout", status.getMessage());
            assertEquals("hang", cancelled.poll(60, TimeUnit.SECONDS));
            // Its answer comes too late.
            release.countDown();
            peer.send(echo(3, "next"));
            assertEquals(3, peer.receive().stream());
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 0, Long.MAX_VALUE})
    void aTimeThatIsNoneIsNotKept(long timeout) throws Exception {
        try (Peer peer = Peer.to(socket())) {
            peer.send(Frame.request(
                    1,
                    (byte) 0,
                    Envelopes.request(Methods.ECHO, StringValue.of("a").toByteString(), timeout, new Metadata())));

            assertEquals(0, status(peer.receive()).getCode());
        }
    }

    @Test
    void whoeverIsGoneWaitsForNothing() throws Exception {
        try (Peer peer = Peer.to(socket())) {
            peer.send(echo(1, "hang"));
            peer.send(echo(3, "hang"));
            soon().until(() -> hanging.get() == 2);
        }

        assertEquals("hang", cancelled.poll(60, TimeUnit.SECONDS));
        assertEquals("hang", cancelled.poll(60, TimeUnit.SECONDS));
    }

    @Test
    void aClientHasOnlySoManyCalls() throws Exception {
        try (Peer peer = Peer.to(socket());
                TtrpcChannel other = client()) {
            for (int i = 0; i < TtrpcServer.MOST_CALLS; i++) {
                peer.send(echo(2 * i + 1, "hang"));
            }
            peer.send(echo(9999, "one more"));

            Frame answer = peer.receive();
            assertEquals(9999, answer.stream());
            assertEquals(Code.RESOURCE_EXHAUSTED.value(), status(answer).getCode());
            assertEquals("another client", echo(other, "another client"));
        }
    }

    /** A request lies in memory until it is answered. */
    @Test
    void allCallsTogetherHaveOnlySoManyBytes() throws Exception {
        Metadata filler = new Metadata();
        filler.put(Metadata.Key.of("filler", Metadata.ASCII_STRING_MARSHALLER), "x".repeat(3 << 20));
        try (Peer peer = Peer.to(socket());
                TtrpcChannel other = client()) {
            for (int i = 0; i <= TtrpcServer.MOST_REQUESTS / (3 << 20); i++) {
                peer.send(Frame.request(
                        2 * i + 1,
                        (byte) 0,
                        Envelopes.request(Methods.ECHO, StringValue.of("hang").toByteString(), 0, filler)));
            }

            assertEquals(Code.RESOURCE_EXHAUSTED.value(), status(peer.receive()).getCode());
            assertEquals("a short one", echo(other, "a short one"));
            release.countDown();
            soon().until(() -> status(peer.receive()).getCode() == Code.OK.value());
            peer.send(Frame.request(
                    9999,
                    (byte) 0,
                    Envelopes.request(Methods.ECHO, StringValue.of("again").toByteString(), 0, filler)));
            Frame last = peer.receive();
            while (last.stream() != 9999) {
                last = peer.receive();
            }
            assertEquals(Code.OK.value(), status(last).getCode());
        }
    }

    @Test
    void soManyClientsAreServedAndOneMoreIsTurnedAway() throws Exception {
        List<TtrpcChannel> clients = new ArrayList<>();
        try {
            for (int i = 0; i < TtrpcServer.MOST_CLIENTS; i++) {
                clients.add(client());
                assertEquals("hello", echo(clients.getLast(), "hello"));
            }

            try (Peer more = Peer.to(socket())) {
                assertTrue(more.isClosed());
            }

            clients.removeLast().close();
            // Turned away until the server knows of that.
            soon().ignoreException(StatusRuntimeException.class).untilAsserted(() -> {
                try (TtrpcChannel next = client()) {
                    assertEquals("next", echo(next, "next"));
                }
            });
        } finally {
            clients.forEach(TtrpcChannel::close);
        }
    }

    @Test
    void whoeverReadsNoAnswersIsDisconnected() throws Exception {
        String mebibyte = "x".repeat(1 << 20);
        try (Peer peer = Peer.to(socket());
                TtrpcChannel other = client()) {
            // A frame that can't be sent any more is an error as well.
            assertThrows(IOException.class, () -> {
                for (int i = 0; i < 1000; i++) {
                    peer.send(echo(2 * i + 1, mebibyte));
                }
            });

            assertEquals("another client", echo(other, "another client"));
        }
    }

    @Test
    void aClientMayAllowShorterAnswers() throws Exception {
        try (TtrpcChannel channel = client()) {
            CallOptions options = CallOptions.DEFAULT.withMaxInboundMessageSize(100);
            StringValue question = StringValue.of("x".repeat(100));

            StatusRuntimeException refused = assertThrows(
                    StatusRuntimeException.class,
                    () -> ClientCalls.blockingUnaryCall(channel, Methods.ECHO, options, question));

            assertEquals(Status.Code.RESOURCE_EXHAUSTED, refused.getStatus().getCode());
            assertTrue(channel.isOpen());
        }
    }

    /** Each takes some memory all the same. */
    @Test
    void evenOfEmptyMessagesOnlySoManyWait() {
        Inbound inbound = new Inbound();
        int messages = 0;
        while (messages < 1_000_000 && inbound.add(ByteString.EMPTY)) {
            messages++;
        }

        assertTrue(messages < 100_000, messages + " messages wait");
    }

    @Test
    void metadataAreHeadersAndWhatGrpcHasNoRoomForIsLeftOut() throws Exception {
        Request request = Request.newBuilder()
                .setService(Methods.SERVICE)
                .setMethod("Echo")
                .addMetadata(KeyValue.newBuilder().setKey("trace").setValue("a"))
                .addMetadata(KeyValue.newBuilder().setKey("no key").setValue("b"))
                .addMetadata(KeyValue.newBuilder().setKey("trace").setValue("c"))
                .build();
        try (Peer peer = Peer.to(socket())) {
            peer.send(Frame.request(1, (byte) 0, request.toByteString()));

            assertEquals(0, status(peer.receive()).getCode());
        }
        Iterable<String> values = headers.get().getAll(Metadata.Key.of("trace", Metadata.ASCII_STRING_MARSHALLER));
        assertEquals(List.of("a", "c"), values == null ? List.of() : ImmutableList.copyOf(values));
        assertEquals(1, headers.get().keys().size());
    }

    @Test
    void answersAreAStreamThatEndsWellOrBadly() throws Exception {
        try (TtrpcChannel client = client()) {
            List<String> words = new ArrayList<>();
            ClientCalls.blockingServerStreamingCall(
                            client, Methods.SPLIT, CallOptions.DEFAULT, StringValue.of("a b  c"))
                    .forEachRemaining(word -> words.add(word.getValue()));
            assertEquals(List.of("a", "b", "", "c"), words);

            var broken = ClientCalls.blockingServerStreamingCall(
                    client, Methods.SPLIT, CallOptions.DEFAULT, StringValue.of("a fail"));
            Status status = assertThrows(
                            StatusRuntimeException.class, () -> broken.forEachRemaining(word -> words.add("?")))
                    .getStatus();
            assertEquals("a word is lost", status.getDescription());
        }
    }

    @Test
    void questionsAreAStreamOfAnyLength() throws Exception {
        StringBuilder expected = new StringBuilder();
        try (TtrpcChannel client = client()) {
            CompletableFuture<String> joined = new CompletableFuture<>();
            StreamObserver<StringValue> questions = ClientCalls.asyncClientStreamingCall(
                    client.newCall(Methods.JOIN, CallOptions.DEFAULT), answer(joined));
            for (int i = 0; i < 10_000; i++) {
                questions.onNext(StringValue.of(i + ","));
                expected.append(i).append(',');
            }
            questions.onCompleted();

            assertEquals(expected.toString(), joined.get());
        }
    }

    private static StreamObserver<StringValue> answer(CompletableFuture<String> to) {
        return new StreamObserver<>() {
            @Override
            public void onNext(StringValue value) {
                to.complete(value.getValue());
            }

            @Override
            public void onError(Throwable problem) {
                to.completeExceptionally(problem);
            }

            @Override
            public void onCompleted() {}
        };
    }

    @Test
    void bothTalkAtOnce() throws Exception {
        List<String> heard = Collections.synchronizedList(new ArrayList<>());
        CompletableFuture<Void> end = new CompletableFuture<>();
        try (TtrpcChannel client = client()) {
            StreamObserver<StringValue> questions = ClientCalls.asyncBidiStreamingCall(
                    client.newCall(Methods.TALK, CallOptions.DEFAULT), new StreamObserver<>() {
                        @Override
                        public void onNext(StringValue value) {
                            heard.add(value.getValue());
                        }

                        @Override
                        public void onError(Throwable problem) {
                            end.completeExceptionally(problem);
                        }

                        @Override
                        public void onCompleted() {
                            end.complete(null);
                        }
                    });
            questions.onNext(StringValue.of("one"));
            soon().until(() -> heard.equals(List.of("one!")));
            questions.onNext(StringValue.of("two"));
            soon().until(() -> heard.equals(List.of("one!", "two!")));
            questions.onCompleted();
            end.get();
        }
    }

    @Test
    void dataAfterTheEndOfDataAreAMistake() throws Exception {
        try (Peer peer = Peer.to(socket())) {
            peer.send(Frame.request(
                    1, Frame.REMOTE_OPEN, Envelopes.request(Methods.TALK, ByteString.EMPTY, 0, new Metadata())));
            peer.send(new Frame(
                    1, Frame.DATA, Frame.REMOTE_CLOSED, StringValue.of("hang").toByteString()));
            soon().until(() -> hanging.get() == 1);

            peer.send(Frame.data(1, StringValue.of("late").toByteString()));

            com.google.rpc.Status status = status(peer.receive());
            assertEquals(Code.INVALID_ARGUMENT.value(), status.getCode());
            assertEquals("data after the end of data", status.getMessage());
        }
    }

    @Test
    void closingItEndsAllConnectionsAndCancelsWhatIsUnderWay() throws Exception {
        try (TtrpcChannel client = client()) {
            Future<StringValue> stuck = begin(client, "hang");
            soon().until(() -> hanging.get() == 1);

            server.close();

            assertThrows(ExecutionException.class, stuck::get);
            assertEquals("hang", cancelled.poll(60, TimeUnit.SECONDS));
            // The thread that accepts lets go of the socket when it has woken.
            soon().until(this::isNobodyThere);
        }
    }

    @Test
    void whenNobodyCanBeAcceptedThatIsTriedAgain() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        SocketAcceptor real = new SocketAcceptor(root.resolve("other"));
        try (TtrpcServer flaky = new TtrpcServer(
                new TtrpcServer.Acceptor() {
                    @Override
                    public Wire accept() throws IOException {
                        if (tries.incrementAndGet() < 3) {
                            throw new IOException("Too many open files");
                        }
                        return real.accept();
                    }

                    @Override
                    public void close() throws IOException {
                        real.close();
                    }
                },
                timer,
                List.of(words()))) {
            flaky.start();
            try (TtrpcChannel client = new TtrpcChannel(
                    new SocketWire(SocketChannel.open(UnixDomainSocketAddress.of(root.resolve("other")))),
                    "other",
                    timer)) {
                assertEquals("hello", echo(client, "hello"));
            }
        }
    }
}
