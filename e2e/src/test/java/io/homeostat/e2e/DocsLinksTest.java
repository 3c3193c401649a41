package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The documentation as a whole: what leads where, what is in the site, and that nothing in it escapes {@link DocsTest}. */
final class DocsLinksTest {
    /** What blocks of the shell may do that no test does: they change a whole machine. {@code dist/try} tries the packages. */
    private static final Set<String> ADMINISTRATION =
            Set.of("apt", "dpkg", "systemctl", "journalctl", "tar", "man", "cp", "ln", "mkdir", "mvn");

    private static final int README_LINES = 120;

    @TempDir
    Path temp;

    @Test
    void everyLinkLeadsToAFileAndAHeading() {
        List<String> dead = DocPage.allWithReadme().stream()
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
                DocPage.allWithReadme().stream()
                        .flatMap(page -> page.untested(ADMINISTRATION).stream())
                        .toList());
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
        List<String> untried = DocPage.all().stream()
                .flatMap(page -> page.blocks().stream()
                        .filter(block -> block.language().equals("sh")
                                && block.title().isEmpty()
                                && !PluginExamplesTest.runs(page, block))
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
