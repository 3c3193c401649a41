package com.example.greeter;

import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.plugin.ApplyRequest;
import io.homeostat.proto.plugin.ApplyResponse;
import io.homeostat.proto.plugin.GetStatusRequest;
import io.homeostat.proto.plugin.GuestAgentPluginGrpc.GuestAgentPluginImplBase;
import io.homeostat.proto.plugin.StartRequest;
import io.homeostat.proto.plugin.StartResponse;
import io.homeostat.proto.plugin.StopRequest;
import io.homeostat.proto.plugin.StopResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** Greets with its configuration, and counts its launches in its state directory. Called by several threads at once. */
final class GreeterService extends GuestAgentPluginImplBase {
    private final CountDownLatch stopped = new CountDownLatch(1);
    private volatile int launches;

    void awaitStop() throws InterruptedException {
        stopped.await();
    }

    @Override
    public void start(StartRequest request, StreamObserver<StartResponse> response) {
        if (!greet(request.getStructConfig(), response)) {
            return;
        }
        try {
            launches = count(Path.of(request.getConfig().getStateDirectoryPath(), "launches"));
        } catch (IOException e) {
            response.onError(Status.INTERNAL.withDescription(e.toString()).asException());
            return;
        }
        response.onNext(StartResponse.getDefaultInstance());
        response.onCompleted();
    }

    @Override
    public void apply(ApplyRequest request, StreamObserver<ApplyResponse> response) {
        // What has a string is an event of the machine, such as its shutdown.
        if (request.hasStringConfig() || greet(request.getStructConfig(), response)) {
            response.onNext(ApplyResponse.getDefaultInstance());
            response.onCompleted();
        }
    }

    @Override
    public void getStatus(GetStatusRequest request, StreamObserver<io.homeostat.proto.plugin.Status> response) {
        // Code 0. One that can't do its work for now would say so with another code, or ask for a restart by an error.
        response.onNext(io.homeostat.proto.plugin.Status.newBuilder()
                .addResults("launch " + launches)
                .build());
        response.onCompleted();
    }

    @Override
    public void stop(StopRequest request, StreamObserver<StopResponse> response) {
        // With cleanup the plugin is removed: what it made outside of its state directory, which goes anyway, has to
        // go. This one made nothing there. All has to be done before the answer, as SIGTERM follows that at once.
        System.out.println("stopping" + (request.getCleanup() ? " for good" : ""));
        response.onNext(StopResponse.getDefaultInstance());
        response.onCompleted();
        stopped.countDown();
    }

    /** Begins with a configuration, or refuses it. */
    private static boolean greet(Struct config, StreamObserver<?> response) {
        String greeting = config.getFieldsOrDefault("greeting", Value.getDefaultInstance())
                .getStringValue();
        if (greeting.isEmpty()) {
            response.onError(Status.INVALID_ARGUMENT
                    .withDescription("no greeting; declare config: {struct: {greeting: hello}}")
                    .asException());
            return false;
        }
        System.out.println(greeting);
        return true;
    }

    private static int count(Path file) throws IOException {
        int launches =
                (Files.exists(file) ? Integer.parseInt(Files.readString(file).strip()) : 0) + 1;
        Files.writeString(file, launches + "\n");
        return launches;
    }
}
