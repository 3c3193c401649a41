package io.homeostat.desired.source;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/** The source {@code files}: YAML in directories that are read again and again. Reads the disk; storing is up to the caller. */
public final class FilesSource {
    private final ImmutableList<Path> paths;
    private final InstantSource clock;

    /**
     * @param paths directories and files, in the order that decides which declaration of a workload is the first
     * @param clock the one that files get their times from
     */
    public FilesSource(ImmutableList<Path> paths, InstantSource clock) {
        this.paths = paths.stream().map(Path::toAbsolutePath).collect(ImmutableList.toImmutableList());
        this.clock = clock;
    }

    /**
     * What the files declare now. One that has an error or can't be read keeps what is stored of it; nothing on the disk leads to an
     * exception. The origin of a workload is the absolute path of its file.
     */
    public SourceSnapshot read(StoredWorkloads stored) {
        Retention retention = new Retention(SourceName.FILES, paths, stored, ImmutableSet.of(), clock.instant());
        List<Input> inputs = new ArrayList<>();
        for (Path path : paths) {
            if (retention.isThere(path)) {
                inputs.add(new Input.Watched(path));
            }
        }
        ReadResult read = DocumentReader.parse(DocumentReader.collect(inputs), stored.originById());
        read.workloads().forEach(found -> retention.declared(found.workload(), found.file()));
        read.errors().forEach(retention::problem);
        return retention.reading();
    }
}
