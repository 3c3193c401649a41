package io.homeostat.reconcile.command.start;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.reconcile.command.environment.DocumentFormat;
import java.nio.file.Path;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;

/** What tests of importers ask of documents. */
abstract class ImportsFixture {
    @TempDir
    Path directory;

    /** Valid, and on one line. */
    final String flat(Drafts drafts) {
        return drafts.text(DocumentFormat.STANDARD, directory).replaceAll("\\s+", " ");
    }

    /** It is told with its line, and stands in the document. */
    final void assertRemark(Drafts drafts, int line, String words) {
        assertTrue(
                drafts.remarks().stream()
                        .anyMatch(remark ->
                                remark.line() == line && remark.words().contains(words)),
                () -> drafts.remarks().stream().map(Object::toString).collect(Collectors.joining("\n")));
        assertTrue(flat(drafts).contains(words), flat(drafts));
    }
}
