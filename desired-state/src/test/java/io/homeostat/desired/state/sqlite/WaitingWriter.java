package io.homeostat.desired.state.sqlite;

import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateStore;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;

/** Applies one workload, says so and keeps the store open until it is killed. */
final class WaitingWriter {
    private WaitingWriter() {}

    // Arguments: the state directory.
    public static void main(String[] arguments) throws IOException {
        Path directory = Path.of(arguments[0]);
        Layout layout = new Layout(directory, directory, "1");
        try (StateStore store =
                StateStores.openForWriting(layout, Clock.systemUTC()).store()) {
            Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
            System.out.println("applied");
            // Nobody writes to it: until it is killed or the test ends.
            System.in.read();
        }
    }
}
