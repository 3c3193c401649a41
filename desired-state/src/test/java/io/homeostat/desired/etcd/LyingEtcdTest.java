package io.homeostat.desired.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.model.AgentConfig;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What answers as no etcd does is not asked again at once, nor believed. */
class LyingEtcdTest {
    private static final String PREFIX = "/homeostat/rollouts/";

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

    private static KeyValue key(String name) {
        return KeyValue.newBuilder().setKey(ByteString.copyFromUtf8(name)).build();
    }

    private static void assertInvalid(Executable ask) {
        KeyValuesException failure = assertThrows(KeyValuesException.class, ask);
        assertEquals(KeyValuesException.Kind.FAILED, failure.kind());
        assertTrue(String.valueOf(failure.getMessage()).contains("is that an etcd?"), failure.getMessage());
    }
}
