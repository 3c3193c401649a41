package io.homeostat.observe.ttrpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.StringValue;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.MetadataUtils;
import io.homeostat.proto.kata.AgentServiceGrpc;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.HealthCheckResponse.ServingStatus;
import io.homeostat.proto.kata.HealthGrpc;
import io.homeostat.proto.kata.SignalProcessRequest;
import io.homeostat.proto.ttrpc.KeyValue;
import io.homeostat.proto.ttrpc.Request;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The client against a server that answers late, in pieces, wrongly or not at all. */
@Timeout(120)
class TtrpcChannelTest {
    private static final ByteString SERVING = HealthCheckResponse.newBuilder()
            .setStatus(ServingStatus.SERVING)
            .build()
            .toByteString();

    @TempDir
    Path root;

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private Peer.Pair pair;
    private Peer peer;
    private TtrpcChannel channel;

    @BeforeEach
    void setUp() throws IOException {
        connect(1);
    }

    private void connect(int firstStream) throws IOException {
        pair = Peer.pair(root.resolve("socket" + firstStream));
        peer = pair.peer();
        channel = new TtrpcChannel(pair.tested(), "guest", timer, firstStream);
    }

    @AfterEach
    void tearDown() throws IOException {
        channel.close();
        peer.close();
        timer.shutdownNow();
    }

    private HealthGrpc.HealthFutureStub health() {
        return HealthGrpc.newFutureStub(channel);
    }

    private Future<HealthCheckResponse> check() {
        return health().check(CheckRequest.getDefaultInstance());
    }

    private static Status failure(Future<?> call) {
        return Status.fromThrowable(assertThrows(ExecutionException.class, call::get));
    }

