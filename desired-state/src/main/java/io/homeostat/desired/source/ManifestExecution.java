package io.homeostat.desired.source;

import com.google.protobuf.Value;
import io.homeostat.desired.source.ManifestReader.Problem;
import io.homeostat.desired.yaml.DocumentTree;
import io.homeostat.proto.acp.ConfigurePluginStates.Manifest;
import io.homeostat.proto.acp.ExecutionModel;
import io.homeostat.proto.acp.ExecutionModel.OneShot;
import io.homeostat.proto.acp.ExecutionModel.Triggers;
import io.homeostat.proto.acp.PluginType;
import io.homeostat.proto.acp.Rules;
import java.util.List;

/** Writes when and how a plugin runs, for a {@link ManifestDocument}. */
final class ManifestExecution {
    private final ExecutionModel model;
    private final PluginType type;
    private final List<Problem> problems;

    ManifestExecution(Manifest manifest, List<Problem> problems) {
        this.model = manifest.getExecutionModel();
        this.type = manifest.getPluginType();
        this.problems = problems;
    }

    void write(DocumentTree execution) {
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
        ManifestDocument.duration(written, "every", triggers.getInterval());
        ManifestDocument.duration(execution, "timeout", oneShot.getExecutionTimeout());
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
}
