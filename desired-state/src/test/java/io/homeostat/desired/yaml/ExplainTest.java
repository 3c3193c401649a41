package io.homeostat.desired.yaml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Placement;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.yaml.FieldType.Field;
import org.junit.jupiter.api.Test;

class ExplainTest {
    @Test
    void anObjectIsExplainedWithItsFields() {
        assertEquals("""
                KIND:     Plugin
                VERSION:  homeostat.io/v1
                FIELD:    spec.limits  <object>

                DESCRIPTION:
                    Limits for the whole process tree, in force from its first instruction.

                FIELDS:
                    memory     <size>
                        The most memory the process tree may use. Beyond it the kernel kills it, and the workload is
                        restarted.
                    cpu        <percent>
                        Percent of one core; above 100% for several cores.
                    required   <boolean> default: false
                        true: where limits can't be enforced, the program is not started.
                    oomGroup   <boolean> default: false
                        true: beyond the memory limit the kernel kills all of the process tree and not one process
                        of it; takes control groups of version 2.
                    memoryMax  <size>
                        Of a Task: the most memory it may use while the machine has some to spare; memory when left
                        out.
                    cores      <integer>
                        Of a Task: how many processors it has for itself, where its driver can do that; 0 for none.
                    pids       <integer>
                        Of a Container: how many processes it may have, where its guest can limit that.
                """, Explain.text("Plugin.spec.limits"));
    }

    @Test
    void aSingleFieldIsExplainedWithItsNotation() {
        assertEquals("""
                KIND:     Process
                VERSION:  homeostat.io/v1
                FIELD:    spec.restart.maxDelay  <duration> default: 5m

                DESCRIPTION:
                    The longest pause between two restarts; less than 100ms counts as 100ms.
                    Written as 500ms, 10s, 5m or 1h30m.
                """, Explain.text("Process.spec.restart.maxDelay"));
    }

    @Test
    void theFieldsOfAListAreThoseOfItsElements() {
        assertTrue(Explain.text("Process.spec.execution.rules").contains("<list of object>"));
        assertTrue(Explain.text("Process.spec.execution.rules.scope").contains("<os|instance|metadata> required"));
        assertEquals(
                Explain.text("Process.spec.execution.rules.scope"),
                Explain.text("Process.spec.execution.rules[].scope"));
    }

    @Test
    void theAgentIsExplainedToo() {
        assertTrue(
                Explain.text("Agent").startsWith("KIND:     Agent\n\nDESCRIPTION:\n    How the agent on this machine"));
        assertTrue(Explain.text("Agent.sources.controlPlane.identity.file").contains("<string> required"));
    }

    @Test
    void whatAVariableMayBeIsExplained() {
        assertTrue(Explain.text("Process.spec.env").contains("<map of string to string|object>"));
        assertTrue(Explain.text("Process.spec.env.file").contains("<string> required"));
    }

    @Test
    void anUnknownPathIsAnsweredWithWhatThereIs() {
        assertEquals(
                "no field 'limit' in Plugin.spec; did you mean 'limits'? there are: revision, source, entryPoint, arguments, env,"
                        + " envFiles, user, workingDirectory, umask, group, supplementaryGroups, nice, oomScoreAdjust, rlimits,"
                        + " reload, install, limits, start, stop, health, restart, metrics, execution, dependsOn,"
                        + " maxDisruption, maintenanceWindow, keepRevisions, config",
                refusal("Plugin.spec.limit"));
        assertEquals(
                "no kind 'Pod'; there are: Container, Driver, Plugin, Process, Sandbox, Task, Rollout, Agent",
                refusal("Pod.spec"));
        assertEquals(
                "no kind ''; there are: Container, Driver, Plugin, Process, Sandbox, Task, Rollout, Agent",
                refusal(""));
        assertEquals(
                "Plugin.spec.rlimits has no fields; it is <map of string to string>",
                refusal("Plugin.spec.rlimits.nofile"));
        assertEquals("no field 'FOO' in Plugin.spec.env; there are: file", refusal("Plugin.spec.env.FOO"));
        assertEquals(
                "no field '' in Plugin; there are: apiVersion, kind, metadata, placement, spec", refusal("Plugin."));
    }

    @Test
    void whatIsBesideTheSpecIsExplainedLikeTheRest() {
        assertTrue(Explain.text("Process.placement").contains("    matchLabels"), Explain.text("Process.placement"));
        String waves = Explain.text("Rollout.spec.waves");
        assertTrue(waves.startsWith("KIND:     Rollout\n"), waves);
        assertTrue(waves.contains("<list of number or percent> default: [1, 10%, 50%, 100%]"), waves);
        assertEquals(
                "no field 'placement' in Rollout; there are: apiVersion, kind, metadata, spec",
                refusal("Rollout.placement"));
    }

    @Test
    void everyFieldOfTheModelIsDocumented() {
        assertDocumented(Shape.of(PluginSpec.class));
        assertDocumented(Shape.of(ProcessSpec.class));
        assertDocumented(Shape.of(Placement.class));
        assertDocumented(Shape.of(RolloutSpec.class));
        assertDocumented(Shape.of(AgentConfig.class));
    }

    private static void assertDocumented(Shape shape) {
        for (Field field : shape.fields()) {
            assertFalse(field.doc().isEmpty(), () -> shape.type() + "." + field.key());
            switch (field.type()) {
                case FieldType.Nested nested -> assertDocumented(nested.shape());
                case FieldType.Items items
                when items.element() instanceof FieldType.Nested nested -> assertDocumented(nested.shape());
                case FieldType.Entries entries
                when entries.value() instanceof FieldType.TextOr choice ->
                    assertDocumented(choice.object().shape());
                case FieldType.Either either -> assertDocumented(either.object().shape());
                default -> {}
            }
        }
    }

    private static String refusal(String path) {
        return String.valueOf(assertThrows(IllegalArgumentException.class, () -> Explain.text(path))
                .getMessage());
    }
}
