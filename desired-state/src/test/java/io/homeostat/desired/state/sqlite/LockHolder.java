package io.homeostat.desired.state.sqlite;

import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;

/** Takes a lock, says so and keeps it until it is killed; or prints why it could not, and exits with 1. */
final class LockHolder {
    private LockHolder() {}

    // Arguments: the lock file and the command to take it for.
    public static void main(String[] arguments) throws IOException {
        try (StateLock _ = StateLock.acquire(
                Path.of(arguments[0]), arguments[1], Duration.ofSeconds(1), Clock.systemUTC(), message -> {})) {
            System.out.println("holding");
            // Nobody writes to it: until it is killed or the test ends.
            System.in.read();
        } catch (StoreException e) {
            System.out.println(e.getMessage());
            System.exit(1);
        }
    }
}
