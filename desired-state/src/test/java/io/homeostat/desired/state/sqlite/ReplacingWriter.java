package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.yaml.Problem;
import java.nio.file.Path;
import java.time.Clock;
import java.util.stream.IntStream;

/**
 * Replaces what a source declares as fast as it can until it is killed, and prints the number of each content that was acknowledged.
 * Content n consists of {@link #WORKLOADS} workloads at revision n, and one problem n.
 */
final class ReplacingWriter {
    static final int WORKLOADS = 10;

    private ReplacingWriter() {}

    // Arguments: the state directory.
    public static void main(String[] arguments) {
        Path directory = Path.of(arguments[0]);
        StateStore store = StateStores.openForWriting(new Layout(directory, directory, "1"), Clock.systemUTC())
                .store();
        for (long n = 1; ; n++) {
            store.replace(content(Long.toString(n)), Samples.NOON);
            System.out.println(n);
        }
    }

    private static SourceContent content(String n) {
        ImmutableList<ToApply> documents = IntStream.range(0, WORKLOADS)
                .mapToObj(i -> new ToApply(Samples.plugin("plugin-" + i, n), "/etc/a.yaml"))
                .collect(ImmutableList.toImmutableList());
        SourceProblem problem = new SourceProblem(SourceName.FILES, "/etc/bad.yaml", Problem.Kind.VALUE, n, n);
        return new SourceContent(SourceName.FILES, documents, ImmutableSet.of(), ImmutableList.of(problem));
    }
}
