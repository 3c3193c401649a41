package io.homeostat.desired.yaml;

import com.google.common.collect.ArrayListMultimap;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ListMultimap;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Dependencies;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads workloads from YAML. All errors of all files are found in one go, and nothing is ever thrown for what is in a file.
 * Not for use by several threads.
 */
public final class DocumentReader {
    private static final String NAME = "metadata.name";

    private final List<ReadWorkload> workloads = new ArrayList<>();
    private final List<Problem> errors = new ArrayList<>();
    private final List<Problem> warnings = new ArrayList<>();
    private final ListMultimap<WorkloadId, Problem> unmet = ArrayListMultimap.create();
    private final Map<WorkloadId, Problem> places = new LinkedHashMap<>();
    private final ImmutableMap<WorkloadId, String> inForce;

    private DocumentReader(ImmutableMap<WorkloadId, String> inForce) {
        this.inForce = inForce;
    }

    /** Reads files and directories, in this order; see {@link Input.At}. */
    public static ReadResult read(List<Path> paths) {
        return readAll(paths.stream().map(Input.At::new).toList());
    }

    /** Reads the inputs, in this order. */
    public static ReadResult readAll(List<? extends Input> inputs) {
        return parse(collect(inputs));
    }

    /** Gets the texts of the inputs, in this order. */
    public static Texts collect(List<? extends Input> inputs) {
        Collector collector = new Collector();
        inputs.forEach(collector::input);
        return new Texts(ImmutableList.copyOf(collector.texts), ImmutableList.copyOf(collector.errors));
    }

    /** The workloads of texts; what could not be read is among the errors. A workload that two texts declare is an error at the later one. */
    public static ReadResult parse(Texts texts) {
        return parse(texts, ImmutableMap.of());
    }

    /**
     * As {@link #parse(Texts)}, but where one of two texts that declare a workload is in force, the error is at the other one, wherever
     * that stands.
     *
     * @param inForce the names of the texts by the workloads that are in force from there
     */
    public static ReadResult parse(Texts texts, ImmutableMap<WorkloadId, String> inForce) {
        return parse(texts, inForce, new Memory());
    }

    /** As {@link #parse(Texts, ImmutableMap)}, of texts that mostly are what they were the last time. */
    public static ReadResult parse(Texts texts, ImmutableMap<WorkloadId, String> inForce, Memory memory) {
        DocumentReader reader = new DocumentReader(inForce);
        reader.errors.addAll(texts.errors());
        memory.contents(texts.texts()).forEach(reader::content);
        reader.order();
        return new ReadResult(
                ImmutableList.copyOf(reader.workloads),
                ImmutableList.sortedCopyOf(reader.errors),
                ImmutableList.sortedCopyOf(reader.warnings),
                ImmutableListMultimap.copyOf(reader.unmet));
    }

    /** Reads a document that was not written as YAML, by the same rules, but without paths, and with any name. Errors call it {@code name}. */
    public static ReadResult readTree(String name, DocumentTree document) {
        Report report = new Report(name);
        Optional<Documents.Named> read = Documents.readSent(document.node(), report);
        return new ReadResult(
                report.errors().isEmpty()
                        ? read.map(named -> new ReadWorkload(named.workload(), name, name, 1)).stream()
                                .collect(ImmutableList.toImmutableList())
                        : ImmutableList.of(),
                ImmutableList.sortedCopyOf(report.errors()),
                ImmutableList.sortedCopyOf(report.warnings()),
                ImmutableListMultimap.of());
    }

    /**
     * Reads one record of a document, such as a {@code Config}; empty if there are errors.
     *
     * @param path the keys under which it stands in a document, for errors
     */
    public static <T extends Record> Optional<T> readPart(
            Class<T> type, String path, DocumentTree part, Consumer<Problem> errors) {
        Report report = new Report(path);
        Node node = part.node();
        Object read = new Binder(report, null, true, false).record(Shape.of(type), path, node, node);
        report.errors().forEach(errors);
        return Optional.ofNullable(read).map(type::cast);
    }

