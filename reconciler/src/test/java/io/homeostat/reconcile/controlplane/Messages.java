package io.homeostat.reconcile.controlplane;

import io.homeostat.proto.acp.ConfigurePluginStates;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Messages of a control plane, in few words. */
final class Messages {
    static final String URL = "https://bucket.example/a.tar.gz?X-Goog-Signature=s3cr3t";

    private Messages() {}

    static ConfigurePlugin install(String name, String revision) {
        return install(name, revision, item -> {});
    }

    static ConfigurePlugin install(String name, String revision, Consumer<ConfigurePlugin.Builder> change) {
        ConfigurePlugin.Builder item = named(Action.INSTALL, name);
        item.getPluginBuilder()
                .setRevisionId(revision)
                .setGcsSignedUrl(URL)
                .setChecksum("0".repeat(64))
                .setEntryPoint("bin/" + name);
        change.accept(item);
        return item.build();
    }

    static ConfigurePlugin remove(String name) {
        return named(Action.REMOVE, name).build();
    }

    static ConfigurePlugin apply(String name, String config) {
        ConfigurePlugin.Builder item = named(Action.APPLY, name);
        item.getManifestBuilder().setStringConfig(config);
        return item.build();
    }

    static ConfigurePlugin.Builder named(Action action, String name) {
        ConfigurePlugin.Builder item = ConfigurePlugin.newBuilder().setAction(action);
        item.getPluginBuilder().setName(name);
        return item;
    }

    static ConfigurePluginStates configure(ConfigurePlugin... items) {
        ConfigurePluginStates.Builder message = ConfigurePluginStates.newBuilder();
        Stream.of(items).forEach(message::addConfigurePlugins);
        return message.build();
    }
}
