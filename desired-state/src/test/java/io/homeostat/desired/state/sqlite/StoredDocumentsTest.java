package io.homeostat.desired.state.sqlite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.sqlite.SqliteStateReader.StoredDocuments;
import io.homeostat.desired.yaml.DocumentCodec;
import org.junit.jupiter.api.Test;

class StoredDocumentsTest {
    private final StoredDocuments documents = new StoredDocuments();
    private final Workload workload = Samples.plugin("a", "1");
    private final String text = DocumentCodec.toJson(workload);

    @Test
    void whatIsRememberedIsNeitherParsedNorPrinted() {
        documents.remember(workload, text);

        assertSame(workload, documents.read(text));
        assertSame(text, documents.write(workload));
    }

    @Test
    void whatWasReadOnceIsNeitherParsedNorPrintedAgain() {
        Workload read = documents.read(text);

        assertSame(read, documents.read(text));
        assertSame(text, documents.write(read));
    }

    @Test
    void whatWasNeverSeenIsPrinted() {
        assertEquals(text, documents.write(workload));
    }
}
