package io.homeostat.reconcile.command.environment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.Streams;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.JsonSchema;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigFileTest {
    @TempDir
    Path directory;

    @Test
    void withoutAFileTheDefaultsHold() {
        assertEquals(
                AgentConfigReader.defaults(), new ConfigFile(directory.resolve("agent.yaml"), false, false).read());
    }

    @Test
    void aFileThatWasAskedForHasToBeThere() {
        ConfigFile file = new ConfigFile(directory.resolve("agent.yaml"), true, false);

        CommandFailure failure = assertThrows(CommandFailure.class, file::read);

        assertEquals(file.path() + " does not exist; correct --config or HOMEOSTAT_CONFIG", failure.getMessage());
    }

    @Test
    void allThatIsWrongIsSaidAtOnce() throws IOException {
        Path file = Files.writeString(directory.resolve("agent.yaml"), "resync: 5\nlog: {level: loud}\n");

        CommandFailure failure = assertThrows(CommandFailure.class, new ConfigFile(file, false, false)::read);

        assertEquals(3, String.valueOf(failure.getMessage()).lines().count(), failure.getMessage());
    }

    @Test
    void theExampleSaysWhatHoldsWithoutIt() {
        AgentConfig example = new ConfigFile(Path.of("..", "examples", "agent", "agent.yaml"), true, false).read();
        AgentConfig defaults = AgentConfigReader.defaults();

        assertEquals(defaults.resync(), example.resync());
        assertEquals(defaults.metrics(), example.metrics());
        assertEquals(defaults.log(), example.log());
        assertEquals(defaults.limits(), example.limits());
        assertEquals(defaults.sources().local(), example.sources().local());
        assertEquals(List.of("/etc/homeostat/desired.d"), example.sources().files());
        assertEquals(defaults.instanceId(), example.instanceId());
        assertEquals(defaults.protectedPlugins(), example.protectedPlugins());
        assertEquals(defaults.signatures(), example.signatures());
        assertEquals(defaults.hooks(), example.hooks());
    }

    @Test
    void theExampleHasEveryKey() throws IOException {
        String example = Files.readString(Path.of("..", "examples", "agent", "agent.yaml"));

        ImmutableList<String> missing = Streams.stream(new ObjectMapper()
                        .readTree(JsonSchema.agent())
                        .path("properties")
                        .fieldNames())
                .filter(key -> !example.contains("\n" + key + ":"))
                .collect(ImmutableList.toImmutableList());

        assertEquals(ImmutableList.of(), missing);
    }
}
