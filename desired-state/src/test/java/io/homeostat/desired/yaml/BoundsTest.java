package io.homeostat.desired.yaml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.yaml.DocumentReader.Input;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.Isolated;

/** Files that are made to cost: each ends soon, with an error that says what was too much. */
@Isolated("Holds itself to a time.")
@Execution(ExecutionMode.SAME_THREAD)
class BoundsTest {
    private static final int MANY = 300_000;

    @Test
    void aFileOfNothingButErrorsShowsTheFirstThousand() {
        List<Problem> errors = read("---\na: b\n".repeat(20_000));
        assertEquals(Report.MAX_ERRORS + 1, errors.size());
        assertEquals(
                "and more; the first 1000 errors are shown", errors.getLast().message());
    }

    @Test
    void aDocumentOfTooManyValuesIsRefused() {
        assertEquals(
                "text:100000:3: more than 100000 keys and values in one document, aliases counted; write fewer",
                read("- a\n".repeat(MANY)).getFirst().toString());
    }

    @Test
    void tooManyBracketsAreRefusedAtTheLimit() {
        assertEquals(
                "text:1:66: nested deeper than 64 levels; flatten it",
                read("[".repeat(MANY)).getFirst().toString());
    }

    @Test
    void theBoundsAreThoseOfOneDocument() {
        String document = "- &a [" + "a, ".repeat(40_000) + "]\n- *a\n";
        assertEquals(
                List.of("text:1:1: a list where a document is wanted; write the keys apiVersion, kind, metadata, spec"),
                read(document).stream().map(Problem::toString).toList());
        assertEquals(3, read((document + "---\n").repeat(3)).size());
    }

    @Test
    void aTextOfManyMegabytesIsRefusedAtOnceHoweverItIsWritten() {
        String line = "x".repeat(79);
        String longText = "x".repeat(15 << 20);
        for (String value : List.of(
                longText,
                "\"" + longText + "\"",
                "'" + longText + "'",
                "|\n" + (" " + line + "\n").repeat(15 << 20 >> 7))) {
            long before = System.nanoTime();
            assertEquals(
                    "text:2:4: a text longer than 1048576 characters; keep it in a file of its own",
                    read("a: 1\nb: " + value + "\n").getFirst().toString());
            assertTrue(Duration.ofNanos(System.nanoTime() - before).toSeconds() < 20);
        }
    }

    @Test
    void aKeyThatCouldNotBeReadWhereItIsStoredIsRefused() {
        String document = """
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata:
                  name: a
                spec:
                  revision: '1'
                  install: local
                  entryPoint: /bin/true
                  env: {? %1$s : a}
                  config: {struct: {a: {? %1$s : a}}}
                """;

        assertEquals(List.of(), read(document.formatted("k".repeat(50_000))));
        assertEquals(
                List.of(
                        "text:9:11: spec.env: a key of more than 50000 characters; shorten it",
                        "text:10:27: spec.config.struct: a key of more than 50000 characters; shorten it"),
                read(document.formatted("k".repeat(50_001))).stream()
                        .map(Problem::toString)
                        .toList());
    }

    private static List<Problem> read(String text) {
        var stream = new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
        return assertTimeoutPreemptively(
                Duration.ofSeconds(60),
                () -> DocumentReader.readAll(List.of(new Input.Stream("text", stream, Path.of("/"))))
                        .errors());
    }
}
