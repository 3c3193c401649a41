package io.homeostat.desired.source;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Program.Install;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.yaml.DocumentCodec;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.desired.yaml.ReadResult;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.PluginInstallationType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Makes workloads of {@code ConfigurePlugin} messages, the form in which control planes and packages declare plugins. A
 * message is held to the rules of a YAML document; what it leaves out, or sets to zero, gets the defaults of one.
 */
public final class ManifestReader {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Where the fields of a message went; the longer of two that begin alike comes first. */
    private static final ImmutableMap<String, String> FIELDS = ImmutableMap.<String, String>builder()
            .put("metadata.name", "plugin.name")
            .put("spec.revision", "plugin.revision_id")
            .put("spec.source.url", "plugin.gcs_signed_url")
            .put("spec.source.sha256", "plugin.checksum")
            .put("spec.source.timeout", "manifest.download_timeout")
            .put("spec.source.attempts", "manifest.download_attempt_count")
            .put("spec.entryPoint", "plugin.entry_point")
            .put("spec.arguments", "plugin.arguments")
            .put("spec.config.string", "manifest.string_config")
            .put("spec.config.struct", "manifest.struct_config")
            .put("spec.limits.memory", "manifest.max_memory_usage_bytes")
            .put("spec.limits.cpu", "manifest.max_cpu_usage_percentage")
            .put("spec.start.timeout", "manifest.start_timeout")
            .put("spec.start.attempts", "manifest.start_attempt_count")
            .put("spec.start.backoffFactor", "manifest.start_exp_backoff_factor")
            .put("spec.stop.timeout", "manifest.stop_timeout")
            .put("spec.metrics.interval", "manifest.metrics_interval")
            .put("spec.metrics.maxDatapoints", "manifest.max_metric_datapoints")
            .put("spec.execution.triggers.every", "manifest.execution_model.one_shot.triggers.interval")
            .put("spec.execution.timeout", "manifest.execution_model.one_shot.execution_timeout")
            .put("spec.execution.default", "manifest.execution_model.on_default")
            .put("spec.execution.onMatch", "manifest.execution_model.on_match")
            .put("spec.execution.match", "manifest.execution_model.match_policy")
            .put("spec.execution", "manifest.execution_model")
            .buildOrThrow();

    private ManifestReader() {}

    /**
     * What became of a message.
     *
     * @param workload empty when there is a problem
     * @param problems each {@code field: what is wrong and what would be right}; no secrets in them
     */
    public record Result(Optional<Workload> workload, ImmutableList<String> problems) {}

    /** Reads what a control plane sent: installed from its archive, unless it says that it is on the disk already. */
    public static Result sent(ConfigurePlugin message) {
        boolean local = message.getManifest().getPluginInstallationType() == PluginInstallationType.LOCAL_INSTALLATION;
        return read(message, local ? Install.LOCAL : Install.DYNAMIC);
    }

    /**
     * Reads what a package put beside its plugin: that is on the disk whatever the message says, and what it says of a
     * download is ignored. The published ones leave action and revision unset.
     */
    public static Result installed(ConfigurePlugin message) {
        boolean unset = message.getActionValue() == Action.ACTION_UNSPECIFIED_VALUE;
        return read(unset ? message.toBuilder().setAction(Action.INSTALL).build() : message, Install.LOCAL);
    }

    /** Reads what a control plane sent for a plugin that is declared already: another configuration, or none, and nothing else. */
    public static Result reconfigured(Workload declared, ConfigurePlugin message) {
        if (ManifestSize.isTooMuch(message)) {
            return ManifestSize.REFUSED;
        }
        List<String> problems = new ArrayList<>();
        ObjectNode document = tree(declared);
        new ManifestDocument(message, Install.LOCAL, problems).configure((ObjectNode) document.path("spec"));
        return read(document, problems);
    }

    private static ObjectNode tree(Workload declared) {
        try {
            return (ObjectNode) JSON.readTree(DocumentCodec.toJson(declared));
        } catch (JsonProcessingException impossible) {
            // Without its cause and message: they quote the document.
            throw new IllegalStateException("the stored form of " + declared.id() + " is not JSON");
        }
    }

    private static Result read(ConfigurePlugin message, Install install) {
        if (ManifestSize.isTooMuch(message)) {
            return ManifestSize.REFUSED;
        }
        List<String> problems = new ArrayList<>();
        if (message.getAction() != Action.INSTALL) {
            problems.add("action: " + message.getAction() + " declares nothing; only INSTALL does");
        }
        return read(new ManifestDocument(message, install, problems).toDocument(), problems);
    }

    private static Result read(ObjectNode document, List<String> problems) {
        ReadResult read = DocumentReader.readTree("manifest", document);
        read.errors().stream()
                .map(Problem::message)
                .map(ManifestReader::translated)
                .forEach(problems::add);
        return new Result(
                problems.isEmpty() ? Optional.of(read.declared().getFirst()) : Optional.empty(),
                ImmutableList.copyOf(problems));
    }

    /** Names the field of the message in place of the key of the document. */
    private static String translated(String message) {
        for (Map.Entry<String, String> field : FIELDS.entrySet()) {
            String key = field.getKey();
            if (message.startsWith(key) && endsAt(message, key.length())) {
                return field.getValue() + message.substring(key.length());
            }
        }
        return message;
    }

    private static boolean endsAt(String message, int end) {
        return end < message.length() && ":.[".indexOf(message.charAt(end)) >= 0;
    }
}
