package io.homeostat.reconcile.agent.nomad;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.nomad.base.BasePluginGrpc.BasePluginImplBase;
import io.homeostat.proto.nomad.base.ConfigSchemaRequest;
import io.homeostat.proto.nomad.base.ConfigSchemaResponse;
import io.homeostat.proto.nomad.base.PluginInfoRequest;
import io.homeostat.proto.nomad.base.PluginInfoResponse;
import io.homeostat.proto.nomad.base.PluginType;
import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.base.SetConfigResponse;
import io.homeostat.reconcile.command.environment.Version;
import java.util.function.Consumer;

/** Who this plugin is, and its own configuration. Nothing here touches anything: an older instance may still serve. */
final class PluginService extends BasePluginImplBase {
    /** The driver's name in job files. */
    static final String NAME = "homeostat";

    private static final String API = "v0.1.0";

    private final Consumer<PluginSettings> configure;

    PluginService(Consumer<PluginSettings> configure) {
        this.configure = configure;
    }

    /** As Nomad parses it: {@code 1.2.3-SNAPSHOT}. */
    static String version() {
        String version = Version.current();
        return Character.isDigit(version.charAt(0)) ? version : "0.0.0";
    }

    @Override
    public void pluginInfo(PluginInfoRequest request, StreamObserver<PluginInfoResponse> response) {
        response.onNext(PluginInfoResponse.newBuilder()
                .setType(PluginType.DRIVER)
                .addPluginApiVersions(API)
                .setPluginVersion(version())
                .setName(NAME)
                .build());
        response.onCompleted();
    }

    @Override
    public void configSchema(ConfigSchemaRequest request, StreamObserver<ConfigSchemaResponse> response) {
        response.onNext(
                ConfigSchemaResponse.newBuilder().setSpec(PluginSettings.SPEC).build());
        response.onCompleted();
    }

    @Override
    public void setConfig(SetConfigRequest request, StreamObserver<SetConfigResponse> response) {
        try {
            configure.accept(PluginSettings.read(request.getMsgpackConfig()));
        } catch (IllegalArgumentException e) {
            response.onError(Status.INVALID_ARGUMENT
                    .withDescription(e.getMessage())
                    .withCause(e)
                    .asRuntimeException());
            return;
        }
        response.onNext(SetConfigResponse.getDefaultInstance());
        response.onCompleted();
    }
}
