package io.homeostat.desired.source;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.desired.yaml.Problem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Decides what stays in force of files that can't be believed now. What is wrong keeps its last good content, and nothing is withdrawn
 * that changed less than {@link #SETTLED} ago: it may be half written, or an editor may be replacing it.
 */
final class Retention {
    /** How long a file or directory has to be left alone before what is missing there is believed to be meant. */
    static final Duration SETTLED = Duration.ofSeconds(2);

    /** How long a file has to be missing from a directory in which something changes all the time. */
    static final Duration MISSING_FOR_GOOD = Duration.ofSeconds(20);

    private final SourceName source;
    private final ImmutableList<Path> roots;
    private final StoredWorkloads stored;
    private final ImmutableSet<String> disabled;
    private final Absences absences;
    private final Instant now;
    private final List<ToApply> documents = new ArrayList<>();
    private final Set<SourceProblem> problems = new LinkedHashSet<>();
    private final Set<String> retained = new HashSet<>();
    /** Whether what was stored from paths that are not configured any more stays. */
    private boolean elsewhereStays;

    private Optional<Duration> lookAgain = Optional.empty();

    /**
     * @param roots the configured paths, absolute; what was stored from elsewhere is withdrawn, if all of them are there
     * @param disabled names of workloads that are not retained either
     * @param absences of the source, kept from reading to reading
     */
    Retention(
            SourceName source,
            ImmutableList<Path> roots,
            StoredWorkloads stored,
            ImmutableSet<String> disabled,
            Absences absences,
            Instant now) {
        this.source = source;
        this.roots = roots;
        this.stored = stored;
        this.disabled = disabled;
        this.absences = absences;
        this.now = now;
    }

    void declared(Workload workload, String origin) {
        declared(new ToApply(workload, origin));
    }

    void declared(ToApply document) {
        documents.add(document);
    }

    /**
     * Whether a configured path has something to read. One that isn't there declares nothing; but if it was a directory with
     * declarations, its file system may not be mounted, and nothing is withdrawn. Nor is what was declared elsewhere before: a path that
     * never was there may be mistyped.
     */
    boolean isThere(Path root) {
        if (Files.exists(root, LinkOption.NOFOLLOW_LINKS) || !(Whereabouts.of(root) instanceof Whereabouts.Gone)) {
            return true;
        }
        Path parent = root.getParent();
        boolean wasFile = stored.origins().contains(root.toString());
        Path missing = wasFile && parent != null ? parent : root;
        if (stored.anyBelow(root) || (wasFile && !Files.isDirectory(missing))) {
            problem(
                    root.toString(),
                    Problem.Kind.UNREADABLE,
                    "",
                    missing
                            + ": no such directory. Create it, empty, to withdraw what was declared there, or restore it");
        } else if (source == SourceName.FILES && !stored.origins().stream().allMatch(this::configured)) {
            elsewhereStays = true;
            problem(
                    root.toString(),
                    Problem.Kind.UNREADABLE,
                    "",
                    root + ": no such file or directory. Create it, or correct sources.files");
        }
        return false;
    }

    /**
     * @param path the file or directory that is wrong: all that was stored from it and from below it is retained
     * @param place see {@link SourceProblem#place}
     */
    void problem(String path, Problem.Kind kind, String place, String message) {
        problems.add(new SourceProblem(source, path, kind, place, message));
    }

    void problem(Problem problem) {
        problem(problem.file(), problem.kind(), problem.whereInFile(), problem.toString());
    }

    SourceSnapshot reading() {
        boolean nothingYet = declaresNothingYet();
        Set<String> wrong = new HashSet<>();
        for (SourceProblem problem : problems) {
            wrong.add(problem.origin());
            retained.addAll(stored.atOrBelow(problem.origin()));
        }
        documents.removeIf(document -> wrong.contains(document.origin()));
        Set<WorkloadId> declared = new HashSet<>();
        documents.forEach(document -> declared.add(document.workload().id()));
        for (String origin : stored.origins()) {
            boolean loses = wanted(origin).stream().anyMatch(workload -> !declared.contains(workload.id()));
            if (loses && !retained.contains(origin) && configured(origin)) {
                withdrawn(origin);
            }
            if (!configured(origin) && (elsewhereStays || (nothingYet && !isGone(origin)))) {
                elsewhere(origin, declared);
            }
        }
        absences.looked();
        documents.removeIf(document -> retained.contains(document.origin()));
        retained.removeIf(this::retainedWithoutTheDisabled);
        return new SourceSnapshot(
                new SourceContent(
                        source,
                        ImmutableList.copyOf(documents),
                        ImmutableSet.copyOf(retained),
                        ImmutableList.copyOf(problems)),
                lookAgain);
    }

    /**
     * Whether other paths are configured than those that all is stored from, and there is nothing in them: they may be mistyped, too, or not
     * be filled yet. Without any path nothing is meant to be declared.
     */
    private boolean declaresNothingYet() {
        if (source != SourceName.FILES
                || roots.isEmpty()
                || !documents.isEmpty()
                || stored.origins().stream().anyMatch(this::configured)
                || stored.origins().stream().allMatch(Retention::isGone)) {
            return false;
        }
        if (!elsewhereStays) {
            Path root = roots.getFirst();
            problem(
                    root.toString(),
                    Problem.Kind.UNREADABLE,
                    "",
                    root
                            + ": nothing is declared there. Put files there, correct sources.files, or remove the files where it"
                            + " pointed before");
        }
        return true;
    }

    private static boolean isGone(String origin) {
        return Whereabouts.of(Path.of(origin)) instanceof Whereabouts.Gone;
    }

    /** A file is retained as a whole; of one that has workloads which are declared elsewhere now, the others are declared as they are stored. */
    private void elsewhere(String origin, Set<WorkloadId> declared) {
        ImmutableList<Workload> left = wanted(origin).stream()
                .filter(workload -> !declared.contains(workload.id()))
                .collect(ImmutableList.toImmutableList());
        if (left.size() == stored.from(origin).size()) {
            retained.add(origin);
        } else {
            left.forEach(workload -> declared(workload, origin));
        }
    }

    private ImmutableList<Workload> wanted(String origin) {
        return stored.from(origin).stream()
                .filter(workload -> !disabled.contains(workload.id().name()))
                .collect(ImmutableList.toImmutableList());
    }

    /** A file is retained as a whole; of one that has disabled workloads the others are declared as they are stored. */
    private boolean retainedWithoutTheDisabled(String origin) {
        ImmutableList<Workload> wanted = wanted(origin);
        if (wanted.size() == stored.from(origin).size()) {
            return false;
        }
        for (Workload workload : wanted) {
            if (documents.stream()
                    .noneMatch(document -> document.workload().id().equals(workload.id()))) {
                declared(workload, origin);
            }
        }
        return true;
    }

    private boolean configured(String origin) {
        return roots.stream().anyMatch(Path.of(origin)::startsWith);
    }

    /** Something that was stored is no longer declared where it was. */
    private void withdrawn(String origin) {
        switch (Whereabouts.of(Path.of(origin))) {
            case Whereabouts.There there -> unlessYoung(origin, age(there.changed()));
            case Whereabouts.Gone gone -> {
                if (absences.missing(origin, now).compareTo(MISSING_FOR_GOOD) < 0) {
                    unlessYoung(origin, age(gone.changed()));
                }
            }
            case Whereabouts.Unknown unknown -> {
                retained.add(origin);
                problem(
                        unknown.path().toString(),
                        Problem.Kind.UNREADABLE,
                        "",
                        unknown.path() + ": " + unknown.reason()
                                + "; restore it, or remove it to withdraw what it declared");
            }
        }
    }

    private Duration age(Instant changed) {
        return Duration.between(changed, now);
    }

    private void unlessYoung(String origin, Duration age) {
        // A file server's clock may be a little ahead. A time in the far future says nothing: don't wait for it.
        if (age.abs().compareTo(SETTLED) < 0) {
            retained.add(origin);
            Duration rest = SETTLED.minus(age);
            lookAgain = Optional.of(
                    lookAgain.filter(sooner -> sooner.compareTo(rest) > 0).orElse(rest));
        }
    }

    /** What became of a file: looked at from the root on, since only so "it is gone" and "nobody can tell" are told apart. */
    sealed interface Whereabouts {
        /** It is there, last written at that time. */
        record There(Instant changed) implements Whereabouts {}

        /** It is not there; the place where it is missing last changed at that time. */
        record Gone(Instant changed) implements Whereabouts {}

        /** Nobody can tell, because that path could not be looked at. */
        record Unknown(Path path, String reason) implements Whereabouts {}

        /** Looks for a file, by an absolute path. */
        static Whereabouts of(Path file) {
            Path root = file.getRoot();
            Instant changed = Instant.EPOCH;
            Path at = root;
            for (int i = 0; i <= file.getNameCount(); i++) {
                at = i == 0 ? root : at.resolve(file.getName(i - 1));
                try {
                    BasicFileAttributes attributes = Files.readAttributes(at, BasicFileAttributes.class);
                    changed = attributes.lastModifiedTime().toInstant();
                    if (i < file.getNameCount() && !attributes.isDirectory()) {
                        return new Gone(changed);
                    }
                } catch (NoSuchFileException e) {
                    return Files.isSymbolicLink(at) ? new Unknown(at, "a symbolic link to nothing") : new Gone(changed);
                } catch (IOException e) {
                    return new Unknown(at, "can't be looked at: " + IoReason.of(e));
                }
            }
            return new There(changed);
        }
    }
}
