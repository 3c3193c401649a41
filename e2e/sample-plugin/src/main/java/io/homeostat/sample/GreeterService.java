package io.homeostat.sample;

import com.google.protobuf.Struct;
import com.google.protobuf.TextFormat;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
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

/** Greets with its configuration. Says on standard output which call it got. */
final class GreeterService extends GuestAgentPluginImplBase {
    private final Options options;
    private final Ending ending;
    private volatile boolean started;
    private volatile String greeting = "hello";

    GreeterService(Options options, Ending ending) {
        this.options = options;
        this.ending = ending;
    }

    @Override
    public void start(StartRequest request, StreamObserver<StartResponse> response) {
        System.out.println("Start");
        if (options.has("start-error")) {
            response.onError(Status.FAILED_PRECONDITION
                    .withDescription("told to refuse Start")
                    .asRuntimeException());
            return;
        }
        if (options.has("hang-start")) {
            return;
        }
        switch (request.getServiceConfigCase()) {
            case STRING_CONFIG -> greeting = request.getStringConfig();
            case STRUCT_CONFIG -> greeting = text(request.getStructConfig());
            case SERVICECONFIG_NOT_SET -> {}
        }
        try {
            String directory = request.getConfig().getStateDirectoryPath();
            if (!directory.isEmpty()) {
                Files.writeString(Path.of(directory, "started"), greeting + "\n");
            }
        } catch (IOException e) {
            response.onError(
                    Status.INTERNAL.withDescription(e.toString()).withCause(e).asRuntimeException());
            return;
        }
        started = true;
        response.onNext(StartResponse.getDefaultInstance());
        response.onCompleted();
        if (options.has("crash-after")) {
            ending.after(options.number("crash-after"), "told to crash", Ending.CRASH);
        }
    }

    @Override
    public void getStatus(GetStatusRequest request, StreamObserver<io.homeostat.proto.plugin.Status> response) {
        refuseBeforeStart("GetStatus");
        System.out.println("GetStatus");
        if (options.has("hang-status")) {
            return;
        }
        if (options.has("status-error")) {
            response.onError(
                    Status.INTERNAL.withDescription("told to be unwell").asRuntimeException());
            return;
        }
        response.onNext(io.homeostat.proto.plugin.Status.newBuilder()
                .setCode(options.number("status-code"))
                .addResults("greeting: " + greeting)
                .build());
        response.onCompleted();
    }

    @Override
    public void apply(ApplyRequest request, StreamObserver<ApplyResponse> response) {
        System.out.println("Apply");
        if (options.has("apply-unimplemented")) {
            response.onError(Status.UNIMPLEMENTED.asRuntimeException());
            return;
        }
        if (options.has("apply-error")) {
            response.onError(Status.INVALID_ARGUMENT
                    .withDescription("told to refuse Apply")
                    .asRuntimeException());
            return;
        }
        switch (request.getServiceConfigCase()) {
            case STRING_CONFIG -> greeting = request.getStringConfig();
            case STRUCT_CONFIG -> greeting = text(request.getStructConfig());
            case SERVICECONFIG_NOT_SET -> {}
        }
        response.onNext(ApplyResponse.getDefaultInstance());
        response.onCompleted();
    }

    @Override
    public void stop(StopRequest request, StreamObserver<StopResponse> response) {
        refuseBeforeStart("Stop");
        System.out.println("Stop cleanup=" + request.getCleanup());
        if (!options.has("ignore-stop")) {
            ServerCallStreamObserver<StopResponse> call = (ServerCallStreamObserver<StopResponse>) response;
            call.setOnCloseHandler(ending::afterAnswer);
            call.setOnCancelHandler(ending::afterAnswer);
        }
        response.onNext(StopResponse.getDefaultInstance());
        response.onCompleted();
    }

    /** As some real plugins, which crash; this one says why. */
    private void refuseBeforeStart(String call) {
        if (!started) {
            ending.now(call + " before Start", Ending.OUT_OF_ORDER);
        }
    }

    /** The field greeting, or the whole of a struct that has none. */
    private static String text(Struct struct) {
        return struct.containsFields("greeting")
                ? struct.getFieldsOrThrow("greeting").getStringValue()
                : TextFormat.printer().emittingSingleLine(true).printToString(struct);
    }
}