    private void order() {
        Together together = new Together(
                Maps.transformValues(
                        Maps.uniqueIndex(workloads, read -> read.workload().id()), ReadWorkload::workload),
                places);
        errors.addAll(together.errors());
        unmet.putAll(together.unmet());
        warnings.addAll(unmet.values());
        warnings.addAll(together.shared());
    }

    private void content(Content content) {
        warnings.addAll(content.warnings());
        Report report = content.again();
        content.documents().forEach(found -> document(found, report));
        errors.addAll(report.errors());
    }

    private void document(Found found, Report report) {
        WorkloadId id = found.read().workload().id();
        Problem place = found.place();
        Problem first = places.get(id);
        if (first != null
                && (first.file().equals(inForce.get(id)) || !place.file().equals(inForce.get(id)))) {
            report.error(isDeclaredTwice(id, place, first));
            return;
        }
        if (first != null) {
            workloads.removeIf(read -> read.workload().id().equals(id));
            errors.add(isDeclaredTwice(id, first, place));
        }
        places.put(id, place);
        workloads.add(found.read());
    }

    private static Problem isDeclaredTwice(WorkloadId id, Problem at, Problem first) {
        return new Problem(
                at.kind(),
                "",
                at.file(),
                at.line(),
                at.column(),
                NAME,
                id + " is declared twice, first at " + first.place() + "; remove or rename one");
    }

    /** A document, and where it names its workload; the message of that is not used. */
    private record Found(ReadWorkload read, Problem place) {}

    /**
     * What a text says, whatever others say.
     *
     * @param count of errors, those that are left out included
     */
    private record Content(
            String name,
            ImmutableList<Found> documents,
            ImmutableList<Problem> errors,
            int count,
            ImmutableList<Problem> warnings) {
        static Content of(Input.Text text) {
            Report report = new Report(text.name());
            ImmutableList.Builder<Found> documents = ImmutableList.builder();
            YamlText.read(
                    text.text(),
                    report,
                    root -> Documents.read(root, report, text.directory())
                            .map(named -> found(named, root, text))
                            .ifPresent(documents::add));
            return new Content(
                    text.name(),
                    documents.build(),
                    ImmutableList.copyOf(report.errors()),
                    report.count(),
                    ImmutableList.copyOf(report.warnings()));
        }

        /** A report to which more can be added, within the limit of a file. */
        Report again() {
            return new Report(name, errors, count);
        }

        private static Found found(Documents.Named named, Node root, Input.Text text) {
            Node name = named.name();
            return new Found(
                    new ReadWorkload(named.workload(), text.input(), text.name(), root.line()),
                    new Problem(Problem.Kind.DUPLICATE, text.name(), name.line(), name.column(), ""));
        }
    }

    /** What the latest texts said, for one who reads the same ones again and again. Not for use by several threads. */
    public static final class Memory {
        private Map<Input.Text, Content> latest = Map.of();

        private List<Content> contents(List<Input.Text> texts) {
            Map<Input.Text, Content> before = latest;
            Map<Input.Text, Content> now = new LinkedHashMap<>();
            List<Content> contents = new ArrayList<>();
            for (Input.Text text : texts) {
                Content known = before.get(text);
                Content content = known == null ? Content.of(text) : known;
                now.put(text, content);
                contents.add(content);
            }
            latest = now;
            return contents;
        }
    }

    /** Reads texts and parses none. */
    private static final class Collector {
        private final List<Input.Text> texts = new ArrayList<>();
        private final List<Problem> errors = new ArrayList<>();
        private final DocumentFiles files = new DocumentFiles(errors::add);

