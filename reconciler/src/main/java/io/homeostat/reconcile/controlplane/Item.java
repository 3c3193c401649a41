package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.ManifestReader;
import io.homeostat.proto.acp.ConfigurePluginStates;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.PluginInstallationType;
import java.util.Optional;

/**
 * One item of a message, read as far as that is possible without knowing what is declared.
 *
 * @param install what an INSTALL declares, or why it can't; empty for the other actions
 * @param plugin whom it names; empty when no plugin can be called that
 * @param refusals why it is refused, whatever is declared, each {@code field: what is wrong and what would be right}
 */
record Item(
        ConfigurePlugin sent,
        Optional<ManifestReader.Result> install,
        Optional<WorkloadId> plugin,
        ImmutableList<String> refusals) {

    static ImmutableList<Item> of(ConfigurePluginStates message, ImmutableSet<String> protectedPlugins) {
        return message.getConfigurePluginsList().stream()
                .map(sent -> of(sent, protectedPlugins))
                .collect(ImmutableList.toImmutableList());
    }

    private static Item of(ConfigurePlugin sent, ImmutableSet<String> protectedPlugins) {
        String name = sent.getPlugin().getName();
        boolean declares = sent.getAction() != Action.REMOVE && sent.getAction() != Action.APPLY;
        Optional<WorkloadId> plugin =
                WorkloadId.NAME.matcher(name).matches() ? Optional.of(WorkloadId.plugin(name)) : Optional.empty();
        if (protectedPlugins.contains(name)) {
            return new Item(
                    sent,
                    Optional.empty(),
                    plugin,
                    ImmutableList.of(
                            "plugin.name: " + name
                                    + " is protected on this machine; leave it alone, or take it out of protectedPlugins in agent.yaml"));
        }
        if (declares && sent.getManifest().getPluginInstallationType() != PluginInstallationType.DYNAMIC_INSTALLATION) {
            return new Item(
                    sent,
                    Optional.empty(),
                    plugin,
                    ImmutableList.of(
                            "manifest.plugin_installation_type: only DYNAMIC_INSTALLATION can be sent; install its package for a local one"));
        }
        if (declares) {
            ManifestReader.Result read = ManifestReader.sent(sent);
            return new Item(
                    sent,
                    Optional.of(read),
                    plugin,
                    read.problems().stream()
                            .map(ManifestReader.Problem::toString)
                            .collect(ImmutableList.toImmutableList()));
        }
        return new Item(
                sent,
                Optional.empty(),
                plugin,
                plugin.isPresent()
                        ? ImmutableList.of()
                        : ImmutableList.of(
                                "plugin.name: no plugin can be called that; send the name it was installed by"));
    }
}
