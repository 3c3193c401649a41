package io.homeostat.reconcile.cli;

import io.homeostat.desired.model.Workload;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts the texts that are parsed, and the workloads that are printed. */
final class DocumentCounter implements DocumentFormat {
    private final AtomicInteger parsed = new AtomicInteger();
    private final AtomicInteger printed = new AtomicInteger();

    @Override
    public ReadResult parse(Texts texts, Choice choice) {
        parsed.addAndGet(texts.texts().size());
        return STANDARD.parse(texts, choice);
    }

    @Override
    public CanonicalDocument print(Workload workload) {
        printed.incrementAndGet();
        return STANDARD.print(workload);
    }

    @Override
    public String toString() {
        return parsed + " parsed, " + printed + " printed";
    }
}