        private void input(Input input) {
            switch (input) {
                case Input.At at -> {
                    for (Path file : files.at(at.path())) {
                        file(file, at.path().toString());
                    }
                }
                case Input.Watched watched -> {
                    for (Path file : files.watched(watched.path())) {
                        file(file, watched.path().toString());
                    }
                }
                case Input.Stream stream ->
                    text(
                            stream.name(),
                            stream.name(),
                            stream.stream(),
                            stream.directory().toAbsolutePath());
                case Input.Text sent ->
                    text(
                            sent.name(),
                            sent.input(),
                            new ByteArrayInputStream(sent.text().getBytes(StandardCharsets.UTF_8)),
                            sent.directory());
            }
        }

        private void file(Path file, String input) {
            try (InputStream in = Files.newInputStream(file)) {
                if (Files.size(file) > TextFile.MAX_BYTES) {
                    errors.add(new Problem(Problem.Kind.TOO_LARGE, file.toString(), TextFile.TOO_LONG));
                    return;
                }
                text(file.toString(), input, in, file.toAbsolutePath().getParent());
            } catch (IOException e) {
                errors.add(new Problem(Problem.Kind.UNREADABLE, file.toString(), "can't be read: " + IoReason.of(e)));
            }
        }

        private void text(String name, String input, InputStream in, @Nullable Path base) {
            Report report = new Report(name);
            try {
                Optional<String> text = TextFile.read(in, report);
                text.ifPresent(yaml -> texts.add(new Input.Text(name, input, base, yaml)));
            } catch (IOException e) {
                report.error(Problem.Kind.UNREADABLE, "can't be read: " + IoReason.of(e));
            }
            errors.addAll(report.errors());
        }
    }

    /** What workloads have to be together: without a circle, in which nobody could be the first, and without wanting the same. */
    private static final class Together {
        private final ImmutableMap<WorkloadId, Workload> workloads;
        private final ImmutableMap<WorkloadId, Problem> places;

        /** @param places where each workload is named; their messages are not used */
        Together(Map<WorkloadId, Workload> workloads, Map<WorkloadId, Problem> places) {
            this.workloads = ImmutableMap.copyOf(workloads);
            this.places = ImmutableMap.copyOf(places);
        }

        /** An error for each workload that depends on itself. */
        ImmutableList<Problem> errors() {
            ImmutableList.Builder<Problem> errors = ImmutableList.builder();
            for (WorkloadId id : workloads.keySet()) {
                ImmutableList<WorkloadId> cycle = Dependencies.cycle(id, this::dependencies);
                if (!cycle.isEmpty()) {
                    errors.add(at(
                            id,
                            "spec.dependsOn: " + id + " depends on itself (" + Dependencies.words(cycle)
                                    + "), so none of these could be started first; remove one of them"));
                }
            }
            return errors.build();
        }

        /** What is waited for and stands nowhere here, with a warning for each that waits. */
        ImmutableListMultimap<WorkloadId, Problem> unmet() {
            ImmutableListMultimap.Builder<WorkloadId, Problem> warnings = ImmutableListMultimap.builder();
            workloads.forEach((id, workload) -> {
                WorkloadId whole = workload.spec().partOf();
                if (whole != null && !workloads.containsKey(whole)) {
                    warnings.put(
                            whole,
                            at(
                                    id,
                                    id + " is part of " + whole + ", which is not declared here; until that is declared"
                                            + " and runs, " + id + " is not started"));
                }
                for (WorkloadId needed : Dependencies.of(workload)) {
                    if (!workloads.containsKey(needed)) {
                        warnings.put(
                                needed,
                                at(
                                        id,
                                        "spec.dependsOn: " + needed
                                                + " is not declared here; until it is declared and runs, " + id
                                                + " is not started"));
                    }
                }
            });
            return warnings.build();
        }

