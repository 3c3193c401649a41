package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.StoredSet;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Optional;

/**
 * Takes published sets as fast as it can until it is killed, and prints the sequence of each one that was acknowledged. Set n declares
 * revision n of a plugin.
 */
final class TakingWriter {
    static final String NAME = "etcd:/homeostat/set";

    private TakingWriter() {}

    // Arguments: the state directory.
    public static void main(String[] arguments) {
        Path directory = Path.of(arguments[0]);
        StateStore store = StateStores.openForWriting(new Layout(directory, directory, "1"), Clock.systemUTC())
                .store();
        for (long n = sequence(store) + 1; ; n++) {
            String text = Long.toString(n);
            store.take(
                    new StoredSet.Content(
                            new StoredSet(SourceName.ETCD, NAME, text, n, Optional.empty(), text, Samples.NOON),
                            ImmutableList.of("key"),
                            ImmutableSortedMap.of("web.yaml", text)),
                    new SourceContent(
                            SourceName.ETCD,
                            ImmutableList.of(new ToApply(Samples.plugin("web", text), NAME + "/web.yaml")),
                            ImmutableSet.of(),
                            ImmutableList.of()),
                    Samples.NOON);
            System.out.println(n);
        }
    }

    /** Of the set that is in force; 0 when there is none. */
    static long sequence(StateStore store) {
        return store.publishedSets().stream()
                .flatMap(standing -> standing.set().stream())
                .mapToLong(StoredSet::sequence)
                .findFirst()
                .orElse(0);
    }
}
