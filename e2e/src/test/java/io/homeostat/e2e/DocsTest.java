package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.controlplane.EtcdCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every command that a README or a page of the documentation shows does and prints what the page says; e2e/README.md has the rules. Each
 * command is a process, so without {@code -Pnightly} only README.md is run, or with {@code -Dpage=WORDS} those with these
 * words in their paths.
 */
final class DocsTest {
    /** Commands that only look: they are repeated until they print what is shown, or patience ends. */
    private static final List<String> LOOKS = List.of(
            "homeostat status",
            "homeostat plan",
            "homeostat events",
            "homeostat logs",
            "homeostat history",
            "homeostat describe",
            "homeostat fleet status",
            "homeostat fleet plan",
            "homeostat fleet rollouts",
            "homeostat ui",
            "curl ",
            "cat ");

    /** Run by default. */
    private static final List<String> FIRST = List.of("README.md");

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    /** Numbers that a page shows, such as pids, and what they are here. */
    private final Map<String, String> numbers = new HashMap<>();

    private DocMachine machine;
    private int exit;

    static Stream<String> pages() {
        return DocPage.allWithReadmes().stream()
                .filter(page -> page.blocks().stream()
                        .anyMatch(block -> block.language().equals("console")))
                .map(DocPage::name)
                .filter(DocsTest::isWanted);
    }

    private static boolean isWanted(String page) {
        String words = System.getProperty("page", "");
        return words.isEmpty() ? Boolean.getBoolean("nightly") || FIRST.contains(page) : page.contains(words);
    }

    @BeforeEach
    void machine() throws IOException {
        machine = new DocMachine(homeostat);
    }

    @ParameterizedTest
    @MethodSource("pages")
    void aPageShowsWhatHappens(String name) throws IOException {
        DocPage page = DocPage.named(name);
        assumeTrue(EtcdCluster.isInstalled() || !page.starts("etcd"), "needs etcd");
        if (name.endsWith("README.md")) {
            checkout();
        }
        for (DocPage.Block block : page.blocks()) {
            if (block.title().isPresent()) {
                write(machine.here(block.title().orElseThrow()), machine.here(block.text()));
            } else if (block.language().equals("console")) {
                for (DocPage.Shown shown : page.shown(block)) {
                    check(page.name() + ":" + shown.line(), shown);
                }
            }
        }
    }

    /** A README is read in a checkout: the quickstart is there, with the archive that the build has made. */
    private void checkout() throws IOException {
        for (Path file : List.of(
                Distribution.checkout().resolve("examples/quickstart/homeostat.yaml"),
                SampleProgram.GREETER.archive())) {
            Path here = homeostat
                    .directory()
                    .resolve(Distribution.checkout().relativize(file).toString());
            Files.createDirectories(here.getParent());
            Files.copy(file, here);
        }
    }

    /** At once and whole: an agent may be reading it. */
    private void write(String title, String text) throws IOException {
        Path file = homeostat.directory().resolve(title);
        Files.createDirectories(file.getParent());
        Path whole = Files.writeString(file.resolveSibling(".new"), text);
        if (text.startsWith("#!")) {
            Files.setPosixFilePermissions(whole, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
        Files.move(whole, file, StandardCopyOption.REPLACE_EXISTING);
    }

    private void check(String place, DocPage.Shown shown) {
        String command = DocOutput.here(machine.here(shown.command()), numbers);
        DocOutput[] output = {run(command, shown)};
        boolean looks = LOOKS.stream().anyMatch(command::startsWith);
        if (looks && !output[0].matches()) {
            try {
                eventually().until(() -> {
                    output[0] = run(command, shown);
                    return output[0].matches();
                });
            } catch (ConditionTimeoutException e) {
                // The last output is shown below.
            }
        }
        if (!output[0].matches() && (looks || !output[0].matchesInAnyOrder())) {
            fail(place + ": '" + shown.command() + "' prints (exit status " + exit
                    + "), - only the page, + only the program:\n" + output[0].difference());
        }
        output[0].learn(numbers);
    }

    private DocOutput run(String command, DocPage.Shown shown) {
        Result result = homeostat
                .shell("exec 2>&1\n(exit " + exit + ")\n" + command.replaceFirst("^\\./homeostat ", "homeostat "))
                .await(Patience.BUILD);
        if (!command.startsWith("echo $?")) {
            exit = result.exit();
        }
        return DocOutput.of(
                shown.output(), machine.there(homeostat.checked(result).out()));
    }

    /** What files have declared only an agent withdraws: this one knows no file, and is ended with the test. */
    @AfterEach
    void endAgents() {
        end(" fleet controller ");
        List<Processes.Seen> agents = end(" run ");
        end("etcd --");
        if (!agents.isEmpty() || Files.exists(homeostat.stateDir().resolveSibling("etc/desired.d"))) {
            Agent _ = homeostat.agent(AgentConfig.of());
        }
    }

    /** Ends what this page has started with these words in its command, and says what that was. */
    private List<Processes.Seen> end(String words) {
        List<Processes.Seen> found = homeostat.everyProcess().stream()
                .filter(process ->
                        process.workload().isEmpty() && process.command().contains(words))
                .toList();
        found.forEach(process -> Processes.signal("TERM", process.pid()));
        eventually().until(() -> found.stream().noneMatch(process -> Processes.isAlive(process.pid())));
        return found;
    }
}
