package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.ReadWorkload;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.proto.agent.AppliedDocuments;
import io.homeostat.proto.agent.DocumentFile;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Text;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Valid documents to be applied.
 *
 * @param workloads each with the origin that led to it
 * @param texts that the documents were read from, each with the origin that led to it
 * @param origins the absolute paths that were given, or {@link #STANDARD_INPUT}; empty when none was
 * @param prune whether to withdraw what an earlier apply of these origins declared and this one doesn't
 */
public record DocumentSet(
        ImmutableList<ReadWorkload> workloads,
        ImmutableList<Input.Text> texts,
        ImmutableSet<String> origins,
        boolean prune) {
    /** The origin of what was read from standard input. */
    public static final String STANDARD_INPUT = "-";

    /** Nothing was given. */
    public static final DocumentSet NONE =
            new DocumentSet(ImmutableList.of(), ImmutableList.of(), ImmutableSet.of(), false);

    /** Documents that were read, with the origin of each input. */
    public static DocumentSet of(
            ReadResult read, UnaryOperator<String> origin, ImmutableSet<String> origins, boolean prune) {
        return new DocumentSet(
                read.workloads().stream()
                        .map(found -> new ReadWorkload(
                                found.workload(), origin.apply(found.input()), found.file(), found.line()))
                        .collect(ImmutableList.toImmutableList()),
                read.texts().stream()
                        .map(text ->
                                new Input.Text(text.name(), origin.apply(text.input()), text.directory(), text.text()))
                        .collect(ImmutableList.toImmutableList()),
                origins,
                prune);
    }

    /** @throws UsageException when it is not valid */
    static DocumentSet of(AppliedDocuments request) {
        ImmutableSet<String> origins =
                request.getOriginsList().stream().map(DocumentSet::origin).collect(ImmutableSet.toImmutableSet());
        if (request.getPrune() && (origins.isEmpty() || origins.contains(STANDARD_INPUT))) {
            throw new UsageException(
                    "prune: goes by the origins, and needs absolute paths among them and nothing else");
        }
        ReadResult read = DocumentReader.readAll(
                request.getFilesList().stream().map(file -> text(file, origins)).toList());
        if (!read.valid()) {
            throw new UsageException(
                    read.errors().stream().map(Problem::toString).collect(Collectors.joining("\n")));
        }
        return of(read, UnaryOperator.identity(), origins, request.getPrune());
    }

    private static Input.Text text(DocumentFile file, ImmutableSet<String> origins) {
        if (!origins.contains(file.getOrigin())) {
            throw new UsageException(Text.oneLine(file.getName()) + ": its origin is none of the origins");
        }
        return new Input.Text(
                file.getName(),
                file.getOrigin(),
                file.getDirectory().isEmpty() ? null : absolute("directory", file.getDirectory()),
                file.getText());
    }

    private static String origin(String origin) {
        return origin.equals(STANDARD_INPUT)
                ? origin
                : absolute("origins", origin).toString();
    }

    private static Path absolute(String field, String path) {
        try {
            if (path.startsWith("/") && Path.of(path).normalize().toString().equals(path)) {
                return Path.of(path);
            }
        } catch (InvalidPathException e) {
            throw new UsageException(field + ": one is no path");
        }
        throw new UsageException(field + ": '" + Text.oneLine(path) + "' is no absolute path"
                + (field.equals("origins") ? " and not -" : ""));
    }

    AppliedDocuments request() {
        AppliedDocuments.Builder request =
                AppliedDocuments.newBuilder().addAllOrigins(origins).setPrune(prune);
        for (Input.Text text : texts) {
            Path directory = text.directory();
            request.addFiles(DocumentFile.newBuilder()
                    .setName(text.name())
                    .setOrigin(text.input())
                    .setDirectory(directory == null ? "" : directory.toString())
                    .setText(text.text()));
        }
        return request.build();
    }

    boolean isNone() {
        return origins.isEmpty();
    }

    ImmutableList<WorkloadId> ids() {
        return workloads.stream().map(found -> found.workload().id()).collect(ImmutableList.toImmutableList());
    }

    /** In the form in which they are stored: this prints them. */
    ImmutableList<ToApply> documents() {
        return workloads.stream()
                .map(found -> new ToApply(found.workload(), found.input()))
                .collect(ImmutableList.toImmutableList());
    }

    /** The desired state that {@link io.homeostat.desired.state.StateStore#apply} would leave behind, all sources considered. */
    DesiredState appliedTo(ImmutableList<StoredDeclaration> stored) {
        ImmutableList.Builder<StoredDeclaration> result = ImmutableList.builder();
        TreeMap<WorkloadId, StoredDeclaration> before = new TreeMap<>();
        for (StoredDeclaration declaration : stored) {
            if (declaration.source() == SourceName.APPLIED) {
                before.put(declaration.workload().id(), declaration);
            } else {
                result.add(declaration);
            }
        }
        TreeMap<WorkloadId, StoredDeclaration> applied = new TreeMap<>(before);
        if (prune) {
            applied.values().removeIf(declaration -> origins.contains(declaration.origin()));
        }
        for (ToApply document : documents()) {
            WorkloadId id = document.workload().id();
            applied.put(id, applied(document, before.get(id)));
        }
        return StoredState.desired(result.addAll(applied.values()).build());
    }

    private static StoredDeclaration applied(ToApply applied, @Nullable StoredDeclaration before) {
        CanonicalDocument document = applied.document();
        long generation =
                before == null ? 1 : before.generation() + (document.hash().equals(before.hash()) ? 0 : 1);
        return new StoredDeclaration(
                SourceName.APPLIED,
                document.workload(),
                applied.origin(),
                generation,
                document.hash(),
                document.text().length());
    }
}
