package io.homeostat.sample.driver;

import io.grpc.stub.StreamObserver;
import io.homeostat.proto.goplugin.Empty;
import io.homeostat.proto.goplugin.GRPCControllerGrpc.GRPCControllerImplBase;

/** Ends this process when the host says so. The breaking connection is the answer, as with go-plugin itself. */
final class ControllerService extends GRPCControllerImplBase {
    private final Runnable end;

    ControllerService(Runnable end) {
        this.end = end;
    }

    @Override
    public void shutdown(Empty request, StreamObserver<Empty> response) {
        end.run();
    }
}