    private static String description(Status status) {
        return String.valueOf(status.getDescription());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            neither status nor payload       | 00000000 00000001 02 00                      | UNKNOWN
            an empty status and no payload   | 00000002 00000001 02 00 0a00                 | UNKNOWN
            no status and a payload          | 00000004 00000001 02 00 12020801             | SERVING
            both                             | 00000006 00000001 02 00 0a0012020801         | SERVING
            a status with the code of OK     | 00000008 00000001 02 00 0a02080012020801     | SERVING
            flags that nobody has given      | 00000006 00000001 02 ff 0a0012020801         | SERVING
            """)
    void anAnswerIsASuccess(String name, String frame, ServingStatus expected) throws Exception {
        Future<HealthCheckResponse> answer = check();
        peer.receive();

        peer.send(frame);

        assertEquals(expected, answer.get().getStatus(), name);
    }

    @Test
    void aFrameMayComeInPiecesAndSeveralAtOnce() throws Exception {
        Future<HealthCheckResponse> first = check();
        Future<HealthCheckResponse> second = check();
        peer.receive();
        peer.receive();

        peer.send("000000");
        peer.send("06 00000001 02");
        peer.send("00 0a00120208");
        peer.send("01 00000006 00000003 02 00 0a00 1202 0802");

        assertEquals(ServingStatus.SERVING, first.get().getStatus());
        assertEquals(ServingStatus.NOT_SERVING, second.get().getStatus());
    }

    @Test
    void answersComeInAnyOrder() throws Exception {
        List<Future<StringValue>> calls = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            calls.add(ClientCalls.futureUnaryCall(
                    channel.newCall(Methods.ECHO, CallOptions.DEFAULT), StringValue.of("word" + i)));
        }
        List<Frame> asked = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            asked.add(peer.receive());
        }
        Collections.reverse(asked);

        for (Frame frame : asked) {
            peer.answer(frame.stream(), Request.parseFrom(frame.payload()).getPayload());
        }

        for (int i = 0; i < 200; i++) {
            assertEquals("word" + i, calls.get(i).get().getValue());
        }
    }

    @Test
    void whatNobodyWaitsForIsIgnored() throws Exception {
        Future<HealthCheckResponse> answer = check();
        peer.receive();

        peer.answer(99, SERVING);
        peer.send(Frame.data(101, SERVING));
        peer.send(new Frame(1, (byte) 77, (byte) 0, SERVING));
        peer.answer(1, SERVING);
        peer.answer(1, SERVING);

        assertEquals(ServingStatus.SERVING, answer.get().getStatus());
        Future<HealthCheckResponse> next = check();
        peer.answer(peer.receive().stream(), SERVING);
        assertEquals(ServingStatus.SERVING, next.get().getStatus());
    }

    /** Each of them takes the time of a processor. */
    @Test
    void whoSendsWithoutEndWhatNobodyWaitsForIsDisconnected() throws Exception {
        Future<HealthCheckResponse> answer = check();
        peer.receive();

        try {
            while (channel.isOpen()) {
                peer.answer(99, SERVING);
            }
        } catch (IOException e) {
            // It has been disconnected.
        }

        assertTrue(description(failure(answer)).contains("no call needs"));
    }

    /** It would be kept until the answer comes, of each call, for ever. */
    @Test
    void dataBeforeASingleAnswerAreNotKept() throws Exception {
        Future<HealthCheckResponse> answer = check();
        int stream = peer.receive().stream();

        peer.send(Frame.data(stream, ByteString.copyFromUtf8("no answer")));
        peer.send(Frame.response(stream, Envelopes.success(SERVING)));

        assertEquals(ServingStatus.SERVING, answer.get().getStatus());
    }

    @Test
    void ofALongRefusalOnlyTheFirstLineIsKept() throws Exception {
        Future<HealthCheckResponse> answer = check();

        peer.refuse(
                peer.receive().stream(),
                Status.INTERNAL.withDescription("Invalid container id\nStack backtrace:\n   0: agent::rpc"));

        Status status = failure(answer);
        assertEquals(Code.INTERNAL, status.getCode());
        assertEquals("Invalid container id", status.getDescription());
    }

    @Test
    void alsoOfOneThatIsQuoted() throws Exception {
        Future<HealthCheckResponse> answer = check();

        peer.refuse(
                peer.receive().stream(),
                Status.INTERNAL.withDescription(
                        "\"no such \\\"device\\\" (os error 19)\\n\\nStack backtrace:\\n   0: agent::rpc\""));

        assertEquals("\"no such \\\"device\\\" (os error 19)\"", failure(answer).getDescription());
    }

    @Test
    void aRefusalWithoutWordsOrWithFarTooManyIsOne() throws Exception {
        Future<HealthCheckResponse> silent = check();
        peer.refuse(peer.receive().stream(), Status.NOT_FOUND);
        assertEquals(Code.NOT_FOUND, failure(silent).getCode());

        Future<HealthCheckResponse> loud = check();
        peer.refuse(peer.receive().stream(), Status.NOT_FOUND.withDescription("x".repeat(100_000)));
        assertEquals(1000, description(failure(loud)).length());
    }

    @Test
    void anAnswerThatCanNotBeReadIsOneCallsError() throws Exception {
        Future<HealthCheckResponse> envelope = check();
        Future<HealthCheckResponse> message = check();
        Future<HealthCheckResponse> good = check();
        for (int i = 0; i < 3; i++) {
            peer.receive();
        }

        peer.send(Frame.response(1, ByteString.copyFromUtf8("\u0007garbage")));
        peer.answer(3, ByteString.copyFromUtf8("\u0007garbage"));
        peer.answer(5, SERVING);

        assertEquals(Code.INTERNAL, failure(envelope).getCode());
        assertTrue(description(failure(message)).startsWith("the answer of guest to Check can't be read"));
        assertEquals(ServingStatus.SERVING, good.get().getStatus());
    }

    @Test
    void tooLongAnAnswerIsOneCallsErrorAndTheLongestIsNone() throws Exception {
        Future<HealthCheckResponse> tooLong = check();
        Future<StringValue> longest = ClientCalls.futureUnaryCall(
                channel.newCall(Methods.ECHO, CallOptions.DEFAULT.withMaxInboundMessageSize(Frame.LONGEST)),
                StringValue.of("?"));
        peer.receive();
        peer.receive();
        // Status, the field of the payload with its length of four bytes, and the same of the message in it.
        String text = "x".repeat(Frame.LONGEST - 2 - 5 - 5);
        ByteString answer = Envelopes.success(StringValue.of(text).toByteString());
        assertEquals(Frame.LONGEST, answer.size());

        peer.send(new Frame(1, Frame.RESPONSE, (byte) 0, answer.concat(ByteString.copyFromUtf8("x"))));
        peer.send(Frame.response(3, answer));

        assertEquals(Code.RESOURCE_EXHAUSTED, failure(tooLong).getCode());
        assertEquals(text, longest.get().getValue());
    }

    @ParameterizedTest
    @ValueSource(strings = {"ffffffff 00000001 02 00", "01000000 00000001 02 00", "80000000 00000001 02 00"})
    void anAbsurdLengthEndsTheConnection(String header) throws Exception {
        Future<HealthCheckResponse> answer = check();
        peer.receive();

        peer.send(header);

        Status status = failure(answer);
        assertEquals(Code.UNAVAILABLE, status.getCode());
        assertTrue(description(status).contains("what arrives is not ttRPC"), description(status));
        assertTrue(peer.isClosed());
        assertFalse(channel.isOpen());
    }

    @Test
    void whenTheConnectionBreaksEachCallFailsAndSoDoesEveryLaterOne() throws Exception {
        Future<HealthCheckResponse> first = check();
        Future<HealthCheckResponse> second = check();
        peer.receive();
        peer.receive();
        peer.send("00000006 0000");

        peer.close();

        for (Future<HealthCheckResponse> call : List.of(first, second, check())) {
            Status status = failure(call);
            assertEquals(Code.UNAVAILABLE, status.getCode());
            assertTrue(description(status).startsWith("the connection to guest is lost"), description(status));
            assertInstanceOf(IOException.class, status.getCause());
        }
        assertFalse(channel.isOpen());
    }

    /** Nothing would ever end it. */
    @Test
    void whenTheTimerIsShutDownACallWithADeadlineFails() {
        timer.shutdownNow();

        for (int call = 0; call < 2; call++) {
            Status status =
                    failure(health().withDeadlineAfter(Duration.ofDays(1)).check(CheckRequest.getDefaultInstance()));
            assertEquals(Code.UNAVAILABLE, status.getCode());
            assertEquals("calls to guest are no longer made", status.getDescription());
        }
    }

    @Test
    void closingItFailsWhatIsUnderWay() throws Exception {
        Future<HealthCheckResponse> answer = check();
        peer.receive();

        channel.close();

        assertEquals(Code.UNAVAILABLE, failure(answer).getCode());
        assertTrue(peer.isClosed());
    }

    @Test
    void aDeadlineIsOnlyToldToTheServerWhereThatIsWanted() throws Exception {
        Future<HealthCheckResponse> untold =
                health().withDeadlineAfter(1, TimeUnit.HOURS).check(CheckRequest.getDefaultInstance());
        Future<HealthCheckResponse> told = health().withDeadlineAfter(1, TimeUnit.HOURS)
                .withOption(TtrpcChannel.TELL_DEADLINE, true)
                .check(CheckRequest.getDefaultInstance());

        assertEquals(0, peer.request().getTimeoutNano());
        long timeout = peer.request().getTimeoutNano();
        assertTrue(timeout > 0 && timeout <= TimeUnit.HOURS.toNanos(1), () -> timeout + " ns");
        peer.answer(1, SERVING);
        peer.answer(3, SERVING);
        assertEquals(ServingStatus.SERVING, untold.get().getStatus());
        assertEquals(ServingStatus.SERVING, told.get().getStatus());
    }

    @Test
    void aDeadlineEndsACallAndALateAnswerIsIgnored() throws Exception {
        Future<HealthCheckResponse> silent =
                health().withDeadlineAfter(1, TimeUnit.SECONDS).check(CheckRequest.getDefaultInstance());

        Status status = failure(silent);

        assertEquals(Code.DEADLINE_EXCEEDED, status.getCode());
        assertEquals("Check was not answered in time", status.getDescription());
        peer.answer(1, SERVING);
        assertTrue(channel.isOpen());
    }

    @Test
    void theDeadlineOfTheCallersContextCountsToo() throws Exception {
        Future<HealthCheckResponse> answer = Context.current()
                .withDeadlineAfter(100, TimeUnit.MILLISECONDS, timer)
                .call(this::check);

        assertEquals(Code.DEADLINE_EXCEEDED, failure(answer).getCode());
    }

    @Test
    void aCallWhoseTimeIsOverIsNotSent() throws Exception {
        Future<HealthCheckResponse> late =
                health().withDeadlineAfter(-1, TimeUnit.SECONDS).check(CheckRequest.getDefaultInstance());
        assertEquals(Code.DEADLINE_EXCEEDED, failure(late).getCode());

        Future<HealthCheckResponse> next = check();
        assertEquals("Check", peer.request().getMethod());
        peer.answer(1, SERVING);
        assertEquals(ServingStatus.SERVING, next.get().getStatus());
    }

    @Test
    void whoeverIsInterruptedStopsWaiting() throws Exception {
        CompletableFuture<Status> result = new CompletableFuture<>();
        Thread caller = Thread.ofPlatform().start(() -> {
            try {
                HealthGrpc.newBlockingStub(channel).check(CheckRequest.getDefaultInstance());
            } catch (StatusRuntimeException e) {
                result.complete(e.getStatus());
            }
        });
        peer.receive();

        caller.interrupt();

        Status status = result.get();
        assertEquals(Code.CANCELLED, status.getCode());
        assertInstanceOf(InterruptedException.class, status.getCause());
    }

    @Test
    void aCallerThatIsInterruptedAlreadyHarmsNobodyElse() throws Exception {
        Future<HealthCheckResponse> other = check();
        CompletableFuture<Status> result = new CompletableFuture<>();
        Thread.ofPlatform().start(() -> {
            Thread.currentThread().interrupt();
            try {
                HealthGrpc.newBlockingStub(channel).check(CheckRequest.getDefaultInstance());
            } catch (StatusRuntimeException e) {
                result.complete(e.getStatus());
            }
        });

        assertEquals(Code.CANCELLED, result.get().getCode());
        peer.answer(1, SERVING);
        assertEquals(ServingStatus.SERVING, other.get().getStatus());
    }

    @Test
    void whenTheCallersContextIsCancelledSoIsTheCall() throws Exception {
        Context.CancellableContext context = Context.current().withCancellation();
        Future<HealthCheckResponse> answer = context.call(this::check);
        peer.receive();

        context.cancel(new IllegalStateException("enough"));

        assertEquals(Code.CANCELLED, failure(answer).getCode());
    }

    @Test
    void whatAServerDoesNotReadHoldsUpNoCaller() throws Exception {
        // Far more than a socket takes, one by one after the other given up.
        CopyFileRequest chunk = CopyFileRequest.newBuilder()
                .setData(ByteString.copyFrom(new byte[1 << 20]))
                .build();
        for (int i = 0; i < 20; i++) {
            Future<?> copy = AgentServiceGrpc.newFutureStub(channel)
                    .withDeadlineAfter(20, TimeUnit.MILLISECONDS)
                    .copyFile(chunk);
            assertEquals(Code.DEADLINE_EXCEEDED, failure(copy).getCode());
        }

        Future<?> kill = AgentServiceGrpc.newFutureStub(channel)
                .signalProcess(SignalProcessRequest.newBuilder().setSignal(9).build());
        // What was given up before it was being sent is not sent any more.
        int copies = 0;
        Frame next = peer.receive();
        while (!Request.parseFrom(next.payload()).getMethod().equals("SignalProcess")) {
            copies++;
            next = peer.receive();
        }
        peer.answer(next.stream(), ByteString.EMPTY);
        kill.get();
        assertTrue(copies < 20, copies + " copies were sent");
    }

    @Test
    void aMessageThatIsTooLongIsNotSent() throws Exception {
        Future<?> copy = AgentServiceGrpc.newFutureStub(channel)
                .copyFile(CopyFileRequest.newBuilder()
                        .setData(ByteString.copyFrom(new byte[Frame.LONGEST]))
                        .build());

        Status status = failure(copy);
        assertEquals(Code.RESOURCE_EXHAUSTED, status.getCode());
        assertTrue(description(status).endsWith("of which 4194304 are allowed"), description(status));
        assertTrue(channel.isOpen());
    }

    @Test
    void afterTheLastStreamAnotherConnectionIsNeeded() throws Exception {
        tearDownConnection();
        connect(-3);
        Future<HealthCheckResponse> last = check();
        Future<HealthCheckResponse> reallyLast = check();
        assertEquals(0xfffffffd, peer.receive().stream());
        assertEquals(0xffffffff, peer.receive().stream());

        Status status = failure(check());

        assertEquals(Code.UNAVAILABLE, status.getCode());
        assertTrue(description(status).endsWith("connect again"), description(status));
        peer.answer(0xfffffffd, SERVING);
        peer.answer(0xffffffff, SERVING);
        assertEquals(ServingStatus.SERVING, last.get().getStatus());
        assertEquals(ServingStatus.SERVING, reallyLast.get().getStatus());
    }

    private void tearDownConnection() throws IOException {
        channel.close();
        peer.close();
    }

    @Test
    void metadataGoWithTheCallAndBinaryOnesDoNot() throws Exception {
        Metadata metadata = new Metadata();
        metadata.put(Metadata.Key.of("trace", Metadata.ASCII_STRING_MARSHALLER), "a");
        metadata.put(Metadata.Key.of("trace", Metadata.ASCII_STRING_MARSHALLER), "b");
        metadata.put(Metadata.Key.of("trace-bin", Metadata.BINARY_BYTE_MARSHALLER), new byte[] {1});

        Future<HealthCheckResponse> answer = health().withInterceptors(
                        MetadataUtils.newAttachHeadersInterceptor(metadata))
                .check(CheckRequest.getDefaultInstance());

        assertEquals(
                List.of(
                        KeyValue.newBuilder().setKey("trace").setValue("a").build(),
                        KeyValue.newBuilder().setKey("trace").setValue("b").build()),
                peer.request().getMetadataList());
        peer.answer(1, SERVING);
        assertEquals(ServingStatus.SERVING, answer.get().getStatus());
    }

    /** What a stream of answers was, in the order in which it came. */
    private static final class Answers implements ClientResponseObserver<StringValue, StringValue> {
        final List<String> words = Collections.synchronizedList(new ArrayList<>());
        final CompletableFuture<Status> end = new CompletableFuture<>();
        final CompletableFuture<ClientCallStreamObserver<StringValue>> call = new CompletableFuture<>();
        private final boolean askedFor;

        Answers(boolean askedFor) {
            this.askedFor = askedFor;
        }

        @Override
        public void beforeStart(ClientCallStreamObserver<StringValue> stream) {
            if (askedFor) {
                stream.disableAutoRequestWithInitial(0);
            }
            call.complete(stream);
        }

        @Override
        public void onNext(StringValue value) {
            words.add(value.getValue());
        }

        @Override
        public void onError(Throwable problem) {
            end.complete(Status.fromThrowable(problem));
        }

        @Override
        public void onCompleted() {
            end.complete(Status.OK);
        }
    }

    private Answers split(boolean askedFor) {
        Answers result = new Answers(askedFor);
        ClientCall<StringValue, StringValue> call = channel.newCall(Methods.SPLIT, CallOptions.DEFAULT);
        ClientCalls.asyncServerStreamingCall(call, StringValue.of("a b"), result);
        return result;
    }

    private static ByteString word(String word) {
        return StringValue.of(word).toByteString();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            with its last message  | 00000003 00000001 03 01 0a0162 | a b | OK
            without a message      | 00000000 00000001 03 05        | a   | OK
            an empty message       | 00000000 00000001 03 01        | a,  | OK
            with an answer         | 00000002 00000001 02 00 0a00   | a   | OK
            with a refusal         | 00000004 00000001 02 00 0a02080d | a | INTERNAL
            """)
    void aStreamOfAnswersEnds(String how, String frame, String words, Code code) throws Exception {
        Answers answers = split(false);
        Frame request = peer.receive();
        assertEquals(Frame.REMOTE_CLOSED, request.flags());
        peer.send(Frame.data(1, word("a")));
        Awaitility.await().until(() -> answers.words.size() == 1);

        peer.send(frame);

        assertEquals(code, answers.end.get().getCode(), how);
        assertEquals(how.equals("an empty message") ? List.of("a", "") : List.of(words.split(" ")), answers.words);
    }

