package io.homeostat.desired.state.sqlite;

import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateStore;
import java.nio.file.Path;
import java.time.Clock;

/** Opens the store, commits a little and closes it, again and again until it is killed. */
final class OpeningWriter {
    private OpeningWriter() {}

    // Arguments: the state directory.
    public static void main(String[] arguments) {
        Path directory = Path.of(arguments[0]);
        Layout layout = new Layout(directory, directory, "1");
        while (true) {
            try (StateStore store =
                    StateStores.openForWriting(layout, Clock.systemUTC()).store()) {
                store.commit(Samples.events(CommittingWriter.WRITER, "one", "two"));
                System.out.println("committed");
                store.commit(Samples.events(CommittingWriter.WRITER, "three"));
            }
        }
    }
}
