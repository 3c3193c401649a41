package io.homeostat.reconcile.agent.guest;

import io.grpc.stub.StreamObserver;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.HealthCheckResponse.ServingStatus;
import io.homeostat.proto.kata.HealthGrpc.HealthImplBase;
import io.homeostat.proto.kata.VersionCheckResponse;

/** Says that this agent serves. Nothing that it does holds another call up, so that there is no more to it. */
final class GuestHealthService extends HealthImplBase {
    /** Of the protocol, as Kata's agent says it. */
    private static final String PROTOCOL = "0.0.1";

    private final String version;

    GuestHealthService(String version) {
        this.version = version;
    }

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
                .setGrpcVersion(PROTOCOL)
                .setAgentVersion(version)
                .build());
        answers.onCompleted();
    }
}
