package io.homeostat.desired.source;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.desired.yaml.Problem;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The source {@code files}: YAML in directories that are read again and again. Reads the disk; storing is up to the caller. */
public final class FilesSource {
    private final ImmutableList<Path> paths;
    private final TrustedPath trusted;
    private final Choice choice;
    private final InstantSource clock;
    private final Absences absences = new Absences();

    // Parsing takes longer than reading, and most files stay as they are.
    private final DocumentReader.Memory memory = new DocumentReader.Memory();
    private @Nullable Parsed latest;

    /**
     * @param paths directories and files, in the order that decides which declaration of a workload is the first
     * @param trusted who may change them
     * @param choice which documents are for this machine
     * @param clock the one that files get their times from
     */
    public FilesSource(ImmutableList<Path> paths, TrustedPath trusted, Choice choice, InstantSource clock) {
        this.trusted = trusted;
        this.choice = choice;
        this.paths = paths.stream().map(Path::toAbsolutePath).collect(ImmutableList.toImmutableList());
        this.clock = clock;
    }

    /**
     * What the files declare now. One that has an error or can't be read keeps what is stored of it; nothing on the disk leads to an
     * exception. The origin of a workload is the absolute path of its file.
     */
    public synchronized SourceSnapshot read(StoredWorkloads stored) {
        Retention retention =
                new Retention(SourceName.FILES, paths, stored, ImmutableSet.of(), absences, clock.instant());
        List<Input> inputs = new ArrayList<>();
        for (Path path : paths) {
            if (retention.isThere(path)) {
                inputs.add(new Input.Watched(path, trusted));
            }
        }
        Parsed read = parsed(DocumentReader.collect(inputs), stored.originById());
        read.documents().forEach(retention::declared);
        read.errors().forEach(retention::problem);
        return retention.reading();
    }

    private Parsed parsed(Texts texts, ImmutableMap<WorkloadId, String> inForce) {
        Parsed before = latest;
        if (before != null && before.holds(texts, inForce)) {
            return before;
        }
        IdentityHashMap<Workload, ToApply> known = new IdentityHashMap<>();
        if (before != null) {
            before.documents().forEach(document -> known.put(document.workload(), document));
        }
        ReadResult read = DocumentReader.parse(texts, inForce, memory, choice);
        Parsed now = new Parsed(
                texts,
                inForce,
                read.workloads().stream()
                        .map(found -> known.computeIfAbsent(
                                found.workload(), workload -> new ToApply(workload, found.file())))
                        .collect(ImmutableList.toImmutableList()),
                read.errors());
        latest = now;
        return now;
    }

    private record Parsed(
            Texts texts,
            ImmutableMap<WorkloadId, String> inForce,
            ImmutableList<ToApply> documents,
            ImmutableList<Problem> errors) {
        /** Which of several declarations of a workload is in force matters only where there are several, which is an error. */
        boolean holds(Texts now, ImmutableMap<WorkloadId, String> inForceNow) {
            return texts.equals(now) && (errors.isEmpty() || inForce.equals(inForceNow));
        }
    }
}
