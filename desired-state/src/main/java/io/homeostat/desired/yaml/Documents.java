package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.Metadata;
import io.homeostat.desired.model.Placement;
import io.homeostat.desired.model.RolloutSpec;
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
    static final String ROLLOUT = "Rollout";
    static final String PLACEMENT = "placement";

    /** Those that each document has. */
    static final ImmutableList<String> KEYS = ImmutableList.of("apiVersion", "kind", "metadata", "spec");

    private static final ImmutableList<String> KEYS_OF_WORKLOADS =
            ImmutableList.of("apiVersion", "kind", "metadata", PLACEMENT, "spec");

    private Documents() {}

    /** What a document says, and the node that names it. */
    sealed interface Written {
        Node name();
    }

    /** A workload. */
    record Named(Workload workload, Node name) implements Written {}

    /** A rollout, which is no workload, but what becomes of some. */
    record NamedRollout(String title, RolloutSpec spec, Node name) implements Written {}

    /** What a document says that somebody wrote; empty when an error was reported. */
    static Optional<Written> read(Node root, Report report, @Nullable Path base) {
        return read(root, report, new Binder(report, base));
    }

    /** The workload of a document that was made of a message; empty when an error was reported. */
    static Optional<Named> readSent(Node root, Report report) {
        return workload(read(root, report, new Binder(report, null, true, false)));
    }

    /** The workload of a document that was stored, maybe under fewer rules; empty when an error was reported. */
    static Optional<Named> readStored(Node root, Report report) {
        return workload(read(root, report, new Binder(report, null, true, true)));
    }

    private static Optional<Named> workload(Optional<Written> written) {
        return written.filter(Named.class::isInstance).map(Named.class::cast);
    }

    private static Optional<Written> read(Node root, Report report, Binder binder) {
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
        mapping.entries().forEach(entry -> entries.put(entry.key().text(), entry));
        boolean rollout = isRollout(entries.get("kind"));
        ImmutableList<String> known = rollout ? KEYS : KEYS_OF_WORKLOADS;
        mapping.entries().stream()
                .filter(entry -> !known.contains(entry.key().text()))
                .forEach(entry -> binder.unknown(entry.key(), known));
        KEYS.stream().filter(key -> !entries.containsKey(key)).forEach(key -> binder.missing(key, mapping));
        checkVersion(entries.get("apiVersion"), report);
        Kind kind = rollout ? null : kind(entries.get("kind"), report);
        Metadata metadata = record(Metadata.class, entries.get("metadata"), binder);
        Entry said = entries.get("spec");
        if (rollout) {
            RolloutSpec spec = record(RolloutSpec.class, said, binder);
            return metadata == null || spec == null
                    ? Optional.empty()
                    : Optional.of(new NamedRollout(metadata.name(), spec, nameIn(entries.get("metadata"), mapping)));
        }
        Entry placed = entries.get(PLACEMENT);
        Placement placement = placed == null ? Placement.ANYWHERE : record(Placement.class, placed, binder);
        boolean masked = said != null && MaskedValues.reported(said.value(), report);
        WorkloadSpec spec = kind == null || masked ? null : record(kind.spec(), said, binder);
        if (kind == null || metadata == null || placement == null || spec == null) {
            return Optional.empty();
        }
        Workload workload = new Workload(new WorkloadId(kind, metadata.name()), metadata.labels(), placement, spec);
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

    /** Whether it says that it is a rollout, however it goes on. */
    static boolean isRollout(Node root) {
        return root instanceof Mapping mapping
                && mapping.entries().stream()
                        .filter(entry -> entry.key().text().equals("kind"))
                        .anyMatch(Documents::isRollout);
    }

    private static boolean isRollout(@Nullable Entry kind) {
        return kind != null
                && kind.value() instanceof Scalar title
                && title.text().equals(ROLLOUT);
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