        /** A warning for each that wants what another one has. Rules may leave one of them out on each machine. */
        ImmutableList<Problem> shared() {
            ImmutableList.Builder<Problem> warnings = ImmutableList.builder();
            Map<String, WorkloadId> first = new HashMap<>();
            workloads.forEach((id, workload) -> {
                String exclusive = workload.spec().exclusive();
                WorkloadId other = exclusive == null ? null : first.putIfAbsent(exclusive, id);
                if (other != null) {
                    warnings.add(at(
                            Problem.Kind.DUPLICATE,
                            id,
                            exclusive + " is that of " + other + ", too, and one of them only can be launched"));
                }
            });
            return warnings.build();
        }

        private ImmutableSet<WorkloadId> dependencies(WorkloadId id) {
            Workload workload = workloads.get(id);
            return workload == null ? ImmutableSet.of() : Dependencies.of(workload);
        }

        private Problem at(WorkloadId id, String message) {
            return at(Problem.Kind.CYCLE, id, message);
        }

        private Problem at(Problem.Kind kind, WorkloadId id, String message) {
            Problem place = places.get(id);
            if (place == null) {
                throw new IllegalStateException("no place of " + id);
            }
            return new Problem(kind, place.file(), place.line(), place.column(), message);
        }
    }

    /** Where documents are read from. */
    public sealed interface Input {
        /** A file, or a directory with all {@code .yaml} and {@code .yml} files below it. */
        record At(Path path) implements Input {}

        /** As {@link At}, but never a device or a FIFO, which might never end. */
        record Watched(Path path) implements Input {}

        /**
         * Standard input, for example; read to its end, not closed.
         *
         * @param directory that relative paths start from
         */
        record Stream(String name, InputStream stream, Path directory) implements Input {}

        /**
         * What another process has read.
         *
         * @param input what led to it, see {@link ReadWorkload#input}
         * @param directory that relative paths start from; null: there may be none
         */
        record Text(String name, String input, @Nullable Path directory, String text) implements Input {}
    }

    /**
     * What was read and is not parsed yet.
     *
     * @param errors for what could not be read
     */
    public record Texts(ImmutableList<Input.Text> texts, ImmutableList<Problem> errors) {
        public static final Texts NONE = new Texts(ImmutableList.of(), ImmutableList.of());
    }

    /**
     * What documents say.
     *
     * @param workloads the valid ones in the order they were read; to be used only when there is no error
     * @param warnings about what is valid but probably not meant; sorted by place, like errors
     * @param unmet what these depend on and do not declare, with those of the warnings that are about it: it may be declared elsewhere
     */
    public record ReadResult(
            ImmutableList<ReadWorkload> workloads,
            ImmutableList<Problem> errors,
            ImmutableList<Problem> warnings,
            ImmutableListMultimap<WorkloadId, Problem> unmet) {
        /** The warnings that are left where this is declared as well. */
        public ImmutableList<Problem> warningsBeside(Set<WorkloadId> declared) {
            Set<Problem> met = unmet.entries().stream()
                    .filter(one -> declared.contains(one.getKey()))
                    .map(Map.Entry::getValue)
                    .collect(Collectors.toSet());
            return warnings.stream().filter(warning -> !met.contains(warning)).collect(ImmutableList.toImmutableList());
        }

        public boolean valid() {
            return errors.isEmpty();
        }

        /** The same with what else was found wrong. */
        public ReadResult with(Collection<Problem> more) {
            return more.isEmpty()
                    ? this
                    : new ReadResult(
                            workloads,
                            Stream.concat(errors.stream(), more.stream())
                                    .sorted()
                                    .collect(ImmutableList.toImmutableList()),
                            warnings,
                            unmet);
        }

        /** The workloads without their places. */
        public ImmutableList<Workload> declared() {
            return workloads.stream().map(ReadWorkload::workload).collect(ImmutableList.toImmutableList());
        }
    }

    /**
     * A workload and where it was read.
     *
     * @param input the path or stream that led to the file, as it was given
     * @param line where the document begins, from 1
     */
    public record ReadWorkload(Workload workload, String input, String file, int line) {
        /** {@code file:line}. */
        public String origin() {
            return file + ":" + line;
        }
    }
}
