package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The plugins of examples/plugins, which are built as the page on plugins says, and live as it promises. */
@Tag("nightly")
final class PluginExamplesTest {
    private static final String PAGE = "docs/plugins.md";
    private static final String PLUGIN = "plugin/greeter";

    /** The headings below which the page shows how a plugin is built and bundled, and what a machine needs to do so. */
    private enum Language {
        JAVA("Java", List.of()),
        GO("Go", List.of("command -v go", "go -C /home/you/homeostat/examples/plugins/go mod download")),
        PYTHON("Python", List.of("/usr/bin/python3 -c 'import grpc, google.protobuf'")),
        PYTHON_WITH_ITS_MODULES(
                "Python that brings its modules",
                List.of(
                        "/usr/bin/python3 -m pip --version",
                        "/usr/bin/python3 -m pip download --no-deps -d fetched protobuf"));

        private final String heading;
        private final List<String> needs;

        Language(String heading, List<String> needs) {
            this.heading = heading;
            this.needs = needs;
        }
    }

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    private DocMachine machine;

    @BeforeEach
    void machine() throws IOException {
        machine = new DocMachine(homeostat);
        // Where the caches of tools are.
        homeostat.environment("HOME", System.getProperty("user.home"));
        homeostat.environment("PATH", machine.path() + ":/usr/local/go/bin");
    }

    /** Whether this test runs what a block of the shell shows. */
    static boolean runs(DocPage page, DocPage.Block block) {
        return page.name().equals(PAGE)
                && block.language().equals("sh")
                && List.of(Language.values()).stream().anyMatch(language -> language.heading.equals(block.heading()));
    }

    @ParameterizedTest
    @EnumSource
    void aPluginIsBuiltAsThePageSaysAndLives(Language language) throws IOException {
        language.needs.forEach(need -> assumeTrue(
                shell(need).exit() == 0,
                () -> "there is no way here to build the plugin in " + language.heading + ": " + need));
        shell("set -e\n" + build(language)).exits(0);
        String bundled = Files.readString(homeostat.directory().resolve("greeter.yaml")) + "  env: {JAVA_HOME: "
                + System.getProperty("java.home") + "}\n";
        homeostat.agent(AgentConfig.of());

        // It starts with its configuration, and says how it is.
        configure(bundled, "greeting: hello").exits(0).says("installed 1.0.0");
        homeostat.awaitRunning(PLUGIN);
        assertEquals("True", Homeostat.condition(homeostat.status(PLUGIN), "Healthy"));
        assertEquals("launch 1", health());
        assertEquals(List.of("hello"), log());
        long first = homeostat.pid(PLUGIN);

        // It takes another one, refuses a wrong one, and goes on.
        configure(bundled, "greeting: good morning").exits(0).says("configured");
        homeostat.run("vm-event", "startup").exits(0).says("told");
        configure(bundled, "greet: nobody").exits(1).says("no greeting");
        assertEquals(List.of("hello", "good morning"), log());
        configure(bundled, "greeting: good morning").exits(0);
        assertEquals(first, homeostat.pid(PLUGIN));

        // It is started again, with the state that it had.
        Processes.kill(first);
        homeostat.awaitAnother(PLUGIN, first);
        eventually().until(() -> health().equals("launch 2"));

        // It ends when it is asked to, and of itself changes nothing that is compared.
        homeostat.run("restart", PLUGIN).exits(0);
        eventually().until(() -> health().equals("launch 3"));
        assertEquals(List.of("stopping", "goodbye", "good morning"), last(3, log()));
        assertTrue(homeostat.run("plan").exits(0).out().contains("1 unchanged"));
        homeostat.run("delete", PLUGIN).exits(0);
        assertEquals(List.of(), homeostat.processes(PLUGIN));
        assertEquals(
                2,
                homeostat.events().stream()
                        .filter(event -> event.get("type").asText().equals("PLUGIN_STOPPED"))
                        .filter(event -> event.get("message").asText().endsWith("; ended when it was asked to"))
                        .count());
    }

    @Test
    void theProtocolOfTheExamplesIsOurs() throws IOException {
        assertEquals(
                Files.readString(Distribution.checkout().resolve("proto/src/main/proto/acp/plugin_comm.proto")),
                Files.readString(
                        Distribution.checkout().resolve("examples/plugins/java/src/main/proto/plugin_comm.proto")));
    }

    /** The commands of the first block below the heading; what a console shows of them is {@link DocsTest}'s affair. */
    private String build(Language language) {
        DocPage page = DocPage.read(Distribution.checkout().resolve(PAGE));
        DocPage.Block block = page.blocks().stream()
                .filter(one -> one.heading().equals(language.heading))
                .findFirst()
                .orElseGet(() -> fail(PAGE + " doesn't show how to build in " + language.heading));
        return machine.here(
                block.language().equals("console")
                        ? page.shown(block).stream().map(DocPage.Shown::command).collect(Collectors.joining("\n"))
                        : block.text());
    }

    private Result shell(String script) {
        return homeostat.checked(homeostat.shell(machine.here(script)).await(Patience.BUILD));
    }

    private Result configure(String bundled, String config) throws IOException {
        Path file = Files.writeString(
                homeostat.directory().resolve("greeter.yaml"), bundled + "  config: {struct: {" + config + "}}\n");
        return homeostat.apply(file);
    }

    private String health() {
        return homeostat.status(PLUGIN).at("/health/results/0").asText();
    }

    private List<String> log() {
        return homeostat.run("logs", PLUGIN).exits(0).out().lines().toList();
    }

    private static List<String> last(int count, List<String> lines) {
        return lines.subList(Math.max(0, lines.size() - count), lines.size());
    }
}
