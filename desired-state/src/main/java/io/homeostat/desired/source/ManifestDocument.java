package io.homeostat.desired.source;

import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.homeostat.desired.model.Program.Install;
import io.homeostat.desired.model.Structs;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.source.ManifestReader.Problem;
import io.homeostat.desired.yaml.DocumentTree;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.ConfigurePluginStates.Manifest;
import io.homeostat.proto.acp.ConfigurePluginStates.Plugin;
import io.homeostat.proto.acp.ExecutionModel;
import io.homeostat.proto.acp.ExecutionModel.OneShot;
import io.homeostat.proto.acp.ExecutionModel.Triggers;
import io.homeostat.proto.acp.PluginType;
import io.homeostat.proto.acp.Rules;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Writes a message as the document that says the same. What is unset, or zero where zero makes no sense, is left out; what is wrong is
 * written as it is, for the reader of documents to reject.
 */
final class ManifestDocument {
    private static final long MAX_SECONDS = 315_576_000_000L;
    private static final int MAX_NANOS = 999_999_999;

    private final Plugin plugin;
    private final Manifest manifest;
    private final Install install;
    private final List<Problem> problems;

    /** @param problems where what a document could not say is added */
    ManifestDocument(ConfigurePlugin message, Install install, List<Problem> problems) {
        this.plugin = message.getPlugin();
        this.manifest = message.getManifest();
        this.install = install;
        this.problems = problems;
    }

    DocumentTree toDocument() {
        DocumentTree document = new DocumentTree();
        document.text("apiVersion", "homeostat.io/v1").text("kind", "Plugin");
        document.mapping("metadata").text("name", plugin.getName());
        DocumentTree spec = document.mapping("spec");
        if (install == Install.DYNAMIC) {
            spec.text("revision", plugin.getRevisionId());
            source(spec.mapping("source"));
        } else {
            spec.text("install", "local");
            text(spec, "revision", plugin.getRevisionId());
        }
        spec.text("entryPoint", plugin.getEntryPoint());
        spec.texts("arguments", plugin.getArgumentsList());
        config().ifPresent(config -> spec.mapping("config", config));
        DocumentTree limits = spec.mapping("limits");
        number(limits, "memory", manifest.getMaxMemoryUsageBytes());
        if (manifest.getMaxCpuUsagePercentage() != 0) {
            limits.text("cpu", manifest.getMaxCpuUsagePercentage() + "%");
        }
        DocumentTree start = spec.mapping("start");
        duration(start, "timeout", manifest.getStartTimeout());
        number(start, "attempts", manifest.getStartAttemptCount());
        number(start, "backoffFactor", manifest.getStartExpBackoffFactor());
        duration(spec.mapping("stop"), "timeout", manifest.getStopTimeout());
        DocumentTree metrics = spec.mapping("metrics");
        duration(metrics, "interval", manifest.getMetricsInterval());
        // Unsigned: what looks negative is huge, and rejected either way.
        number(metrics, "maxDatapoints", manifest.getMaxMetricDatapoints());
        execution(spec.mapping("execution"));
        return document;
    }

    private void source(DocumentTree source) {
        source.text("url", plugin.getGcsSignedUrl());
        text(source, "sha256", plugin.getChecksum());
        duration(source, "timeout", manifest.getDownloadTimeout());
        number(source, "attempts", manifest.getDownloadAttemptCount());
    }

