package io.homeostat.sample.driver;

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
import java.util.function.Consumer;

/** Who this plugin is, and its own configuration. */
final class BaseService extends BasePluginImplBase {
    static final String NAME = "runner";
    static final String VERSION = "0.1.0";
    private static final String API = "v0.1.0";

    private final Faults faults;
    private final Consumer<PluginConfig> configure;
    private final HostLog log;

    BaseService(Faults faults, Consumer<PluginConfig> configure, HostLog log) {
        this.faults = faults;
        this.configure = configure;
        this.log = log;
    }

    @Override
    public void pluginInfo(PluginInfoRequest request, StreamObserver<PluginInfoResponse> response) {
        log.debug("PluginInfo");
        response.onNext(PluginInfoResponse.newBuilder()
                .setType(PluginType.DRIVER)
                .addPluginApiVersions(API)
                .setPluginVersion(VERSION)
                .setName(NAME)
                .build());
        response.onCompleted();
    }

    @Override
    public void configSchema(ConfigSchemaRequest request, StreamObserver<ConfigSchemaResponse> response) {
        log.debug("ConfigSchema");
        response.onNext(
                ConfigSchemaResponse.newBuilder().setSpec(Schemas.plugin()).build());
        response.onCompleted();
    }

    @Override
    public void setConfig(SetConfigRequest request, StreamObserver<SetConfigResponse> response) {
        log.debug("SetConfig", "api", request.getPluginApiVersion());
        if (faults.has("hang-set-config")) {
            return;
        }
        if (faults.has("set-config-error")) {
            response.onError(
                    Status.UNKNOWN.withDescription("told to refuse SetConfig").asRuntimeException());
            return;
        }
        try {
            configure.accept(PluginConfig.read(request.getMsgpackConfig()));
        } catch (IllegalArgumentException e) {
            response.onError(Status.UNKNOWN.withDescription(e.getMessage()).asRuntimeException());
            return;
        }
        response.onNext(SetConfigResponse.getDefaultInstance());
        response.onCompleted();
    }
}
