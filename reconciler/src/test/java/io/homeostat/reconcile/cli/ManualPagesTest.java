package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ManualPagesTest {
    @TempDir
    Path directory;

    private static String page(String name) {
        return Objects.requireNonNull(ManualPages.all().get(name), name);
    }

    @Test
    void thereIsAPageForEachCommandThatIsForPeople() {
        Map<String, String> pages = ManualPages.all();
        for (Verb verb : Verb.values()) {
            assertEquals(!verb.hidden(), pages.containsKey("homeostat-" + verb.word() + ".1"), verb.word());
        }
        assertTrue(pages.keySet().containsAll(List.of("homeostat.1", "homeostat.yaml.5", "homeostat-agent.yaml.5")));
    }

    @Test
    void aCommandIsDescribedWithItsOwnOptionsAndExitStatus() {
        String page = page("homeostat-apply.1");
        assertTrue(page.contains("\\fB\\-f\\fR, \\fB\\-\\-file\\fR \\fIPATH\\fR"), page);
        assertTrue(page.contains("\\fB\\-f\\fR \\fIPATH\\fR..."), page);
        assertTrue(page.contains(".SH \"EXIT STATUS\"\n.PP\n0 what is given"), page);
        assertFalse(page.contains("log\\-level"), page);
        assertFalse(page.contains("Exit status:"), page);
    }

    @Test
    void everyFieldIsInThePageOfItsFile() {
        String documents = page("homeostat.yaml.5");
        assertTrue(documents.contains(".SS \"Process.spec.limits\"\n"), documents);
        assertTrue(documents.contains("\\fBoomGroup\\fR <boolean> default: false\n"), documents);
        String agent = page("homeostat-agent.yaml.5");
        assertTrue(agent.contains("\\fBresync\\fR"), agent);
        assertFalse(agent.contains("Process.spec"), agent);
    }

    /** What begins with a point or an apostrophe would be an order to it. */
    @Test
    void noTextIsAnOrderToTheFormatter() {
        Pattern order = Pattern.compile("\\.(TH|SH|SS|PP|TP|nf|fi|nh|ad) ?.*");
        ManualPages.all()
                .forEach((name, page) -> page.lines()
                        .filter(line -> line.startsWith(".") || line.startsWith("'"))
                        .forEach(line -> assertTrue(order.matcher(line).matches(), name + ": " + line)));
    }

    @Test
    void theFormatterHasNothingToSay() throws IOException, InterruptedException {
        Assumptions.assumeTrue(Files.isExecutable(Path.of("/usr/bin/groff")), "no groff");
        ManualPages.write(directory);
        try (Stream<Path> pages = Files.list(directory)) {
            for (Path page : pages.toList()) {
                Process groff = new ProcessBuilder("/usr/bin/groff", "-man", "-Tutf8", "-ww", "-z", page.toString())
                        .redirectErrorStream(true)
                        .start();
                String said = new String(groff.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                assertEquals("", said, page.toString());
                assertEquals(0, groff.waitFor());
            }
        }
    }

    @Test
    void aDirectoryThatCannotBeMadeIsNamed() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "");
        CommandFailure failure = assertThrows(CommandFailure.class, () -> ManualPages.write(file.resolve("man")));
        assertTrue(String.valueOf(failure.getMessage()).contains(file.toString()), failure.getMessage());
    }
}