    /** The configuration; empty if there is none, or none that a document could say. */
    Optional<DocumentTree> config() {
        return switch (manifest.getConfigCase()) {
            case STRING_CONFIG -> Optional.of(new DocumentTree().text("string", manifest.getStringConfig()));
            case STRUCT_CONFIG -> {
                if (isFinite(manifest.getStructConfig())) {
                    yield Optional.of(new DocumentTree().json("struct", Structs.fromProto(manifest.getStructConfig())));
                }
                problems.add(new Problem(
                        "manifest.struct_config", "a number that is infinite or none at all; put it in quotes"));
                yield Optional.empty();
            }
            case CONFIG_NOT_SET -> Optional.empty();
        };
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

    private void execution(DocumentTree execution) {
        ExecutionModel model = manifest.getExecutionModel();
        PluginType type = manifest.getPluginType();
        boolean oneShot = type == PluginType.ONE_SHOT || model.hasOneShot();
        if ((type == PluginType.DAEMON && model.hasOneShot()) || (type == PluginType.ONE_SHOT && model.hasDaemon())) {
            problems.add(new Problem(
                    "manifest.plugin_type", type + ", but manifest.execution_model says otherwise; make them agree"));
        }
        if (type == PluginType.UNRECOGNIZED) {
            problems.add(new Problem("manifest.plugin_type", "unknown here; send DAEMON or ONE_SHOT"));
        }
        execution.text("type", oneShot ? "oneShot" : "daemon");
        execution.flag("bootCritical", model.getBootCritical());
        state(execution, "default", model.getOnDefault());
        state(execution, "onMatch", model.getOnMatch());
        switch (model.getMatchPolicy()) {
            case MATCH_POLICY_UNSPECIFIED -> {}
            case ALL -> execution.text("match", "all");
            case ANY -> execution.text("match", "any");
            case UNRECOGNIZED -> execution.text("match", "unknown");
        }
        List<DocumentTree> rules = execution.mappings("rules", model.getRulesCount());
        for (int i = 0; i < rules.size(); i++) {
            rule(rules.get(i), model.getRules(i));
        }
        if (oneShot) {
            oneShot(execution, model.getOneShot());
        }
    }

    private static void state(DocumentTree execution, String key, ExecutionModel.State state) {
        switch (state) {
            case STATE_UNSPECIFIED -> {}
            case ENABLED -> execution.text(key, "enabled");
            case DISABLED -> execution.text(key, "disabled");
            case UNRECOGNIZED -> execution.text(key, "unknown");
        }
    }

    /** One without any trigger was sent to be run: it runs at startup, and so at once. */
    private static void oneShot(DocumentTree execution, OneShot oneShot) {
        Triggers triggers = oneShot.getTriggers();
        boolean none = triggers.equals(Triggers.getDefaultInstance());
        DocumentTree written = execution.mapping("triggers");
        written.flag("startup", none || triggers.getStartup());
        written.flag("firstBoot", triggers.getFirstboot());
        duration(written, "every", triggers.getInterval());
        duration(execution, "timeout", oneShot.getExecutionTimeout());
    }

    private void rule(DocumentTree written, Rules rule) {
        written.text(
                "scope",
                switch (rule.getScope()) {
                    case OS -> "os";
                    case INSTANCE -> "instance";
                    case METADATA -> "metadata";
                    case NAMESPACE_UNSPECIFIED, UNRECOGNIZED -> "unknown";
                });
        written.text("attribute", rule.getAttribute());
        written.text(
                "operator",
                switch (rule.getComparisonOperator()) {
                    case EQUAL -> "equal";
                    case NOT_EQUAL -> "notEqual";
                    case CONTAINS -> "contains";
                    case OPERATOR_UNSPECIFIED, UNRECOGNIZED -> "unknown";
                });
        written.text("value", text(rule.getValue()));
    }

    /** Facts are text, so that is what they are compared with. */
    private String text(Value value) {
        return switch (value.getKindCase()) {
            case STRING_VALUE -> value.getStringValue();
            case BOOL_VALUE -> Boolean.toString(value.getBoolValue());
            case NUMBER_VALUE -> number(value.getNumberValue());
            case NULL_VALUE, STRUCT_VALUE, LIST_VALUE, KIND_NOT_SET -> {
                problems.add(new Problem(
                        "manifest.execution_model.rules",
                        "a value that is no text, number, true or false; send one of these"));
                yield "";
            }
        };
    }

    private static String number(double number) {
        return number == Math.rint(number) && Math.abs(number) < 1L << 53
                ? Long.toString((long) number)
                : Double.toString(number);
    }

    private static void text(DocumentTree object, String key, String value) {
        if (!value.isEmpty()) {
            object.text(key, value);
        }
    }

    private static void number(DocumentTree object, String key, long value) {
        if (value != 0) {
            object.number(key, value);
        }
    }

    private static void duration(DocumentTree object, String key, com.google.protobuf.Duration value) {
        long seconds = value.getSeconds();
        int nanos = value.getNanos();
        if (seconds == 0 && nanos == 0) {
            return;
        }
        boolean possible = seconds >= 0 && seconds <= MAX_SECONDS && nanos >= 0 && nanos <= MAX_NANOS;
        object.text(key, possible ? Notation.text(Duration.ofSeconds(seconds, nanos)) : seconds + "s " + nanos + "ns");
    }
}
