package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.Metadata;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Scalar;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The frame of a workload's document: apiVersion, kind, metadata, spec. */
final class Documents {
    static final String API_VERSION = "homeostat.io/v1";
    static final ImmutableList<String> KEYS = ImmutableList.of("apiVersion", "kind", "metadata", "spec");

    private Documents() {}

    /** A workload and the node that names it. */
    record Named(Workload workload, Node name) {}

    /** The workload of a document that somebody wrote; empty when an error was reported. */
    static Optional<Named> read(Node root, Report report, @Nullable Path base) {
        return read(root, report, new Binder(report, base));
    }

    /** The workload of a document that was made of a message; empty when an error was reported. */
    static Optional<Named> readSent(Node root, Report report) {
        return read(root, report, new Binder(report, null, true, false));
    }

    /** The workload of a document that was stored, maybe under fewer rules; empty when an error was reported. */
    static Optional<Named> readStored(Node root, Report report) {
        return read(root, report, new Binder(report, null, true, true));
    }

    private static Optional<Named> read(Node root, Report report, Binder binder) {
        if (!(root instanceof Mapping mapping)) {
            report.error(
                    Problem.Kind.VALUE,
                    root,
                    "",
                    root.described() + " where a document is wanted; write the keys " + String.join(", ", KEYS));
            return Optional.empty();
        }
        if (isConfiguration(mapping)) {
            report.error(
                    Problem.Kind.VALUE,
                    root,
                    "",
                    "no workload, but the configuration of an agent; homeostat validate --config FILE checks it");
            return Optional.empty();
        }
        Map<String, Entry> entries = new HashMap<>();
        for (Entry entry : mapping.entries()) {
            entries.put(entry.key().text(), entry);
            if (!KEYS.contains(entry.key().text())) {
                binder.unknown(entry.key(), KEYS);
            }
        }
        KEYS.stream().filter(key -> !entries.containsKey(key)).forEach(key -> binder.missing(key, mapping));
        checkVersion(entries.get("apiVersion"), report);
        Kind kind = kind(entries.get("kind"), report);
        Metadata metadata = record(Metadata.class, entries.get("metadata"), binder);
        Entry said = entries.get("spec");
        boolean masked = said != null && MaskedValues.reported(said.value(), report);
        WorkloadSpec spec = kind == null || masked ? null : record(kind.spec(), said, binder);
        if (kind == null || metadata == null || spec == null) {
            return Optional.empty();
        }
        Workload workload = new Workload(new WorkloadId(kind, metadata.name()), metadata.labels(), spec);
        Node name = nameIn(entries.get("metadata"), mapping);
        MaxDisruption disruption = workload.lifecycle().maxDisruption();
        if (disruption != null && !workload.labels().containsKey(disruption.label())) {
            report.error(
                    Problem.Kind.VALUE,
                    name,
                    "spec.maxDisruption.label",
                    "the workload has no label '" + Binder.shown(disruption.label())
                            + "'; add it to metadata.labels, or name one that it has");
            return Optional.empty();
        }
        return Optional.of(new Named(workload, name));
    }

    private static boolean isConfiguration(Mapping mapping) {
        ImmutableSet<String> keys =
                mapping.entries().stream().map(entry -> entry.key().text()).collect(ImmutableSet.toImmutableSet());
        return KEYS.stream().noneMatch(keys::contains)
                && Shape.of(AgentConfig.class).keys().stream().anyMatch(keys::contains);
    }

    private static <T> @Nullable T record(Class<T> type, @Nullable Entry entry, Binder binder) {
        return entry == null
                ? null
                : type.cast(binder.record(Shape.of(type), entry.key().text(), entry.value(), entry.key()));
    }

    private static void checkVersion(@Nullable Entry entry, Report report) {
        if (entry != null
                && !(entry.value() instanceof Scalar version && version.text().equals(API_VERSION))) {
            report.error(
                    Problem.Kind.VALUE,
                    entry.value(),
                    "apiVersion",
                    described(entry.value()) + " is unknown; write " + API_VERSION);
        }
    }

    private static @Nullable Kind kind(@Nullable Entry entry, Report report) {
        if (entry == null) {
            return null;
        }
        Optional<Kind> kind = entry.value() instanceof Scalar scalar ? Kind.ofTitle(scalar.text()) : Optional.empty();
        if (kind.isEmpty()) {
            String titles = Kind.all().stream().map(Kind::title).collect(Collectors.joining(" or "));
            report.error(
                    Problem.Kind.VALUE,
                    entry.value(),
                    "kind",
                    described(entry.value()) + " is unknown; write " + titles);
        }
        return kind.orElse(null);
    }

    private static String described(Node node) {
        return node instanceof Scalar scalar && scalar.meaning() != Plain.NULL
                ? "'" + Binder.shown(scalar.text()) + "'"
                : node.described();
    }

    private static Node nameIn(@Nullable Entry metadata, Node otherwise) {
        if (metadata != null && metadata.value() instanceof Mapping mapping) {
            for (Entry entry : mapping.entries()) {
                if (entry.key().text().equals("name")) {
                    return entry.value();
                }
            }
        }
        return otherwise;
    }
}
