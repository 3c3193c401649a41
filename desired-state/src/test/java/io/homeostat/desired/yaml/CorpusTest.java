package io.homeostat.desired.yaml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * The reader and the JSON Schema have to agree on every document of {@code corpus/valid} and {@code corpus/invalid}; what only
 * the reader can see is in {@code corpus/reader-only}. Beside each invalid file stand the errors it gives, to the letter; a
 * run with {@code -Dcorpus.accept=true} writes them anew, for the author to read the difference.
 */
class CorpusTest {
    private static final Path CORPUS = Path.of("src/test/resources/corpus");
    private static final Schema SCHEMA = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
            .getSchema(JsonSchema.generate(), InputFormat.JSON);

    @TestFactory
    Stream<DynamicTest> theReaderAcceptsWhatIsValid() throws IOException {
        return Stream.of("valid", "reader-only/valid")
                .flatMap(CorpusTest::files)
                .map(file -> test(file, () -> {
                    assertEquals(List.of(), DocumentReader.read(List.of(file)).errors());
                }));
    }

    @TestFactory
    Stream<DynamicTest> theReaderNamesEveryErrorAndItsPlace() {
        return Stream.of("invalid", "reader-only/invalid")
                .flatMap(CorpusTest::files)
                .map(file -> test(file, () -> {
                    Path sidecar =
                            file.resolveSibling(file.getFileName().toString().replace(".yaml", ".errors"));
                    String errors = DocumentReader.read(List.of(file)).errors().stream()
                            .map(problem -> problem.toString()
                                            .replace(
                                                    file.toString(),
                                                    file.getFileName().toString()) + "\n")
                            .collect(Collectors.joining());
                    if (Boolean.getBoolean("corpus.accept")) {
                        Files.writeString(sidecar, errors);
                    }
                    assertNotEquals("", errors);
                    assertEquals(Files.readString(sidecar), errors);
                    assertFalse(errors.contains("hush"), "a secret is quoted");
                }));
    }

    @TestFactory
    Stream<DynamicTest> theSchemaAgreesOnEveryDocument() {
        return Stream.of("valid", "invalid")
                .flatMap(CorpusTest::files)
                .map(file -> test(file, () -> {
                    for (String document : documents(file)) {
                        ReadResult read = read(document);
                        if (!read.errors().isEmpty() || !read.workloads().isEmpty()) {
                            var errors = SCHEMA.validate(document, InputFormat.YAML);
                            assertEquals(read.valid(), errors.isEmpty(), () -> document + read.errors() + errors);
                        }
                    }
                }));
    }

    @TestFactory
    Stream<DynamicTest> whatIsValidIsStoredAndReadBackUnchanged() {
        return Stream.of("valid", "reader-only/valid")
                .flatMap(CorpusTest::files)
                .map(file -> test(file, () -> {
                    for (var workload : DocumentReader.read(List.of(file)).declared()) {
                        String json = DocumentCodec.toJson(workload);
                        assertEquals(workload, DocumentCodec.fromJson(json));
                        assertEquals(List.of(), SCHEMA.validate(json, InputFormat.JSON));
                    }
                }));
    }

    @Test
    void thereAreSixtyFilesAtLeast() {
        long shared = Stream.of("valid", "invalid").flatMap(CorpusTest::files).count();
        assertTrue(shared >= 60, () -> "only " + shared);
    }

    private static ImmutableList<String> documents(Path file) throws IOException {
        return Splitter.onPattern("(?m)^(?:---|\\.\\.\\.)$")
                .splitToStream(Files.readString(file))
                .collect(ImmutableList.toImmutableList());
    }

    private static ReadResult read(String document) {
        var stream = new ByteArrayInputStream(document.getBytes(StandardCharsets.UTF_8));
        return DocumentReader.readAll(List.of(new Input.Stream("document", stream, Path.of("/base"))));
    }

    private static DynamicTest test(Path file, org.junit.jupiter.api.function.Executable body) {
        return dynamicTest(CORPUS.relativize(file).toString(), body);
    }

    private static Stream<Path> files(String directory) {
        try (Stream<Path> files = Files.list(CORPUS.resolve(directory))) {
            return files.filter(file -> file.toString().endsWith(".yaml")).sorted().toList().stream();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
