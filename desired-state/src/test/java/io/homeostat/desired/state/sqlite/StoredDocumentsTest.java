package io.homeostat.desired.state.sqlite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.sqlite.SqliteStateReader.StoredDocuments;
import io.homeostat.desired.yaml.CanonicalDocument;
import org.junit.jupiter.api.Test;

class StoredDocumentsTest {
    private final StoredDocuments documents = new StoredDocuments();
    private final CanonicalDocument document = CanonicalDocument.of(Samples.plugin("a", "1"));

    @Test
    void whatIsRememberedIsNeitherParsedNorPrinted() {
        documents.remember(document.workload(), document.text());

        assertSame(document.workload(), documents.read(document.text()));
        assertSame(document.text(), documents.write(document.workload()));
    }

    @Test
    void whatWasReadOnceIsNeitherParsedNorPrintedAgain() {
        Workload read = documents.read(document.text());

        assertSame(read, documents.read(document.text()));
        assertSame(document.text(), documents.write(read));
    }

    @Test
    void whatWasNeverSeenIsPrinted() {
        assertEquals(document.text(), documents.write(document.workload()));
    }
}
