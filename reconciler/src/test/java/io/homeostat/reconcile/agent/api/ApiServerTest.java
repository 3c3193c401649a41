package io.homeostat.reconcile.agent.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.agent.AgentGrpc;
import io.homeostat.proto.agent.AppliedDocuments;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.DocumentFile;
import io.homeostat.proto.agent.LogsRequest;
import io.homeostat.proto.agent.Output;
import io.homeostat.proto.agent.PlanRequest;
import io.homeostat.proto.agent.Presentation;
import io.homeostat.reconcile.agent.api.ApiException.Kind;
import java.io.IOException;
import java.io.OutputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Calls of the API over real sockets: how they end, and who waits for whom. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ApiServerTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int MANY = 64 << 20;

    @TempDir
    Path directory;

    private Path socket;

    @BeforeEach
    void chooseSocket() {
        socket = directory.resolve("agent.sock");
    }

    @Test
    void whatACommandWritesArrivesInOrderWithItsExitStatus() throws InterruptedException {
        Answers answers = new Answers(output -> {
            output.standardOutput().write("a".getBytes(UTF_8));
            output.standardError().write("b".getBytes(UTF_8));
            output.standardOutput().write('c');
            return 2;
        });
        try (ApiServer _ = ApiServer.start(socket, answers)) {
            assertEquals("2 out:aerr:bout:c", Reading.ask(socket));
        }
    }

    @Test
    void aSlowReaderIsWaitedForAndDelaysNobodyElse() throws InterruptedException {
        AtomicLong written = new AtomicLong();
        AtomicLong calls = new AtomicLong();
        Answers answers = new Answers(output -> {
            if (calls.incrementAndGet() > 1) {
                return 0;
            }
            OutputStream out = output.standardOutput();
            byte[] piece = new byte[1 << 16];
            while (written.get() < MANY) {
                out.write(piece);
                written.addAndGet(piece.length);
            }
            return 0;
        });
        CountDownLatch first = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        AtomicLong read = new AtomicLong();
        try (ApiServer _ = ApiServer.start(socket, answers);
                ApiClient slow = new ApiClient(socket, PATIENCE)) {
            AtomicReference<Integer> status = new AtomicReference<>();
            Thread reader = Thread.ofVirtual()
                    .start(() -> status.set(askQuietly(slow, new ApiClient.Reader() {
                        @Override
                        public void standardOutput(ByteString bytes) {
                            read.addAndGet(bytes.size());
                            first.countDown();
                            awaitQuietly(goOn);
                        }

                        @Override
                        public void standardError(ByteString bytes) {}

                        @Override
                        public boolean readsOn() {
                            return true;
                        }
                    })));
            assertTrue(first.await(20, TimeUnit.SECONDS));
            for (int i = 0; i < 20; i++) {
                assertEquals("0 ", Reading.ask(socket));
            }
            assertTrue(written.get() < MANY / 8, written + " bytes were written for somebody who has read one piece");
            goOn.countDown();
            reader.join();
            assertEquals(0, status.get());
            assertEquals(MANY, read.get());
        }
    }

    @Test
    void whoWorksForManyNeverWaitsForAReader() throws InterruptedException {
        CountDownLatch lost = new CountDownLatch(1);
        AtomicLong written = new AtomicLong();
        CountDownLatch goOn = new CountDownLatch(1);
        Answers answers = new Answers(output -> {
            Thread.ofPlatform().start(() -> {
                try {
                    byte[] piece = new byte[1 << 16];
                    while (written.get() < MANY) {
                        output.standardOutput().write(piece);
                        written.addAndGet(piece.length);
                    }
                } catch (IOException e) {
                    lost.countDown();
                }
            });
            new CountDownLatch(1).await();
            return 0;
        });
        try (ApiServer _ = ApiServer.start(socket, answers);
                ApiClient client = new ApiClient(socket, PATIENCE)) {
            AtomicReference<ApiException> failure = new AtomicReference<>();
            Thread reader = Thread.ofVirtual()
                    .start(() -> failure.set(assertThrows(
                            ApiException.class,
                            () -> Reading.ask(client, new ApiClient.Reader() {
                                @Override
                                public void standardOutput(ByteString bytes) {
                                    awaitQuietly(goOn);
                                }

                                @Override
                                public void standardError(ByteString bytes) {}

                                @Override
                                public boolean readsOn() {
                                    return true;
                                }
                            }))));
            assertTrue(lost.await(20, TimeUnit.SECONDS), "the worker waits");
            assertTrue(written.get() < 2L * ApiOutput.KEPT + (4 << 20), written + " bytes were kept");
            goOn.countDown();
            reader.join();
            assertEquals(Kind.REFUSED, failure.get().kind());
            assertTrue(
                    failure.get().getMessage().contains("not read"),
                    failure.get().getMessage());
        }
    }

    @Test
    void aCallerWhoGoesAwayEndsItsCommand() throws InterruptedException {
        CountDownLatch interrupted = new CountDownLatch(1);
        CountDownLatch begun = new CountDownLatch(1);
        try (ApiServer _ = ApiServer.start(socket, endless(begun, interrupted))) {
            Thread caller = Thread.ofPlatform().start(() -> {
                try (ApiClient client = new ApiClient(socket, PATIENCE)) {
                    assertThrows(InterruptedException.class, () -> Reading.ask(client, new Reading()));
                }
            });
            assertTrue(begun.await(20, TimeUnit.SECONDS));
            caller.interrupt();
            assertTrue(interrupted.await(20, TimeUnit.SECONDS), "the command goes on for nobody");
            caller.join();
        }
    }

    @Test
    void aServerThatClosesEndsWhatItAnswersAndSaysSo() throws InterruptedException {
        CountDownLatch interrupted = new CountDownLatch(1);
        CountDownLatch begun = new CountDownLatch(1);
        AtomicReference<ApiException> failure = new AtomicReference<>();
        ApiServer server = ApiServer.start(socket, endless(begun, interrupted));
        Thread caller = Thread.ofPlatform().start(() -> {
            try (ApiClient client = new ApiClient(socket, PATIENCE)) {
                failure.set(assertThrows(ApiException.class, () -> Reading.ask(client, new Reading())));
            }
        });
        assertTrue(begun.await(20, TimeUnit.SECONDS));
        server.close();
        caller.join();
        assertTrue(interrupted.await(20, TimeUnit.SECONDS));
        assertEquals(Kind.LOST, failure.get().kind());
        assertTrue(
                failure.get().getMessage().contains("the agent is ending"),
                failure.get().getMessage());
        assertFalse(Files.exists(socket));
    }

    @Test
    void aDefectOfTheAgentIsNoSecretOfItsOwn() throws InterruptedException {
        Answers answers = new Answers(output -> {
            throw new IllegalStateException("password");
        });
        try (ApiServer _ = ApiServer.start(socket, answers)) {
            ApiException e = assertThrows(ApiException.class, () -> Reading.ask(socket));
            assertEquals("a defect of the agent; its log says where it happened", e.getMessage());
        }
    }

    @Test
    void aCommandThatTheAgentDoesNotKnowIsTold() {
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0));
                ApiClient client = new ApiClient(socket, PATIENCE)) {
            ApiException e = assertThrows(
                    ApiException.class, () -> client.run(CommandRequest.getDefaultInstance(), new Reading()));
            assertEquals(Kind.UNKNOWN_CALL, e.kind());
        }
    }

    @Test
    void aFieldThatTheAgentDoesNotKnowIsRefusedAndNoHintOnPresentationIs() throws InterruptedException {
        UnknownFieldSet unknown = UnknownFieldSet.newBuilder()
                .addField(99, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
                .build();
        CommandRequest hinted = Reading.REQUEST.toBuilder()
                .setPresentation(Presentation.newBuilder().setUnknownFields(unknown))
                .build();
        CommandRequest asked = CommandRequest.newBuilder()
                .setPlan(PlanRequest.newBuilder()
                        .setDocuments(AppliedDocuments.newBuilder()
                                .addFiles(DocumentFile.newBuilder().setUnknownFields(unknown))))
                .build();
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0));
                ApiClient client = new ApiClient(socket, PATIENCE)) {
            assertEquals(0, client.run(hinted, new Reading()));
            ApiException e = assertThrows(ApiException.class, () -> client.run(asked, new Reading()));
            assertEquals(Kind.REFUSED, e.kind());
            assertTrue(e.getMessage().contains("field 99 of DocumentFile"), e.getMessage());
        }
    }

    @Test
    void anAgentThatIgnoresWhatItDoesNotKnowIsAskedForNothingThatItMayIgnore() throws Exception {
        AgentGrpc.AgentImplBase former = new AgentGrpc.AgentImplBase() {
            @Override
            public void run(CommandRequest request, StreamObserver<Output> answer) {
                answer.onNext(Output.getDefaultInstance());
                answer.onNext(Output.newBuilder().setExitStatus(0).build());
                answer.onCompleted();
            }
        };
        LocalTransport transport = new LocalTransport();
        Server server = transport
                .server(socket, new LocalTransport.PeerGuard(user -> true, 10), former)
                .start();
        try (ApiClient client = new ApiClient(socket, PATIENCE)) {
            CommandRequest plain = CommandRequest.newBuilder()
                    .setLogs(LogsRequest.newBuilder().setWorkload("process/a"))
                    .build();
            CommandRequest chosen = CommandRequest.newBuilder()
                    .setLogs(LogsRequest.newBuilder().setWorkload("process/a").setTail(0))
                    .build();
            assertEquals(0, client.run(plain, new Reading()));
            ApiException e = assertThrows(ApiException.class, () -> client.run(chosen, new Reading()));
            assertEquals(Kind.REFUSED, e.kind());
            assertTrue(e.getMessage().contains("may ignore --tail; restart the agent"), e.getMessage());
        } finally {
            server.shutdownNow();
            transport.close();
        }
    }

    /** Whichever of the two a server sends that does not wait any longer for what it still answers. */
    @ParameterizedTest
    @EnumSource(
            value = Status.Code.class,
            names = {"CANCELLED", "UNAVAILABLE"})
    void anAgentThatEndsInTheMiddleOfAnAnswerIsLost(Status.Code code) throws Exception {
        AgentGrpc.AgentImplBase ending = new AgentGrpc.AgentImplBase() {
            @Override
            public void run(CommandRequest request, StreamObserver<Output> answer) {
                answer.onNext(Output.getDefaultInstance());
                answer.onError(code.toStatus().asException());
            }
        };
        LocalTransport transport = new LocalTransport();
        Server server = transport
                .server(socket, new LocalTransport.PeerGuard(user -> true, 10), ending)
                .start();
        try (ApiClient client = new ApiClient(socket, PATIENCE)) {
            ApiException e = assertThrows(ApiException.class, () -> client.run(Reading.REQUEST, new Reading()));
            assertEquals(Kind.LOST, e.kind());
        } finally {
            server.shutdownNow();
            transport.close();
        }
    }

    @Test
    void aCallThatTheAgentDoesNotKnowIsTold() {
        MethodDescriptor<CommandRequest, Output> dance = AgentGrpc.getRunMethod().toBuilder()
                .setFullMethodName("homeostat.v1.Agent/Dance")
                .build();
        LocalTransport transport = new LocalTransport();
        ManagedChannel channel = transport.channel(socket);
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0))) {
            StatusRuntimeException e = assertThrows(
                    StatusRuntimeException.class,
                    () -> ClientCalls.blockingServerStreamingCall(channel, dance, CallOptions.DEFAULT, Reading.REQUEST)
                            .next());
            assertEquals(Status.Code.UNIMPLEMENTED, e.getStatus().getCode());
        } finally {
            channel.shutdownNow();
            transport.close();
        }
    }

    @Test
    void aRequestThatIsTooLargeIsRefusedAndTheNextOneAnswered() throws InterruptedException {
        CommandRequest large = CommandRequest.newBuilder()
                .setPlan(PlanRequest.newBuilder()
                        .setDocuments(AppliedDocuments.newBuilder()
                                .addFiles(
                                        DocumentFile.newBuilder().setText("x".repeat(LocalTransport.LARGEST_REQUEST)))))
                .build();
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0));
                ApiClient client = new ApiClient(socket, PATIENCE)) {
            ApiException e = assertThrows(ApiException.class, () -> client.run(large, new Reading()));
            assertEquals(Kind.REFUSED, e.kind(), e.getMessage());
            assertEquals(0, Reading.ask(client, new Reading()));
        }
    }

    @Test
    void anAgentThatTakesNoConnectionOrSaysNothingDoesNotAnswer() throws IOException {
        Duration moment = Duration.ofMillis(300);
        try (ServerSocketChannel deaf = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
                ApiClient client = new ApiClient(socket, moment)) {
            deaf.bind(UnixDomainSocketAddress.of(socket));
            ApiException e = assertThrows(ApiException.class, () -> Reading.ask(client, new Reading()));
            assertEquals(Kind.UNANSWERED, e.kind());
            assertTrue(e.getMessage().contains(socket.toString()), e.getMessage());
        }
        try (ApiClient client = new ApiClient(directory.resolve("none.sock"), moment)) {
            ApiException e = assertThrows(ApiException.class, () -> Reading.ask(client, new Reading()));
            assertEquals(Kind.UNANSWERED, e.kind());
        }
    }

    private static Answers endless(CountDownLatch begun, CountDownLatch interrupted) {
        return new Answers(output -> {
            begun.countDown();
            try {
                new CountDownLatch(1).await();
                return 0;
            } catch (InterruptedException e) {
                interrupted.countDown();
                throw e;
            }
        });
    }

    private static int askQuietly(ApiClient client, ApiClient.Reader reader) {
        try {
            return Reading.ask(client, reader);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
