package io.homeostat.reconcile.command.environment;

import io.homeostat.desired.model.Workload;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.Texts;

/** Parses documents and prints their stored form; an interface so that a test can count calls. */
public interface DocumentFormat {
    /** The one there is. */
    DocumentFormat STANDARD = new DocumentFormat() {};

    default ReadResult parse(Texts texts) {
        return parse(texts, Choice.ALL);
    }

    /** As far as they count for somebody. */
    default ReadResult parse(Texts texts, Choice choice) {
        return DocumentReader.parse(texts, choice);
    }

    default CanonicalDocument print(Workload workload) {
        return CanonicalDocument.of(workload);
    }
}
