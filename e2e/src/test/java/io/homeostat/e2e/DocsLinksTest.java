package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import com.google.common.base.Splitter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The documentation as a whole: what leads where, what is in the site, and that nothing in it escapes {@link DocsTest}. */
final class DocsLinksTest {
    /** What blocks of the shell may do that no test does: they change a whole machine. {@code dist/try} tries the packages. */
    private static final Set<String> ADMINISTRATION =
            Set.of("apt", "dpkg", "systemctl", "journalctl", "tar", "man", "cp", "ln", "mkdir", "mvn");

    /** A program of others and what it is given. */
    private static final Pattern COMMAND = Pattern.compile("(?!.*\\bhomeostat [a-z])(?:\\./)?[a-z][\\w.+/-]* (?!= ).*");

    /** That of which these tests are a part. */
    private static final String BUILD = "mvn verify ";

    private static final String NEEDS_IT = "needs it on the machine, which none of the tests does";
    private static final String ANOTHER_MACHINE = "needs another machine";
    private static final String OPTION = "says which option a command of the reader's should have";
    private static final String MESSAGE = "no command, but what Homeostat says";
    private static final String PART = "a part of a declaration or a build, which a test runs as a whole";

    /** Commands of others in sentences that no test runs, and why not. */
    private static final Map<String, String> NOT_RUN = Map.ofEntries(
            Map.entry(
                    "mvn -Pdist package -DskipTests",
                    "dist/try makes the packages so, without the modules of the tests"),
            Map.entry("e2e/bench report", "measures for hours"),
            Map.entry("mv /opt/homeostat /opt/homeostat-1 && ln -s homeostat-1 /opt/homeostat", "UpgradeTest runs it"),
            Map.entry("systemctl --version", "only looks"),
            Map.entry(
                    "echo -memory >/sys/fs/cgroup/system.slice/homeostat.service/cgroup.subtree_control",
                    "OperabilityTest runs the line of the unit that does the same"),
            Map.entry("python3 -B", OPTION),
            Map.entry("pip --no-compile", OPTION),
            Map.entry(
                    "mvn verify -pl e2e -am -Pnightly -Dtest=UiTest,FleetUiTest -Dsurefire.failIfNoSpecifiedTests=false -Dui.pictures=$PWD/docs/images",
                    "the build of which this test is a part"),
            Map.entry("systemctl disable --now web", "of a service that the reader has"),
            Map.entry("nomad job run -output", NEEDS_IT),
            Map.entry("kubectl diff", "only compared with"),
            Map.entry("podman load", NEEDS_IT),
            Map.entry("ssh -L 9465:127.0.0.1:9465 HOST", ANOTHER_MACHINE),
            Map.entry(
                    "apt install python3-grpcio python3-protobuf",
                    "PluginExamplesTest is skipped without them, and says so"),
            Map.entry("protoc --python_out=.", "was run once, and needs its version of that time"),
            Map.entry("back to number 2", MESSAGE),
            Map.entry("this program is being overwritten, or its installation is damaged", MESSAGE),
            Map.entry("sleep 5", PART),
            Map.entry("sleep 10", PART));

    /** Commands of Homeostat in sentences that no block can run, and the test that does. */
    private static final Map<String, String> RUN_ELSEWHERE = Map.ofEntries(
            Map.entry("completion", "CompletionTest, with the shells"),
            Map.entry("exec", "ExecTest and ContainerTest, with a driver and a guest"),
            Map.entry("exec -it", "ExecTest and ContainerTest, at a terminal"),
            Map.entry("logs -f", "FollowTest and AgentCommandsTest: it goes on for ever"),
            Map.entry("status --watch", "FollowTest: it goes on for ever"),
            Map.entry("status --run-dir", "DocsTest, which gives both to each command of a page"));

    /** Homeostat, and what it is told. */
    private static final Pattern OWN_CALL = Pattern.compile("(?<![\\w-])homeostat ([^|;&()>\"\n]+)");

    /** Of a command, in docs/commands.md. */
    private static final String ROW = "| `";

    private static final int README_LINES = 120;

    @TempDir
    Path temp;

    @Test
    void everyLinkLeadsToAFileAndAHeading() {
        List<String> dead = DocPage.allWithReadmes().stream()
                .flatMap(page -> page.links().stream()
                        .filter(link -> !link.target().matches("[a-z]+:.*") && !leadsSomewhere(page, link.target()))
                        .map(link -> page.name() + ":" + link.line() + ": " + link.target()))
                .toList();
        assertEquals(List.of(), dead);
    }

