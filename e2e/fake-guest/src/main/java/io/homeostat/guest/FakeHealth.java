package io.homeostat.guest;

import io.grpc.stub.StreamObserver;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.HealthCheckResponse.ServingStatus;
import io.homeostat.proto.kata.HealthGrpc.HealthImplBase;
import io.homeostat.proto.kata.VersionCheckResponse;

/** Answers whatever happens to the rest: that an agent serves tells little. */
final class FakeHealth extends HealthImplBase {
    @Override
    public void check(CheckRequest request, StreamObserver<HealthCheckResponse> answers) {
        answers.onNext(HealthCheckResponse.newBuilder()
                .setStatus(ServingStatus.SERVING)
                .build());
        answers.onCompleted();
    }

    @Override
    public void version(CheckRequest request, StreamObserver<VersionCheckResponse> answers) {
        answers.onNext(VersionCheckResponse.newBuilder()
                .setGrpcVersion("0.0.1")
                .setAgentVersion("4.1.0")
                .build());
        answers.onCompleted();
    }
}