    @Test
    void answersThatAreNotAskedForWaitAndHoldUpNobody() throws Exception {
        Answers slow = split(true);
        peer.receive();
        for (int i = 0; i < 1000; i++) {
            peer.send(Frame.data(1, word("w" + i)));
        }
        peer.send(Frame.endOfData(1));
        Future<HealthCheckResponse> other = check();
        peer.answer(peer.receive().stream(), SERVING);
        assertEquals(ServingStatus.SERVING, other.get().getStatus());
        assertEquals(List.of(), slow.words);

        slow.call.get().request(1);
        Awaitility.await().until(() -> slow.words.equals(List.of("w0")));
        slow.call.get().request(2000);

        assertEquals(Code.OK, slow.end.get().getCode());
        assertEquals(1000, slow.words.size());
    }

    @Test
    void answersThatAreNeverAskedForHaveAnEnd() throws Exception {
        Answers slow = split(true);
        peer.receive();
        ByteString quarter = StringValue.of("x".repeat(256 << 10)).toByteString();

        for (int i = 0; i < 33; i++) {
            peer.send(Frame.data(1, quarter));
        }

        assertEquals(Code.RESOURCE_EXHAUSTED, slow.end.get().getCode());
        assertTrue(channel.isOpen());
    }

    @Test
    void whatIsSentInAStreamComesInOrderAndItsEndIsSaid() throws Exception {
        Answers answers = new Answers(false);
        var questions =
                ClientCalls.asyncClientStreamingCall(channel.newCall(Methods.JOIN, CallOptions.DEFAULT), answers);
        Frame request = peer.receive();
        assertEquals(Frame.REMOTE_OPEN, request.flags());
        assertEquals("Join", Request.parseFrom(request.payload()).getMethod());

        questions.onNext(StringValue.of("a"));
        questions.onNext(StringValue.of("b"));
        questions.onCompleted();

        assertEquals(Frame.data(1, word("a")), peer.receive());
        assertEquals(Frame.data(1, word("b")), peer.receive());
        assertEquals(Frame.endOfData(1), peer.receive());
        peer.answer(1, word("ab"));
        assertEquals(Code.OK, answers.end.get().getCode());
        assertEquals(List.of("ab"), answers.words);
    }

    @Test
    void whoeverSendsMoreThanIsReadIsToldToWaitAndThenToGoOn() throws Exception {
        Answers answers = new Answers(false);
        var questions = (ClientCallStreamObserver<StringValue>)
                ClientCalls.asyncBidiStreamingCall(channel.newCall(Methods.TALK, CallOptions.DEFAULT), answers);
        StringValue much = StringValue.of("x".repeat(100_000));
        int sent = 0;
        while (questions.isReady()) {
            questions.onNext(much);
            sent++;
            assertTrue(sent < 1000, "it never becomes too much");
        }

        peer.receive();
        for (int i = 0; i < sent; i++) {
            assertEquals(much.toByteString(), peer.receive().payload());
        }

        Awaitility.await().atMost(Duration.ofSeconds(30)).until(questions::isReady);
        peer.send(Frame.endOfData(1));
        assertEquals(Code.OK, answers.end.get().getCode());
    }
}
