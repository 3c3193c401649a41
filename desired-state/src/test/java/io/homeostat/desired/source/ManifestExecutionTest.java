package io.homeostat.desired.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.Value;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.ExecutionModel;
import io.homeostat.proto.acp.PluginType;
import io.homeostat.proto.acp.Rules;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ManifestExecutionTest {
    private final ConfigurePlugin.Builder message = ManifestReaderTest.sent();

    @Test
    void withoutAModelAPluginIsAnEnabledDaemon() {
        Execution execution = execution();
        assertEquals(Execution.Type.DAEMON, execution.type());
        assertEquals(Execution.State.ENABLED, execution.defaultState());
        assertEquals(Execution.State.ENABLED, execution.onMatch());
        assertEquals(Execution.Match.ALL, execution.match());
        assertNull(execution.triggers());
    }

    @Test
    void aOneShotHasItsTriggersAndItsTimeout() {
        message.getManifestBuilder()
                .getExecutionModelBuilder()
                .getOneShotBuilder()
                .getTriggersBuilder()
                .setFirstboot(true)
                .setInterval(com.google.protobuf.Duration.newBuilder().setSeconds(3600));
        message.getManifestBuilder()
                .getExecutionModelBuilder()
                .getOneShotBuilder()
                .setExecutionTimeout(com.google.protobuf.Duration.newBuilder().setSeconds(9));
        Execution execution = execution();
        assertEquals(Execution.Type.ONE_SHOT, execution.type());
        assertEquals(new Triggers(false, true, Duration.ofHours(1)), execution.triggers());
        assertEquals(Duration.ofSeconds(9), execution.timeout());
    }

    @Test
    void aOneShotWithoutTriggersRunsAtStartup() {
        message.getManifestBuilder().setPluginType(PluginType.ONE_SHOT);
        assertEquals(new Triggers(true, false, null), execution().triggers());
    }

    @Test
    void rulesCompareFactsWithText() {
        ExecutionModel.Builder model = message.getManifestBuilder().getExecutionModelBuilder();
        model.setOnDefault(ExecutionModel.State.DISABLED)
                .setOnMatch(ExecutionModel.State.ENABLED)
                .setMatchPolicy(ExecutionModel.MatchPolicy.ANY)
                .setBootCritical(true);
        model.addRules(rule(Value.newBuilder().setStringValue("debian").build()));
        model.addRules(rule(Value.newBuilder().setNumberValue(12).build()));
        model.addRules(rule(Value.newBuilder().setBoolValue(true).build()));
        Execution execution = execution();
        assertEquals(Execution.State.DISABLED, execution.defaultState());
        assertEquals(Execution.Match.ANY, execution.match());
        assertTrue(execution.bootCritical());
        assertEquals(
                ImmutableList.of("debian", "12", "true"),
                execution.rules().stream().map(Rule::value).collect(ImmutableList.toImmutableList()));
        assertEquals(
                new Rule(Rule.Scope.OS, "ID", Rule.Operator.CONTAINS, "debian"),
                execution.rules().getFirst());
    }

    @Test
    void aRuleThatNobodyCouldDecideIsRefused() {
        ExecutionModel.Builder model = message.getManifestBuilder().getExecutionModelBuilder();
        model.addRules(Rules.newBuilder().setAttribute("ID").setValue(Value.getDefaultInstance()));
        ImmutableList<String> problems = ImmutableList.sortedCopyOf(problems(message));
        assertEquals(
                ImmutableList.of(
                        "manifest.execution_model.rules: a value that is no text, number, true or false; send one of these",
                        "manifest.execution_model.rules[0].operator: 'unknown' is not possible here; write equal or notEqual or contains"),
                problems.subList(0, 2));
        assertEquals(3, problems.size(), problems::toString);
        assertTrue(
                problems.get(2).startsWith("manifest.execution_model.rules[0].scope: 'unknown' "), problems::toString);
        assertTrue(problems.get(2).endsWith(" os or instance or metadata"), problems::toString);
    }

    @Test
    void aTypeThatContradictsTheModelIsRefused() {
        message.getManifestBuilder().setPluginType(PluginType.DAEMON);
        message.getManifestBuilder().getExecutionModelBuilder().getOneShotBuilder();
        assertEquals(
                ImmutableList.of(
                        "manifest.plugin_type: DAEMON, but manifest.execution_model says otherwise; make them agree"),
                problems(message));
    }

    private static Rules rule(Value value) {
        return Rules.newBuilder()
                .setScope(Rules.Scope.OS)
                .setAttribute("ID")
                .setComparisonOperator(Rules.ComparisonOperator.CONTAINS)
                .setValue(value)
                .build();
    }

    private Execution execution() {
        ManifestReader.Result result = ManifestReader.sent(message.build());
        assertEquals(ImmutableList.of(), result.problems());
        return result.workload().orElseThrow().lifecycle().execution();
    }

    private static ImmutableList<String> problems(ConfigurePlugin.Builder message) {
        return ManifestReader.sent(message.build()).problems().stream()
                .map(ManifestReader.Problem::toString)
                .collect(ImmutableList.toImmutableList());
    }
}
