package io.homeostat.desired.source;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Program.Install;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.PluginInstallationType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Makes workloads of {@code ConfigurePlugin} messages, the form in which control planes and packages declare plugins. The rules and
 * defaults of YAML documents hold; zero counts as left out.
 */
public final class ManifestReader {
    /** Where the fields of a message are in a document; of two paths the longer one comes first. */
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

    /** As many as a YAML document may have keys and values. */
    private static final int MOST_PARTS = 100_000;

    private static final Result TOO_MUCH = new Result(
            Optional.empty(),
            ImmutableList.of(new Problem(
                    "manifest",
                    "more than " + MOST_PARTS
                            + " arguments, rules, and keys and values of a configuration; write fewer, or send the configuration as a"
                            + " string")));

    private ManifestReader() {}

    /** Something wrong with a message, without secrets: which field, such as {@code plugin.name}, and what would be right. */
    public record Problem(String field, String detail) {
        @Override
        public String toString() {
            return field + ": " + detail;
        }
    }

    /** The workload, or problems. */
    public record Result(Optional<Workload> workload, ImmutableList<Problem> problems) {}

    /** Reads what a control plane sent: installed from its archive, unless it says that it is on the disk already. */
    public static Result sent(ConfigurePlugin message) {
        boolean local = message.getManifest().getPluginInstallationType() == PluginInstallationType.LOCAL_INSTALLATION;
        return read(message, local ? Install.LOCAL : Install.DYNAMIC);
    }

    /**
     * Reads what a package put beside its plugin, which is on the disk whatever the message says; what it says of a download is ignored.
     * Published manifests leave action and revision unset.
     */
    public static Result installed(ConfigurePlugin message) {
        boolean unset = message.getActionValue() == Action.ACTION_UNSPECIFIED_VALUE;
        return read(unset ? message.toBuilder().setAction(Action.INSTALL).build() : message, Install.LOCAL);
    }

    private static Result read(ConfigurePlugin message, Install install) {
        if (isTooMuch(message)) {
            return TOO_MUCH;
        }
        List<Problem> problems = new ArrayList<>();
        if (message.getAction() != Action.INSTALL) {
            problems.add(new Problem("action", message.getAction() + " declares nothing; only INSTALL does"));
        }
        ReadResult read =
                DocumentReader.readTree("manifest", new ManifestDocument(message, install, problems).toDocument());
        read.errors().forEach(error -> problems.add(problem(error)));
        return new Result(
                problems.isEmpty() ? Optional.of(read.declared().getFirst()) : Optional.empty(),
                ImmutableList.copyOf(problems));
    }

    /**
     * Gives a plugin the configuration that a control plane sent, or none; the rest of the message is ignored.
     *
     * @throws IllegalArgumentException if the workload is no plugin
     */
    public static Result reconfigured(Workload plugin, ConfigurePlugin message) {
        if (!(plugin.spec() instanceof PluginSpec spec)) {
            throw new IllegalArgumentException(plugin.id() + " takes no configuration");
        }
        if (isTooMuch(message)) {
            return TOO_MUCH;
        }
        List<Problem> problems = new ArrayList<>();
        Config config = new ManifestDocument(message, Install.LOCAL, problems)
                .config()
                .flatMap(sent -> DocumentReader.readPart(
                        Config.class, "spec.config", sent, error -> problems.add(problem(error))))
                .orElse(null);
        return new Result(
                problems.isEmpty()
                        ? Optional.of(new Workload(plugin.id(), plugin.labels(), spec.withConfig(config)))
                        : Optional.empty(),
                ImmutableList.copyOf(problems));
    }

    /** Names the field of the message in place of the path in the document. */
    private static Problem problem(io.homeostat.desired.yaml.Problem error) {
        String path = error.path();
        for (Map.Entry<String, String> field : FIELDS.entrySet()) {
            String key = field.getKey();
            if (path.equals(key) || path.startsWith(key + ".") || path.startsWith(key + "[")) {
                return new Problem(field.getValue() + path.substring(key.length()), error.detail());
            }
        }
        return new Problem(path, error.detail());
    }

    /** Asked before a document is made of a message: a value takes two bytes in a message, and a hundred times that in a document. */
    private static boolean isTooMuch(ConfigurePlugin message) {
        long parts = (long) message.getPlugin().getArgumentsCount()
                + message.getManifest().getExecutionModel().getRulesCount()
                + parts(message.getManifest().getStructConfig());
        return parts > MOST_PARTS;
    }

    private static long parts(Struct struct) {
        return struct.getFieldsMap().values().stream()
                .mapToLong(value -> 1 + parts(value))
                .sum();
    }

    private static long parts(Value value) {
        return switch (value.getKindCase()) {
            case STRUCT_VALUE -> 1 + parts(value.getStructValue());
            case LIST_VALUE ->
                1
                        + value.getListValue().getValuesList().stream()
                                .mapToLong(ManifestReader::parts)
                                .sum();
            default -> 1;
        };
    }
}