    private static boolean leadsSomewhere(DocPage page, String target) {
        String[] parts = target.split("#", 2);
        Path file = parts[0].isEmpty()
                ? page.file()
                : page.file().resolveSibling(parts[0]).normalize();
        return Files.exists(file)
                && (parts.length == 1 || DocPage.read(file).headings().contains(parts[1]));
    }

    @Test
    void noCommandIsShownThatNoTestRuns() {
        assertEquals(
                List.of(),
                DocPage.allWithReadmes().stream()
                        .flatMap(page -> page.untested(ADMINISTRATION).stream())
                        .toList());
    }

    /** Those of Homeostat are read by its parser in a test of the command line. */
    @Test
    void commandsOfOthersInSentencesAreRunOrItIsSaidWhyNot() throws IOException {
        String run = DocPage.allWithReadmes().stream()
                        .flatMap(page -> page.blocks().stream()
                                .filter(block -> block.language().matches("console|sh")))
                        .map(DocPage.Block::text)
                        .collect(Collectors.joining())
                + script("try")
                + script("try-image");
        Set<String> own = commands();
        Set<String> unused = new TreeSet<>(NOT_RUN.keySet());
        List<String> unknown = new ArrayList<>();
        for (DocPage page : DocPage.allWithReadmes()) {
            for (DocPage.Code code : page.code()) {
                String command = code.text();
                if (!COMMAND.matcher(command).matches()
                        || own.contains(command.split(" ", 2)[0])
                        || unused.remove(command)
                        || NOT_RUN.containsKey(command)
                        || run.contains(command)) {
                    continue;
                }
                unknown.add(page.name() + ":" + code.line() + ": " + command);
            }
        }
        assertEquals(List.of(), unknown);
        assertEquals(Set.of(), unused, "no page shows these any more");
    }

    /** Each command of Homeostat that is named in a sentence, and each option with it, is in a block, or tried with the packages. */
    @Test
    void commandsOfHomeostatInSentencesAreRunOrItIsSaidWhere() throws IOException {
        Set<String> run = new TreeSet<>();
        Stream.concat(
                        DocPage.allWithReadmes().stream()
                                .flatMap(page -> page.blocks().stream())
                                .map(DocPage.Block::text),
                        Stream.of("try", "try-image", "try-machine-inside").map(DocsLinksTest::script))
                .flatMap(text -> OWN_CALL.matcher(text).results())
                .forEach(call -> run.addAll(calls(call.group(1))));
        Set<String> unused = new TreeSet<>(RUN_ELSEWHERE.keySet());
        Set<String> commands = commands();
        List<String> unknown = new ArrayList<>();
        for (DocPage page : DocPage.allWithReadmes()) {
            for (DocPage.Code code : page.code()) {
                Matcher call = OWN_CALL.matcher(code.text());
                String words = call.find() ? call.group(1) : code.text();
                if (!words.contains(" ") && words.equals(code.text())
                        || !commands.contains(words.split(" ", 2)[0])
                        || code.text().contains("[")
                        || code.text().contains("\\|")
                        || code.text().contains(" = ")) {
                    continue;
                }
                for (String each : calls(words)) {
                    if (!run.contains(each) && !unused.remove(each) && !RUN_ELSEWHERE.containsKey(each)) {
                        unknown.add(page.name() + ":" + code.line() + ": " + each);
                    }
                }
            }
        }
        assertEquals(List.of(), unknown);
        assertEquals(Set.of(), unused, "no page names these any more, or a block runs them");
    }

    /** The command, and the command with each of its options. */
    private static List<String> calls(String words) {
        List<String> all = Splitter.on(' ').omitEmptyStrings().splitToList(words);
        return Stream.concat(
                        Stream.of(all.getFirst()),
                        all.stream()
                                .takeWhile(word -> !word.equals("--"))
                                .filter(word -> word.matches("--?[a-z].*"))
                                .map(option -> all.getFirst() + " " + option.replaceFirst("=.*", "")))
                .toList();
    }

    private static Set<String> commands() throws IOException {
        return Files.readAllLines(Distribution.checkout().resolve("docs/commands.md")).stream()
                .filter(line -> line.startsWith(ROW))
                .map(row -> row.substring(ROW.length()).split("[ `]", 2)[0])
                .collect(Collectors.toSet());
    }

