package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.WorkloadHistory;
import java.nio.file.Path;
import java.time.Clock;

/**
 * Commits changes as fast as it can until it is killed, and prints the number of each one that was acknowledged. Change n
 * consists of a history of generation n, the instance {@code n} in place of {@code n-1}, and two events {@code n}.
 */
final class CommittingWriter {
    static final WorkloadId WRITER = WorkloadId.process("writer");

    private CommittingWriter() {}

    // Arguments: the state directory.
    public static void main(String[] arguments) {
        Path directory = Path.of(arguments[0]);
        StateStore store = StateStores.openForWriting(new Layout(directory, directory, "1"), Clock.systemUTC())
                .store();
        long first = store.history(WRITER).observedGeneration() + 1;
        for (long n = first; ; n++) {
            WorkloadHistory history = store.history(WRITER).withAttempts(n, Attempts.of("h" + n));
            Event event = Samples.event(WRITER, Long.toString(n));
            store.commit(new Change(
                    WRITER,
                    history,
                    false,
                    ImmutableList.of(Samples.instance(WRITER, Long.toString(n))),
                    ImmutableList.of(Long.toString(n - 1)),
                    ImmutableList.of(event, event)));
            System.out.println(n);
        }
    }
}
