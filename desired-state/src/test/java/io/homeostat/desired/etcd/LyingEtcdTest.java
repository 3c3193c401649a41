package io.homeostat.desired.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.etcd.jetcd.api.AuthenticateResponse;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.model.AgentConfig;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** What answers as no etcd does is not asked again at once, nor believed. */
class LyingEtcdTest {
    private static final String PREFIX = "/homeostat/rollouts/";

    @TempDir
    private Path directory;

    private final AtomicInteger asked = new AtomicInteger();
    private UnaryOperator<RangeResponse.Builder> answer = response -> response;
    private Server server;
    private KeyValues etcd;

    @BeforeEach
    void start() throws Exception {
        server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .addService(new Liar())
                .build()
                .start();
        etcd = new EtcdKeyValues(new AgentConfig.Etcd(
                ImmutableList.of("http://127.0.0.1:" + server.getPort()), "/homeostat", null, null));
    }

    @AfterEach
    void end() {
        etcd.close();
        server.shutdownNow();
    }

    private final class Liar extends KVGrpc.KVImplBase {
        @Override
        public void range(RangeRequest request, StreamObserver<RangeResponse> response) {
            asked.incrementAndGet();
            response.onNext(answer.apply(RangeResponse.newBuilder()).build());
            response.onCompleted();
        }

        @Override
        public void txn(TxnRequest request, StreamObserver<TxnResponse> response) {
            response.onNext(TxnResponse.getDefaultInstance());
            response.onCompleted();
        }
    }

    @Test
    void aPageThatIsNotFullIsTheLastOne() {
        answer = response -> response.addKvs(key(PREFIX + "a")).setMore(true);
        assertInvalid(() -> etcd.list(PREFIX));
        assertEquals(1, asked.get());
    }

    @Test
    void pagesGoOnWhereTheLastOneEnded() {
        answer = response -> response.addAllKvs(IntStream.range(0, 250)
                        .mapToObj(i -> key("%s%03d".formatted(PREFIX, i)))
                        .toList())
                .setMore(true);
        assertInvalid(() -> etcd.list(PREFIX));
        assertEquals(2, asked.get());
    }

    @Test
    void onlyWhatWasAskedForIsAnswered() {
        answer = response -> response.addKvs(key("/homeostat/set"));
        assertInvalid(() -> etcd.list(PREFIX));
        assertInvalid(() -> etcd.get(PREFIX + "a"));
    }

    @Test
    void withoutAConditionNoneIsMissed() {
        assertInvalid(() -> etcd.commit(
                ImmutableList.of(),
                ImmutableList.of(new KeyValues.Write.Put("a", ByteString.EMPTY, KeyValues.NO_LEASE))));
    }

    @Test
    void whatIsQuotedOfARequestGivesNothingAway() throws Exception {
        Path password = Files.writeString(directory.resolve("password"), "sesame\n");
        Server quoting = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .addService(ServerInterceptors.intercept(new Liar(), new Quoting()))
                .addService(new Authenticator())
                .build()
                .start();
        try (KeyValues asked = new EtcdKeyValues(new AgentConfig.Etcd(
                ImmutableList.of("http://127.0.0.1:" + quoting.getPort()),
                "/homeostat",
                new AgentConfig.Login("root", password.toString()),
                null))) {
            KeyValuesException failure = assertThrows(KeyValuesException.class, () -> asked.get("a"));

            String message = String.valueOf(failure.getMessage());
            assertEquals(KeyValuesException.Kind.DENIED, failure.kind(), message);
            assertTrue(message.contains(": you sent (masked), with (masked) x"), message);
            assertTrue(message.length() < 600, message);
        } finally {
            quoting.shutdownNow();
        }
    }

    /** Takes any password. */
    private static final class Authenticator extends AuthGrpc.AuthImplBase {
        @Override
        public void authenticate(AuthenticateRequest request, StreamObserver<AuthenticateResponse> response) {
            response.onNext(
                    AuthenticateResponse.newBuilder().setToken("t0ken.17").build());
            response.onCompleted();
        }
    }

    /** Answers every call with what it knows of the caller. */
    private static final class Quoting implements ServerInterceptor {
        @Override
        public <Q, A> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            String token = headers.get(Metadata.Key.of("token", Metadata.ASCII_STRING_MARSHALLER));
            call.close(
                    Status.PERMISSION_DENIED.withDescription(
                            "you sent " + token + ",\nwith sesame " + "x".repeat(5000)),
                    new Metadata());
            return new ServerCall.Listener<>() {};
        }
    }

    private static KeyValue key(String name) {
        return KeyValue.newBuilder().setKey(ByteString.copyFromUtf8(name)).build();
    }

    private static void assertInvalid(Executable ask) {
        KeyValuesException failure = assertThrows(KeyValuesException.class, ask);
        assertEquals(KeyValuesException.Kind.FAILED, failure.kind());
        assertTrue(String.valueOf(failure.getMessage()).contains("is that an etcd?"), failure.getMessage());
    }
}
