package io.homeostat.e2e;

import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.function.BooleanSupplier;

/**
 * grpc.health.v1.Health/Check, written down in bytes: a request is field 1, the service's name; an answer is field 1, the status
 * (https://github.com/grpc/grpc/blob/master/doc/health-checking.md).
 */
final class GrpcHealthServer {
    private static final byte FIELD_1_VARINT = 0x08;
    private static final byte SERVING = 1;
    private static final byte NOT_SERVING = 2;
    private static final int HEADER = 2;

    private final String service;
    private final BooleanSupplier serving;

    private GrpcHealthServer(String service, BooleanSupplier serving) {
        this.service = service;
        this.serving = serving;
    }

    /** Serves on a port of the loopback interface for as long as this process lives. */
    static void on(int port, String service, BooleanSupplier serving) throws IOException {
        GrpcHealthServer health = new GrpcHealthServer(service, serving);
        MethodDescriptor<byte[], byte[]> check = MethodDescriptor.<byte[], byte[]>newBuilder()
                .setType(MethodDescriptor.MethodType.UNARY)
                .setFullMethodName("grpc.health.v1.Health/Check")
                .setRequestMarshaller(new Bytes())
                .setResponseMarshaller(new Bytes())
                .build();
        Server _ = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .addService(ServerServiceDefinition.builder("grpc.health.v1.Health")
                        .addMethod(check, ServerCalls.asyncUnaryCall(health::check))
                        .build())
                .build()
                .start();
    }

    private void check(byte[] request, StreamObserver<byte[]> response) {
        String asked = request.length < HEADER
                ? ""
                : new String(request, HEADER, request.length - HEADER, StandardCharsets.UTF_8);
        if (!asked.equals(service)) {
            response.onError(
                    Status.NOT_FOUND.withDescription("no service " + asked).asRuntimeException());
            return;
        }
        response.onNext(new byte[] {FIELD_1_VARINT, serving.getAsBoolean() ? SERVING : NOT_SERVING});
        response.onCompleted();
    }

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
