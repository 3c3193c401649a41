package io.homeostat.desired.source;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateStore.ToApply;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;

/** Files in a directory, last changed an hour before {@link #NOW} unless a test says otherwise, and what is stored of them. */
final class SourceFixture {
    static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");

    private final Path directory;
    private StoredWorkloads stored = new StoredWorkloads(ImmutableListMultimap.of());

    SourceFixture(Path directory) {
        this.directory = directory;
    }

    Path path(String name) {
        return directory.resolve(name);
    }

    Path write(String name, String text) throws IOException {
        Path file = path(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
        return file;
    }

    /** Makes everything below the directory as old as this. */
    void age(Duration age) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            all.filter(path -> !Files.isSymbolicLink(path)).forEach(path -> changed(path, NOW.minus(age)));
        }
    }

    static void changed(Path path, Instant at) {
        try {
            Files.setLastModifiedTime(path, FileTime.from(at));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    StoredWorkloads stored() {
        return stored;
    }

    /** What the store would have after this reading: the documents, and what is retained of what it had. */
    SourceSnapshot store(SourceSnapshot reading) {
        ImmutableListMultimap.Builder<String, Workload> next = ImmutableListMultimap.builder();
        for (ToApply document : reading.content().documents()) {
            next.put(document.origin(), document.workload());
        }
        for (String origin : reading.content().retainedOrigins()) {
            next.putAll(origin, stored.from(origin));
        }
        stored = new StoredWorkloads(next.build());
        return reading;
    }

    static List<String> names(SourceSnapshot reading) {
        return reading.content().documents().stream()
                .map(document -> document.workload().id().name())
                .toList();
    }

    /** The names of all workloads that are in force. */
    List<String> inForce() {
        return stored.byOrigin().values().stream()
                .map(workload -> workload.id().name())
                .sorted()
                .toList();
    }

    static ImmutableList<String> messages(SourceSnapshot reading) {
        return reading.content().problems().stream()
                .map(SourceProblem::message)
                .collect(ImmutableList.toImmutableList());
    }

    /** The problems without their words: file, kind and place of each. */
    static List<String> places(SourceSnapshot reading) {
        return reading.content().problems().stream()
                .map(problem -> (Path.of(problem.origin()).getFileName() + " " + problem.kind() + " " + problem.place())
                        .strip())
                .toList();
    }

    static String process(String... names) {
        StringBuilder text = new StringBuilder();
        for (String name : names) {
            text.append("""
                    ---
                    apiVersion: homeostat.io/v1
                    kind: Process
                    metadata: {name: %s}
                    spec: {install: local, entryPoint: /bin/true}
                    """.formatted(name));
        }
        return text.toString();
    }
}
