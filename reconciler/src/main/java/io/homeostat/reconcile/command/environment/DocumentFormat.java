package io.homeostat.reconcile.command.environment;

import io.homeostat.desired.model.Workload;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.Texts;

/** Makes workloads of texts, and the form in which they are stored of workloads: so that a test can count it. */
public interface DocumentFormat {
    /** The one there is. */
    DocumentFormat STANDARD = new DocumentFormat() {};

    default ReadResult parse(Texts texts) {
        return DocumentReader.parse(texts);
    }

    default CanonicalDocument print(Workload workload) {
        return CanonicalDocument.of(workload);
    }
}
