package io.homeostat.reconcile.agent.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ClientCalls;
import io.homeostat.proto.agent.AgentGrpc;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.ExecRequest;
import io.homeostat.proto.agent.Input;
import io.homeostat.proto.agent.Output;
import io.homeostat.proto.agent.TerminalSize;
import io.homeostat.reconcile.agent.api.ApiException.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls of the API in which something is typed, over real sockets. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ApiTalkTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int MUCH = 16 << 20;
    private static final int PIECE = 32 * 1024;
    private static final CommandRequest EXEC = CommandRequest.newBuilder()
            .setExec(ExecRequest.getDefaultInstance())
            .build();

    @TempDir
    Path directory;

    private Path socket;

    @BeforeEach
    void chooseSocket() {
        socket = directory.resolve("agent.sock");
    }

    private interface Answer {
        int give(ApiInput input, ApiOutput output) throws IOException, InterruptedException;
    }

    private record Talking(Answer answer) implements ApiServer.Handler {
        @Override
        public int run(CommandRequest request, ApiOutput output) throws InterruptedException {
            return run(request, ApiInput.none(), output);
        }

        @Override
        public int run(CommandRequest request, ApiInput input, ApiOutput output) throws InterruptedException {
            try {
                return answer.give(input, output);
            } catch (IOException e) {
                return 1;
            }
        }
    }

    private static Input typed(ByteString bytes) {
        return Input.newBuilder().setStandardInput(bytes).build();
    }

    private static final Input END = Input.newBuilder().setEnd(true).build();

    @Test
    void megabytesGoBothWaysUnchanged() throws Exception {
        byte[] bytes = new byte[MUCH];
        new Random(1).nextBytes(bytes);
        ByteString sent = ByteString.copyFrom(bytes);
        Talking cat = new Talking((input, output) -> {
            try (OutputStream out = output.standardOutput()) {
                input.standardInput().transferTo(out);
            }
            return 3;
        });
        try (ApiServer _ = ApiServer.start(socket, cat);
                ApiClient client = new ApiClient(socket, PATIENCE);
                ApiClient.Talk talk = client.talk(EXEC)) {
            CompletableFuture<Boolean> written = new CompletableFuture<>();
            Thread _ = Thread.ofVirtual().start(() -> {
                try {
                    for (int from = 0; from < MUCH; from += PIECE) {
                        talk.write(typed(sent.substring(from, from + PIECE)));
                    }
                    written.complete(talk.write(END));
                } catch (InterruptedException | RuntimeException e) {
                    written.completeExceptionally(e);
                }
            });

            ByteString.Output received = ByteString.newOutput();
            Output piece = talk.next();
            while (piece.hasStandardOutput()) {
                piece.getStandardOutput().writeTo(received);
                piece = talk.next();
            }

            assertEquals(3, piece.getExitStatus());
            assertEquals(sent, received.toByteString());
            assertTrue(written.get());
        }
    }

    @Test
    void whoTypesMoreThanIsReadIsMadeToWait() throws Exception {
        AtomicLong written = new AtomicLong();
        CountDownLatch end = new CountDownLatch(1);
        Talking deaf = new Talking((input, output) -> {
            end.await();
            return 0;
        });
        try (ApiServer _ = ApiServer.start(socket, deaf);
                ApiClient client = new ApiClient(socket, PATIENCE);
                ApiClient.Talk talk = client.talk(EXEC)) {
            ByteString piece = ByteString.copyFrom(new byte[PIECE]);
            Thread writer = Thread.ofVirtual().start(() -> {
                try {
                    while (written.get() < MUCH && talk.write(typed(piece))) {
                        written.addAndGet(PIECE);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            Awaitility.await().until(() -> written.get() > 0);
            Awaitility.await().during(Duration.ofMillis(300)).until(() -> written.get() < MUCH / 2);

            end.countDown();
            assertEquals(0, talk.next().getExitStatus());
            assertTrue(writer.join(PATIENCE), "nobody waits for a command that has ended");
            assertTrue(written.get() < MUCH);
        }
    }

    @Test
    void sizesAreToldWheneverTheyChange() throws Exception {
        List<String> sizes = new CopyOnWriteArrayList<>();
        Talking watching = new Talking((input, output) -> {
            Runnable look = () -> {
                // The transport looks, too: whoever has seen the former size must not note it last.
                synchronized (sizes) {
                    input.size().ifPresent(size -> sizes.add(size.getRows() + "x" + size.getColumns()));
                }
            };
            input.onResize(look);
            look.run();
            return input.standardInput().read();
        });
        try (ApiServer _ = ApiServer.start(socket, watching);
                ApiClient client = new ApiClient(socket, PATIENCE);
                ApiClient.Talk talk = client.talk(EXEC)) {
            talk.write(size(40, 120));
            talk.write(size(50, 100));
            talk.write(typed(ByteString.copyFrom("a", UTF_8)));

            assertEquals('a', talk.next().getExitStatus());
            assertEquals("50x100", sizes.getLast());
        }
    }

    private static Input size(int rows, int columns) {
        return Input.newBuilder()
                .setSize(TerminalSize.newBuilder().setRows(rows).setColumns(columns))
                .build();
    }

    @Test
    void whereNothingIsTypedThereIsNothingToRead() throws Exception {
        Talking reading = new Talking((input, output) -> -input.standardInput().read());
        try (ApiServer _ = ApiServer.start(socket, reading)) {
            assertEquals("1 ", Reading.ask(socket));
        }
    }

    @Test
    void whatBeginsOtherwiseIsRefused() throws Exception {
        try (ApiServer _ = ApiServer.start(socket, new Talking((input, output) -> 0));
                LocalTransport transport = new LocalTransport()) {
            ManagedChannel channel = transport.channel(socket);
            BlockingClientCall<Input, Output> call =
                    ClientCalls.blockingBidiStreamingCall(channel, AgentGrpc.getTalkMethod(), CallOptions.DEFAULT);
            call.write(END);

            StatusException refused = assertThrows(StatusException.class, call::read);
            assertEquals(Status.Code.INVALID_ARGUMENT, refused.getStatus().getCode());
            channel.shutdownNow();
        }
    }

    @Test
    void whoGoesAwayEndsTheCommandAndWhatItReads() throws Exception {
        CompletableFuture<IOException> read = new CompletableFuture<>();
        CountDownLatch interrupted = new CountDownLatch(1);
        Talking waiting = new Talking((input, output) -> {
            InputStream in = input.standardInput();
            Thread _ = Thread.ofVirtual().start(() -> {
                try {
                    read.completeExceptionally(new AssertionError("read " + in.read()));
                } catch (IOException e) {
                    read.complete(e);
                }
            });
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                interrupted.countDown();
                throw e;
            }
            return 0;
        });
        try (ApiServer _ = ApiServer.start(socket, waiting);
                ApiClient client = new ApiClient(socket, PATIENCE)) {
            client.talk(EXEC).close();

            assertTrue(interrupted.await(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            assertTrue(String.valueOf(read.get().getMessage()).contains("gone away"));
        }
    }

    @Test
    void anAgentThatEndsInTheMiddleIsLost() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        ApiServer server = ApiServer.start(socket, new Talking((input, output) -> {
            begun.countDown();
            new CountDownLatch(1).await();
            return 0;
        }));
        try (ApiClient client = new ApiClient(socket, PATIENCE);
                ApiClient.Talk talk = client.talk(EXEC)) {
            begun.await();
            server.close();

            ApiException lost = assertThrows(ApiException.class, talk::next);
            assertEquals(Kind.LOST, lost.kind());
        }
    }

    @Test
    void oneThatDoesNotAnswerIsNotWaitedForForEver() throws Exception {
        try (ApiClient client = new ApiClient(socket, PATIENCE)) {
            ApiException none = assertThrows(ApiException.class, () -> client.talk(EXEC));
            assertEquals(Kind.UNANSWERED, none.kind());
        }
    }
}
