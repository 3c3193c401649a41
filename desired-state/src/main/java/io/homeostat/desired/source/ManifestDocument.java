package io.homeostat.desired.source;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.homeostat.desired.model.Notation;
import io.homeostat.desired.model.Program.Install;
import io.homeostat.desired.model.Structs;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.ConfigurePluginStates.Manifest;
import io.homeostat.proto.acp.ConfigurePluginStates.Plugin;
import java.time.Duration;
import java.util.List;

/**
 * Writes a message as the document that says the same. What is unset, or zero where zero makes no sense, is left out; what
 * is wrong is written as it is, for the reader of documents to refuse.
 */
final class ManifestDocument {
    private static final long MAX_SECONDS = 315_576_000_000L;
    private static final int MAX_NANOS = 999_999_999;

    private final Plugin plugin;
    private final Manifest manifest;
    private final Install install;
    private final List<String> problems;
    private final ObjectNode document = JsonNodeFactory.instance.objectNode();

    /** @param problems where what no document could say is added */
    ManifestDocument(ConfigurePlugin message, Install install, List<String> problems) {
        this.plugin = message.getPlugin();
        this.manifest = message.getManifest();
        this.install = install;
        this.problems = problems;
    }

    ObjectNode toDocument() {
        document.put("apiVersion", "homeostat.io/v1").put("kind", "Plugin");
        document.putObject("metadata").put("name", plugin.getName());
        ObjectNode spec = document.putObject("spec");
        if (install == Install.DYNAMIC) {
            spec.put("revision", plugin.getRevisionId());
            source(spec.putObject("source"));
        } else {
            spec.put("install", "local");
            text(spec, "revision", plugin.getRevisionId());
        }
        spec.put("entryPoint", plugin.getEntryPoint());
        plugin.getArgumentsList().forEach(spec.putArray("arguments")::add);
        config(spec);
        ObjectNode limits = spec.putObject("limits");
        number(limits, "memory", manifest.getMaxMemoryUsageBytes());
        if (manifest.getMaxCpuUsagePercentage() != 0) {
            limits.put("cpu", manifest.getMaxCpuUsagePercentage() + "%");
        }
        ObjectNode start = spec.putObject("start");
        duration(start, "timeout", manifest.getStartTimeout());
        number(start, "attempts", manifest.getStartAttemptCount());
        number(start, "backoffFactor", manifest.getStartExpBackoffFactor());
        duration(spec.putObject("stop"), "timeout", manifest.getStopTimeout());
        ObjectNode metrics = spec.putObject("metrics");
        duration(metrics, "interval", manifest.getMetricsInterval());
        // Unsigned: what looks negative is huge, and refused either way.
        number(metrics, "maxDatapoints", manifest.getMaxMetricDatapoints());
        new ManifestExecution(manifest, problems).write(spec.putObject("execution"));
        return document;
    }

    private void source(ObjectNode source) {
        source.put("url", plugin.getGcsSignedUrl());
        text(source, "sha256", plugin.getChecksum());
        duration(source, "timeout", manifest.getDownloadTimeout());
        number(source, "attempts", manifest.getDownloadAttemptCount());
    }

    /** Gives a specification the configuration of the message, and none when it has none. */
    void configure(ObjectNode spec) {
        spec.remove("config");
        config(spec);
    }

    private void config(ObjectNode spec) {
        switch (manifest.getConfigCase()) {
            case STRING_CONFIG -> spec.putObject("config").put("string", manifest.getStringConfig());
            case STRUCT_CONFIG -> {
                if (isFinite(manifest.getStructConfig())) {
                    spec.putObject("config").set("struct", Structs.fromProto(manifest.getStructConfig()));
                } else {
                    problems.add("manifest.struct_config: a number that is infinite or none at all; put it in quotes");
                }
            }
            case CONFIG_NOT_SET -> {}
        }
    }

    private static boolean isFinite(Struct struct) {
        return struct.getFieldsMap().values().stream().allMatch(ManifestDocument::isFinite);
    }

    private static boolean isFinite(Value value) {
        return switch (value.getKindCase()) {
            case NUMBER_VALUE -> Double.isFinite(value.getNumberValue());
            case STRUCT_VALUE -> isFinite(value.getStructValue());
            case LIST_VALUE -> value.getListValue().getValuesList().stream().allMatch(ManifestDocument::isFinite);
            default -> true;
        };
    }

    private static void text(ObjectNode object, String key, String value) {
        if (!value.isEmpty()) {
            object.put(key, value);
        }
    }

    private static void number(ObjectNode object, String key, long value) {
        if (value != 0) {
            object.put(key, value);
        }
    }

    static void duration(ObjectNode object, String key, com.google.protobuf.Duration value) {
        long seconds = value.getSeconds();
        int nanos = value.getNanos();
        if (seconds == 0 && nanos == 0) {
            return;
        }
        boolean possible = seconds >= 0 && seconds <= MAX_SECONDS && nanos >= 0 && nanos <= MAX_NANOS;
        object.put(key, possible ? Notation.text(Duration.ofSeconds(seconds, nanos)) : seconds + "s " + nanos + "ns");
    }
}
