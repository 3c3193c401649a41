package io.homeostat.reconcile.plan;

import io.homeostat.desired.layout.Layout;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.store.ProvenRevision;
import io.homeostat.observe.ArchiveKey;
import io.homeostat.observe.Installation;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A workload as it is to be brought about: the declaration, or the last good revision in its place.
 *
 * @param key of the archive; null when the program is local
 * @param directory where it is or will be installed; null when the program is local
 * @param installed nothing needs to be fetched
 */
record Target(
        Workload workload,
        String hash,
        @Nullable String key,
        @Nullable String directory,
        boolean installed) {

    static Target of(Workload workload, String hash, List<Installation> installations) {
        Program program = workload.program();
        Source source = program.source();
        if (program.install() == Program.Install.LOCAL || source == null) {
            return new Target(workload, hash, null, null, true);
        }
        String key = ArchiveKey.of(workload.id(), program.revision(), source);
        for (Installation installation : installations) {
            if (installation.satisfies(program.revision(), key)) {
                return new Target(workload, hash, key, installation.directory(), true);
            }
        }
        String plain = Layout.installName(workload.id(), program.revision(), null);
        boolean taken = installations.stream().anyMatch(i -> i.directory().equals(plain));
        String directory = taken ? Layout.installName(workload.id(), program.revision(), key) : plain;
        return new Target(workload, hash, key, directory, false);
    }

    static Target of(ProvenRevision proven, List<Installation> installations) {
        return of(proven.workload(), proven.hash(), installations);
    }

    Program program() {
        return workload.program();
    }
}
