package io.homeostat.reconcile.command.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.Explain;
import io.homeostat.desired.yaml.Explain.Explanation.Member;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.Written;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class DeclaredTest {
    private static final Path CORPUS = Path.of("../desired-state/src/test/resources/corpus/valid");
    private static final Pattern LEFT_OUT = Pattern.compile("[;,.] (\\S+) when left out");

    private static Declared declared(Workload workload) {
        CanonicalDocument document = CanonicalDocument.of(workload);
        return new Declared(
                new StoredDeclaration(SourceName.APPLIED, workload, "/a.yaml", 1, document.hash(), 1),
                ImmutableList.of());
    }

    private static ReadResult read(String yaml) {
        byte[] text = yaml.getBytes(StandardCharsets.UTF_8);
        return DocumentReader.readAll(
                List.of(new Input.Stream("-", new ByteArrayInputStream(text), Path.of("/elsewhere"))));
    }

    @Test
    void aCharacterThatIsNotVisibleIsEscaped() {
        assertEquals("a: \"x\\u202ey\"\n", BlockYaml.of(Map.of("a", "x\u202ey")));
        assertEquals("a: \"x\\u2028y\"\n", BlockYaml.of(Map.of("a", "x\u2028y")));
        assertEquals("a: Größe\n", BlockYaml.of(Map.of("a", "Größe")));
    }

    @Test
    void whatIsPrintedCanBeAppliedAgainUnlessASecretIsMasked() throws IOException {
        List<String> wrong = new ArrayList<>();
        int same = 0;
        int masked = 0;
        try (Stream<Path> files = Files.list(CORPUS)) {
            // One by one: several declare the same workload.
            for (Workload workload : files.sorted()
                    .flatMap(file -> DocumentReader.read(List.of(file)).declared().stream())
                    .toList()) {
                String yaml = declared(workload).yaml();
                ReadResult again = read(yaml);
                if (yaml.contains("masked:")) {
                    masked++;
                    ImmutableList<Problem> errors = again.errors();
                    if (errors.size() != 1 || !errors.getFirst().message().startsWith("this is what homeostat get")) {
                        wrong.add(workload.id() + ": " + errors);
                    }
                } else if (again.errors().isEmpty() && again.declared().equals(List.of(workload))) {
                    same++;
                } else {
                    wrong.add(workload.id() + ": " + again.errors() + "\n" + yaml);
                }
            }
        }

        assertEquals(List.of(), wrong);
        assertTrue(same > 30 && masked > 2, same + " can be applied again, " + masked + " are masked");
    }

    @Test
    void textsThatReadLikeNumbersAreQuoted() {
        Workload workload = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                spec:
                  install: local
                  entryPoint: /bin/web
                  arguments: ["600", "0027", "1_000", "0b11", "0x1F", "0o17", "1e3", "1.5", ".5", "-.inf", ".NaN", "True", "NULL", "~", "", "yes",
                    "2025-11-23", "# no comment", "a: b", " x", "- y", "12:30:00", "+1", "-", "two\\nlines", "\\u00e4\\ud83d\\ude00\\t"]
                """);

        ReadResult again = read(declared(workload).yaml());
        assertEquals(ImmutableList.of(), again.errors());
        assertEquals(ImmutableList.of(workload), again.declared());
    }

    /** The documentation says what holds of a field that is left out: so does get. */
    @Test
    void everyDefaultIsListed() {
        Map<String, String> documented = new TreeMap<>();
        collect("Process.spec", documented);
        collect("Plugin.spec", documented);
        documented.values().removeIf(value -> !value.matches("/|SIGTERM|always|[0-9].*"));

        Map<String, String> listed = new TreeMap<>();
        for (String execution : List.of("daemon}", "oneShot, triggers: {startup: true}}")) {
            declared(Written.workload("""
                            apiVersion: homeostat.io/v1
                            kind: Process
                            metadata: {name: web}
                            spec: {install: local, entryPoint: /bin/web, execution: {type: %s}
                            """.formatted(execution)))
                    .json()
                    .path("defaults")
                    .properties()
                    .forEach(each -> listed.put(each.getKey(), each.getValue().asText()));
        }

        assertEquals(documented, listed);
        assertTrue(
                listed.containsKey("spec.stop.signal") && listed.containsKey("spec.execution.timeout"),
                listed::toString);
    }

    private static void collect(String path, Map<String, String> documented) {
        for (Member member : Explain.explanation(path).fields()) {
            String field = path + "." + member.name();
            Matcher said = LEFT_OUT.matcher(member.description());
            if (said.find()) {
                documented.put(field.substring(field.indexOf('.') + 1), said.group(1));
            }
            collect(field, documented);
        }
    }
}
