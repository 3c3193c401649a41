package io.homeostat.e2e;

import com.google.protobuf.Duration;
import io.homeostat.e2e.Bucket.Stored;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.ConfigurePluginStates.Manifest;
import io.homeostat.proto.acp.ConfigurePluginStates.Plugin;
import java.util.List;
import java.util.function.UnaryOperator;

/** Items of ConfigurePluginStates. */
final class Items {
    private Items() {}

    /** Installs the sample plugin. */
    static ConfigurePlugin greeter(String name, String revision, String url, String sha256, String... arguments) {
        return ConfigurePlugin.newBuilder()
                .setAction(Action.INSTALL)
                .setPlugin(Plugin.newBuilder()
                        .setName(name)
                        .setRevisionId(revision)
                        .setGcsSignedUrl(url)
                        .setChecksum(sha256)
                        .setEntryPoint("bin/greeter")
                        .addAllArguments(List.of(arguments)))
                .build();
    }

    /** Installs the sample plugin from a bucket. */
    static ConfigurePlugin greeter(String name, String revision, Bucket bucket, Stored archive, String... arguments) {
        return greeter(name, revision, bucket.signedUrl(archive), archive.sha256(), arguments);
    }

    /** The same with one try of download and start, so that failures are told at once. */
    static ConfigurePlugin once(ConfigurePlugin item) {
        return with(
                item,
                manifest -> manifest.setStartAttemptCount(1)
                        .setDownloadAttemptCount(1)
                        .setStartTimeout(Duration.newBuilder().setSeconds(20)));
    }

    static ConfigurePlugin with(ConfigurePlugin item, UnaryOperator<Manifest.Builder> change) {
        return item.toBuilder()
                .setManifest(change.apply(item.getManifest().toBuilder()))
                .build();
    }

    static ConfigurePlugin remove(String name, String revision) {
        return ConfigurePlugin.newBuilder()
                .setAction(Action.REMOVE)
                .setPlugin(Plugin.newBuilder().setName(name).setRevisionId(revision))
                .build();
    }

    static ConfigurePlugin apply(String name, String revision, String config) {
        return ConfigurePlugin.newBuilder()
                .setAction(Action.APPLY)
                .setPlugin(Plugin.newBuilder().setName(name).setRevisionId(revision))
                .setManifest(Manifest.newBuilder().setStringConfig(config))
                .build();
    }
}
