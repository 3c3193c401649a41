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
 * One item of ConfigurePluginStates, as far as it can be judged without knowing what is declared.
 *
 * @param install what an INSTALL declares, or why it can't; empty for the other actions
 * @param plugin which plugin it names; empty if it names none
 * @param refusals why it is refused, whatever is declared
 */
record ConfigureItem(
        ConfigurePlugin sent,
        Optional<ManifestReader.Result> install,
        Optional<WorkloadId> plugin,
        ImmutableList<Refusal> refusals) {
    private static final Refusal UNVERIFIED = new Refusal(
            Refusal.Reason.UNVERIFIED,
            "plugin.checksum",
            "missing, so what is fetched could not be verified; send the SHA-256 of the archive, or set"
                    + " sources.controlPlane.allowUnverified: true in agent.yaml");

    /**
     * Why an item is refused.
     *
     * @param field of the item, such as {@code plugin.name}
     * @param detail what is wrong and what would be right; contains no secrets
     */
    record Refusal(Reason reason, String field, String detail) {
        enum Reason {
            PROTECTED,
            NOT_DYNAMIC,
            UNVERIFIED,
            INVALID,
            TOO_MANY_PLUGINS,
            QUOTA_EXCEEDED,
            NOT_DECLARED,
            DECLARED_ELSEWHERE
        }

        static Refusal invalid(ManifestReader.Problem problem) {
            return new Refusal(Reason.INVALID, problem.field(), problem.detail());
        }

        static Refusal ofName(Reason reason, String detail) {
            return new Refusal(reason, "plugin.name", detail);
        }

        @Override
        public String toString() {
            return field + ": " + detail;
        }
    }

    /**
     * What agent.yaml says of items.
     *
     * @param protectedPlugins which no item may touch
     * @param allowUnverified whether an INSTALL needs no checksum
     */
    record Rules(ImmutableSet<String> protectedPlugins, boolean allowUnverified) {}

    static ImmutableList<ConfigureItem> of(ConfigurePluginStates message, Rules rules) {
        return message.getConfigurePluginsList().stream()
                .map(sent -> of(sent, rules))
                .collect(ImmutableList.toImmutableList());
    }

    private static ConfigureItem of(ConfigurePlugin sent, Rules rules) {
        String name = sent.getPlugin().getName();
        boolean installs = sent.getAction() == Action.INSTALL;
        Optional<WorkloadId> plugin = name.isEmpty() ? Optional.empty() : Optional.of(WorkloadId.plugin(name));
        if (rules.protectedPlugins().contains(name)) {
            return refused(
                    sent,
                    plugin,
                    Refusal.ofName(
                            Refusal.Reason.PROTECTED,
                            name
                                    + " is protected on this machine; leave it alone, or take it out of protectedPlugins in agent.yaml"));
        }
        if (sent.getAction() == Action.ACTION_UNSPECIFIED || sent.getAction() == Action.UNRECOGNIZED) {
            // Nobody knows what else it would have to have.
            return refused(sent, plugin, unknown(sent.getActionValue()));
        }
        if (installs && sent.getManifest().getPluginInstallationType() != PluginInstallationType.DYNAMIC_INSTALLATION) {
            return refused(
                    sent,
                    plugin,
                    new Refusal(
                            Refusal.Reason.NOT_DYNAMIC,
                            "manifest.plugin_installation_type",
                            "only DYNAMIC_INSTALLATION can be sent; install its package for a local one"));
        }
        if (installs) {
            ManifestReader.Result read = ManifestReader.sent(sent);
            ImmutableList.Builder<Refusal> refusals = ImmutableList.builder();
            read.problems().forEach(problem -> refusals.add(Refusal.invalid(problem)));
            if (sent.getPlugin().getChecksum().isEmpty() && !rules.allowUnverified()) {
                refusals.add(UNVERIFIED);
            }
            return new ConfigureItem(sent, Optional.of(read), plugin, refusals.build());
        }
        if (plugin.isEmpty()) {
            return refused(
                    sent, plugin, Refusal.ofName(Refusal.Reason.INVALID, "missing; send the name it was installed by"));
        }
        return new ConfigureItem(sent, Optional.empty(), plugin, ImmutableList.of());
    }

    private static Refusal unknown(int action) {
        return new Refusal(
                Refusal.Reason.INVALID,
                "action",
                (action == Action.ACTION_UNSPECIFIED_VALUE ? "missing" : action + " is not known here")
                        + "; send INSTALL, APPLY or REMOVE");
    }

    private static ConfigureItem refused(ConfigurePlugin sent, Optional<WorkloadId> plugin, Refusal refusal) {
        return new ConfigureItem(sent, Optional.empty(), plugin, ImmutableList.of(refusal));
    }
}