    private static String script(String name) {
        try {
            return Files.readString(Distribution.checkout().resolve("dist").resolve(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aCommandIsToldFromWhatIsNone() {
        for (String command :
                List.of("systemctl status homeostat", "e2e/bench report", "./fetch-jdk 25", "mvn -q verify")) {
            assertTrue(COMMAND.matcher(command).matches(), command);
        }
        for (String other : List.of(
                "policy: never",
                "restart = true",
                "homeostat plan -f FILE",
                "./homeostat run --config FILE",
                "source <(homeostat completion bash)",
                "curl",
                "--to 2",
                "Error occurred")) {
            assertFalse(COMMAND.matcher(other).matches(), other);
        }
    }

    /** It is read by those who decide whether to read on; what they need then is in docs/. */
    @Test
    void theReadmeIsShort() throws IOException {
        List<String> lines = Files.readAllLines(Distribution.checkout().resolve("README.md"));
        assertTrue(lines.size() <= README_LINES, () -> "README.md has " + lines.size() + " lines; move some to docs/");
    }

    @Test
    void figuresOfTheReadmeAreMeasured() throws IOException {
        String readme = Files.readString(Distribution.checkout().resolve("README.md"));
        for (String figure : List.of(
                "takes " + median("RSS of the agent, 20 processes, MiB") + " MiB",
                "after " + median("process killed -> exec again, ms") + " ms")) {
            assertTrue(readme.contains(figure), () -> "README.md does not say '" + figure + "', as was measured");
        }
    }

    private static long median(String figure) throws IOException {
        String row = "| " + figure + " | homeostat | ";
        String cells = Files.readAllLines(Distribution.checkout().resolve("docs/benchmarks.md")).stream()
                .filter(line -> line.startsWith(row))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("docs/benchmarks.md has no figure " + figure));
        return Math.round(Double.parseDouble(cells.substring(row.length()).split(" \\| ", 3)[1]));
    }

    /** It runs the blocks of a page that are named there by their first line. */
    @Test
    void everyBlockThatNoTestRunsIsTriedWithThePackages() throws IOException {
        String tried = Files.readString(Distribution.checkout().resolve("dist/try"));
        List<String> untried = DocPage.allWithReadmes().stream()
                .flatMap(page -> page.blocks().stream()
                        .filter(block -> block.language().equals("sh")
                                && block.title().isEmpty()
                                && !block.lines().getFirst().startsWith(BUILD)
                                && !PluginExamplesTest.runs(page, block)
                                && !UpgradeTest.runs(page, block))
                        .filter(block -> !tried.contains(
                                page.file().getFileName() + " '" + block.lines().getFirst() + "'"))
                        .map(block -> page.name() + ":" + block.line() + ": "
                                + block.lines().getFirst()))
                .toList();
        assertEquals(List.of(), untried);
    }

    @Test
    void everyPageIsInTheNavigation() throws IOException {
        JsonNode navigation = new YAMLMapper()
                .readTree(Distribution.checkout().resolve("mkdocs.yml").toFile())
                .get("nav");
        Set<String> named = new TreeSet<>();
        navigation.forEach(entry -> entry.forEach(page -> named.add("docs/" + page.asText())));
        assertEquals(DocPage.all().stream().map(DocPage::name).collect(Collectors.toCollection(TreeSet::new)), named);
    }

    /** Where {@code docs/build-site} has been used before: no test fetches what it needs. */
    @Test
    void theSiteIsBuiltWithoutAWarningAndFetchesNothing() throws IOException, InterruptedException {
        Path checkout = Distribution.checkout();
        assumeTrue(
                Files.isExecutable(checkout.resolve("target/site-venv/bin/mkdocs")),
                "no mkdocs in target/site-venv; docs/build-site installs it");
        Path log = temp.resolve("log");
        Process build = new ProcessBuilder(
                        "docs/build-site", temp.resolve("site").toString())
                .directory(checkout.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        assertTrue(build.waitFor(Patience.LONGEST.toSeconds(), TimeUnit.SECONDS));
        assertEquals(0, build.exitValue(), Files.readString(log));

        List<String> fetching = new ArrayList<>();
        for (DocPage page : DocPage.all()) {
            Path html = temp.resolve("site")
                    .resolve(checkout.resolve("docs")
                            .relativize(page.file())
                            .toString()
                            .replaceFirst("md$", "html"));
            Files.readString(html)
                    .lines()
                    .filter(line -> line.matches(".*(?:<script[^>]* src|<link[^>]* href|<img[^>]* src)=\"https?:.*"))
                    .forEach(line -> fetching.add(html + ": " + line));
        }
        assertEquals(List.of(), fetching);
        assertTrue(Files.exists(temp.resolve("site/search/search_index.json")), "the site can't be searched");
    }
}
