package io.homeostat.sample.driver;

import io.grpc.stub.StreamObserver;
import io.homeostat.proto.goplugin.ConnInfo;
import io.homeostat.proto.goplugin.GRPCBrokerGrpc.GRPCBrokerImplBase;

/** Takes what the host says of further connections and asks for none. */
final class BrokerService extends GRPCBrokerImplBase {

    @Override
    public StreamObserver<ConnInfo> startStream(StreamObserver<ConnInfo> response) {
        return new StreamObserver<>() {
            @Override
            public void onNext(ConnInfo info) {}

            @Override
            public void onError(Throwable error) {}

            @Override
            public void onCompleted() {
                response.onCompleted();
            }
        };
    }
}
