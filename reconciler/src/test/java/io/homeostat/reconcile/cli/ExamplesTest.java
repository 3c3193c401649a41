package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the documentation shows can be used as it stands. */
class ExamplesTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern YAML = Pattern.compile("```yaml\n(.*?)```", Pattern.DOTALL);
    private static final String DECLARATION = "apiVersion:";

    @TempDir
    Path directory;

    static Stream<Path> examples() throws IOException {
        try (Stream<Path> files = Files.walk(ROOT.resolve("examples"))) {
            return files.filter(file -> file.toString().endsWith(".yaml")).map(ROOT::relativize).toList().stream();
        }
    }

    @ParameterizedTest
    @MethodSource("examples")
    void everyExampleIsValid(Path file) throws IOException {
        assertValid(Files.readString(ROOT.resolve(file)));
    }

    /** Blocks of docs/ that have a title are files, which the tests of the built program use. */
    @Test
    void everyDeclarationAndConfigurationInTheDocumentationIsValid() throws IOException {
        List<String> blocks = new ArrayList<>();
        for (Path page : pages()) {
            YAML.matcher(Files.readString(page))
                    .results()
                    .map((MatchResult block) -> block.group(1))
                    .forEach(blocks::add);
        }
        assertFalse(blocks.isEmpty());

        for (String block : blocks) {
            assertValid(block);
        }
    }

    private static List<Path> pages() throws IOException {
        try (Stream<Path> files = Files.walk(ROOT.resolve("docs"))) {
            return Stream.concat(
                            Stream.of(ROOT.resolve("README.md")),
                            files.filter(file -> file.toString().endsWith(".md")))
                    .toList();
        }
    }

    private void assertValid(String yaml) throws IOException {
        if (yaml.contains(DECLARATION)) {
            byte[] text = yaml.getBytes(StandardCharsets.UTF_8);
            ReadResult read = DocumentReader.readAll(List.of(
                    new Input.Stream("-", new ByteArrayInputStream(text), ROOT.resolve("examples/quickstart"))));
            assertEquals(ImmutableList.of(), read.errors());
            assertEquals(
                    List.of(),
                    read.warnings().stream()
                            // An example of an order has not to show all that stands in it.
                            .filter(warning -> !warning.message().contains("is not declared here"))
                            .toList());
        } else {
            Path config = Files.writeString(directory.resolve("agent.yaml"), yaml);
            assertEquals(ImmutableList.of(), AgentConfigReader.read(config).errors());
        }
    }
}
