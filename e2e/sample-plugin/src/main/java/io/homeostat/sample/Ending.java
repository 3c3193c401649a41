package io.homeostat.sample;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The ways this process ends, each with an exit status of its own so that a test can tell them apart. */
final class Ending {
    static final int TOLD_TO_EXIT = 3;
    static final int CRASH = 42;
    static final int USAGE = 64;
    static final int OUT_OF_ORDER = 70;
    static final int CANNOT_LISTEN = 71;

    private final @Nullable String errorLogFile;

    Ending(@Nullable String errorLogFile) {
        this.errorLogFile = errorLogFile;
    }

    /** Ends here and now, without a shutdown hook, as a crash does. */
    void now(String lastWords, int status) {
        System.out.println(lastWords);
        if (errorLogFile != null) {
            try {
                Files.writeString(
                        Path.of(errorLogFile), lastWords + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException e) {
                System.err.println("cannot write " + errorLogFile + ": " + e);
            }
        }
        Runtime.getRuntime().halt(status);
    }

    void after(int seconds, String lastWords, int status) {
        later(seconds * 1000L, () -> now(lastWords, status));
    }

    /** Ends the program a moment after the current call has ended. */
    void afterAnswer() {
        later(50, () -> System.exit(0));
    }

    private static void later(long millis, Runnable action) {
        Thread thread = new Thread(
                () -> {
                    try {
                        TimeUnit.MILLISECONDS.sleep(millis);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    action.run();
                },
                "ending");
        thread.setDaemon(true);
        thread.start();
    }
}
