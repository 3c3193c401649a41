package io.homeostat.desired.yaml;

import com.google.common.collect.ArrayListMultimap;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSetMultimap;
import com.google.common.collect.ListMultimap;
import com.google.common.collect.Maps;
import com.google.common.collect.MultimapBuilder;
import com.google.common.collect.Multimaps;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.Dependencies;
import io.homeostat.desired.model.DependencyCycles;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.yaml.Choice.ReadRollout;
import io.homeostat.desired.yaml.Choice.Verdict;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
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
    /** Those of the workloads that another document in force takes the place of. */
    private final Set<ReadWorkload> overruled = Sets.newIdentityHashSet();

    private final List<Problem> errors = new ArrayList<>();
    private final List<Problem> warnings = new ArrayList<>();
    private final ListMultimap<WorkloadId, Problem> unmet = ArrayListMultimap.create();
    private final List<NotHere> notHere = new ArrayList<>();
    private final ListMultimap<WorkloadId, Found> found =
            MultimapBuilder.linkedHashKeys().arrayListValues().build();
    private final ImmutableMap<WorkloadId, String> inForce;
    private final Choice choice;
    private final Rollouts rollouts;

    /** @param complete whether all that may declare a workload could be read */
    private DocumentReader(
            ImmutableMap<WorkloadId, String> inForce, Choice choice, List<Content> contents, boolean complete) {
        this.inForce = inForce;
        this.choice = choice;
        this.rollouts = new Rollouts(
                choice.takesRollouts()
                        ? contents.stream()
                                .flatMap(content -> content.rollouts().stream())
                                .toList()
                        : List.of(),
                contents.stream()
                        .flatMap(content -> content.documents().stream())
                        .map(document -> document.read().workload())
                        .toList(),
                complete);
    }

    /** Reads files and directories, in this order; see {@link Input.At}. */
    public static ReadResult read(List<Path> paths) {
        return readAll(paths.stream().map(Input.At::new).toList());
    }

    /** Reads the inputs, in this order. */
    public static ReadResult readAll(List<? extends Input> inputs) {
        return readAll(inputs, Choice.ALL);
    }

    /** As {@link #readAll(List)}, as far as it counts for somebody. */
    public static ReadResult readAll(List<? extends Input> inputs, Choice choice) {
        return parse(collect(inputs), choice);
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

    /** As {@link #parse(Texts)}, as far as it counts for somebody. */
    public static ReadResult parse(Texts texts, Choice choice) {
        return parse(texts, ImmutableMap.of(), new Memory(), choice);
    }

    /**
     * As {@link #parse(Texts)}, but where one of two texts that declare a workload is in force, the error is at the other one, wherever
     * that stands.
     *
     * @param inForce the names of the texts by the workloads that are in force from there
     */
    public static ReadResult parse(Texts texts, ImmutableMap<WorkloadId, String> inForce) {
        return parse(texts, inForce, new Memory(), Choice.ALL);
    }

    /** As {@link #parse(Texts, ImmutableMap)}, of texts that mostly are what they were the last time. */
    public static ReadResult parse(
            Texts texts, ImmutableMap<WorkloadId, String> inForce, Memory memory, Choice choice) {
        List<Content> contents = memory.contents(texts.texts());
        DocumentReader reader = new DocumentReader(
                inForce,
                choice,
                contents,
                texts.errors().isEmpty() && contents.stream().allMatch(Content::complete));
        reader.errors.addAll(texts.errors());
        reader.errors.addAll(reader.rollouts.errors());
        contents.forEach(reader::content);
        reader.order();
        return new ReadResult(
                reader.workloads.stream()
                        .filter(read -> !reader.overruled.contains(read))
                        .collect(ImmutableList.toImmutableList()),
                ImmutableList.copyOf(reader.notHere),
                contents.stream()
                        .flatMap(content -> content.rollouts().stream())
                        .map(Rollouts.Found::read)
                        .collect(ImmutableList.toImmutableList()),
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
                ImmutableList.of(),
                ImmutableList.of(),
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
        // No machine has two that declare the same; so the first of each are looked at together, and the last ones.
        Set<Problem> wrong = new LinkedHashSet<>();
        Set<Problem> shared = new LinkedHashSet<>();
        Set<Map.Entry<WorkloadId, Problem>> missing = new LinkedHashSet<>();
        for (Together together : together()) {
            wrong.addAll(together.errors());
            missing.addAll(together.unmet().entries());
            shared.addAll(together.shared());
        }
        errors.addAll(wrong);
        missing.forEach(one -> unmet.put(one.getKey(), one.getValue()));
        warnings.addAll(unmet.values());
        warnings.addAll(shared);
    }

    private ImmutableSet<Together> together() {
        Together first = new Together(Maps.transformValues(Multimaps.asMap(found), List::getFirst));
        return found.keySet().size() == found.size()
                ? ImmutableSet.of(first)
                : ImmutableSet.of(first, new Together(Maps.transformValues(Multimaps.asMap(found), List::getLast)));
    }

    private void content(Content content) {
        warnings.addAll(content.warnings());
        Report report = content.again();
        if (!choice.takesRollouts()) {
            content.rollouts().forEach(rollout -> report.error(isForSetsOnly(rollout.place())));
        }
        content.documents().forEach(found -> document(found, report));
        errors.addAll(report.errors());
    }

    private void document(Found document, Report report) {
        Workload workload = document.read().workload();
        WorkloadId id = workload.id();
        ReadRollout rollout = rollouts.of(id);
        switch (choice.verdict(workload, rollout)) {
            case Verdict.NotHere left -> {
                notHere.add(new NotHere(document.read(), left.rollout(), left.reason()));
                return;
            }
            case Verdict.Unknown unknown -> {
                report.error(document.error(Problem.Kind.VALUE, Documents.PLACEMENT, unknown.reason()));
                return;
            }
            case Verdict.Applies applies -> {}
        }
        Found first = found.get(id).stream()
                .filter(other -> choice.mayMeet(other.read().workload(), workload, rollout))
                .findFirst()
                .orElse(null);
        if (first != null && (isInForce(first) || !isInForce(document))) {
            report.error(isDeclaredTwice(document, first));
            return;
        }
        if (first != null) {
            found.remove(id, first);
            overruled.add(first.read());
            errors.add(isDeclaredTwice(first, document));
        }
        found.put(id, document);
        workloads.add(document.read());
    }

    private boolean isInForce(Found document) {
        return document.place()
                .file()
                .equals(inForce.get(document.read().workload().id()));
    }

    private static Problem isDeclaredTwice(Found at, Found first) {
        Workload workload = at.read().workload();
        boolean placed = !workload.placement().equals(first.read().workload().placement());
        return at.error(
                Problem.Kind.DUPLICATE,
                NAME,
                workload.id() + " is declared twice, first at " + first.place().place()
                        + (placed
                                ? ", and both may be for one machine; change the placement of one, or remove it"
                                : "; remove or rename one"));
    }

    private static Problem isForSetsOnly(Problem place) {
        return new Problem(
                Problem.Kind.VALUE,
                "",
                place.file(),
                place.line(),
                place.column(),
                "kind",
                Documents.ROLLOUT + " is for sets that are published; homeostat publish -f DIR publishes one");
    }

    /** A document, and where it names its workload; the message of that is not used. */
    private record Found(ReadWorkload read, Problem place) {
        Problem error(Problem.Kind kind, String path, String detail) {
            return new Problem(kind, "", place.file(), place.line(), place.column(), path, detail);
        }
    }

    /**
     * What a text says, whatever others say.
     *
     * @param complete whether all that may declare a workload could be read
     * @param count of errors, those that are left out included
     */
    private record Content(
            String name,
            ImmutableList<Found> documents,
            ImmutableList<Rollouts.Found> rollouts,
            boolean complete,
            ImmutableList<Problem> errors,
            int count,
            ImmutableList<Problem> warnings) {
        static Content of(Input.Text text) {
            Report report = new Report(text.name());
            ImmutableList.Builder<Found> documents = ImmutableList.builder();
            ImmutableList.Builder<Rollouts.Found> rollouts = ImmutableList.builder();
            AtomicInteger ofRollouts = new AtomicInteger();
            YamlText.read(text.text(), report, root -> {
                int before = report.count();
                Documents.read(root, report, text.directory()).ifPresent(written -> {
                    switch (written) {
                        case Documents.Named named ->
                            documents.add(new Found(
                                    new ReadWorkload(named.workload(), text.input(), text.name(), root.line()),
                                    place(named, text)));
                        case Documents.NamedRollout named ->
                            rollouts.add(new Rollouts.Found(
                                    new ReadRollout(named.title(), named.spec(), text.name(), root.line()),
                                    place(named, text)));
                    }
                });
                if (Documents.isRollout(root)) {
                    ofRollouts.addAndGet(report.count() - before);
                }
            });
            return new Content(
                    text.name(),
                    documents.build(),
                    rollouts.build(),
                    report.count() == ofRollouts.get(),
                    ImmutableList.copyOf(report.errors()),
                    report.count(),
                    ImmutableList.copyOf(report.warnings()));
        }

        /** A report to which more can be added, within the limit of a file. */
        Report again() {
            return new Report(name, errors, count);
        }

        private static Problem place(Documents.Written named, Input.Text text) {
            Node name = named.name();
            return new Problem(Problem.Kind.DUPLICATE, text.name(), name.line(), name.column(), "");
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
                    for (Path file : files.watched(watched.path(), watched.trusted())) {
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
            try {
                BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
                if (attributes.size() > TextFile.MAX_BYTES) {
                    errors.add(new Problem(Problem.Kind.TOO_LARGE, file.toString(), TextFile.TOO_LONG));
                    return;
                }
                // The kernel's own files have no size, and to read one may be to wait for ever.
                boolean isEmpty = attributes.isRegularFile() && attributes.size() == 0;
                try (InputStream in = isEmpty ? InputStream.nullInputStream() : Files.newInputStream(file)) {
                    text(file.toString(), input, in, file.toAbsolutePath().getParent());
                }
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

        Together(Map<WorkloadId, Found> found) {
            this.workloads = ImmutableMap.copyOf(
                    Maps.transformValues(found, each -> each.read().workload()));
            this.places = ImmutableMap.copyOf(Maps.transformValues(found, Found::place));
        }

        /** An error for each workload that depends on itself. */
        ImmutableList<Problem> errors() {
            ImmutableList.Builder<Problem> errors = ImmutableList.builder();
            ImmutableSetMultimap.Builder<WorkloadId, WorkloadId> needs = ImmutableSetMultimap.builder();
            workloads.forEach((id, workload) -> needs.putAll(id, Dependencies.of(workload)));
            DependencyCycles cycles = new DependencyCycles(needs.build());
            for (WorkloadId id : cycles.members()) {
                errors.add(at(
                        id,
                        "spec.dependsOn: " + id + " depends on itself (" + Dependencies.words(id, cycles.through(id))
                                + "), so none of these could be started first; remove one of them"));
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

        /**
         * As {@link At}, but never a device or a FIFO, which might never end.
         *
         * @param trusted who may change it
         */
        record Watched(Path path, TrustedPath trusted) implements Input {}

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
     * @param workloads the valid ones that count, in the order they were read; to be used only when there is no error
     * @param notHere the valid ones that don't
     * @param rollouts those among the documents
     * @param warnings about what is valid but probably not meant; sorted by place, like errors
     * @param unmet what these depend on and do not declare, with those of the warnings that are about it: it may be declared elsewhere
     */
    public record ReadResult(
            ImmutableList<ReadWorkload> workloads,
            ImmutableList<NotHere> notHere,
            ImmutableList<ReadRollout> rollouts,
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

        /** Those that don't count, but of files that have an error: what these declared before stays. */
        public ImmutableList<NotHere> leftOut() {
            Set<String> wrong = errors.stream().map(Problem::file).collect(Collectors.toSet());
            return notHere.stream()
                    .filter(found -> !wrong.contains(found.read().file()))
                    .collect(ImmutableList.toImmutableList());
        }

        /** How many documents count. */
        public int count() {
            return workloads.size() + rollouts.size();
        }

        /** The same with what else was found wrong. */
        public ReadResult with(Collection<Problem> more) {
            return more.isEmpty()
                    ? this
                    : new ReadResult(
                            workloads,
                            notHere,
                            rollouts,
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

    /**
     * A document that does not count where it was read.
     *
     * @param rollout the name of the one that has decided it; empty: its placement has
     * @param reason why, for people
     */
    public record NotHere(ReadWorkload read, Optional<String> rollout, String reason) {}
}
