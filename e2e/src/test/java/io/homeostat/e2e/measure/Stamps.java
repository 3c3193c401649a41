package io.homeostat.e2e.measure;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** The file to which {@link StampProgram}s write when they begin. */
public final class Stamps {
    private static final Duration LOOK = Duration.ofNanos(500_000);

    private final Path file;

    /**
     * One start of a program.
     *
     * @param nanos on the clock of {@link System#nanoTime}, which is Linux' CLOCK_MONOTONIC
     */
    public record Stamp(long nanos, long pid) {}

    public Stamps(Path file) {
        this.file = file;
    }

    /** What a program is given so that it writes here. */
    public String argument() {
        return "--stamps=" + file;
    }

    /** All starts so far, in the order of their lines. */
    public List<Stamp> read() throws IOException {
        String text;
        try {
            text = Files.readString(file, StandardCharsets.US_ASCII);
        } catch (NoSuchFileException e) {
            return List.of();
        }
        List<Stamp> stamps = new ArrayList<>();
        int begin = 0;
        for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', begin)) {
            String line = text.substring(begin, end);
            int space = line.indexOf(' ');
            long nanos = Long.parseLong(line.substring(0, space));
            stamps.add(new Stamp(nanos == 0 ? System.nanoTime() : nanos, Long.parseLong(line.substring(space + 1))));
            begin = end + 1;
        }
        return stamps;
    }

    /** Waits until so many programs have begun; returns the one that made it so many. */
    public Stamp await(int count, Duration patience) throws IOException {
        long deadline = System.nanoTime() + patience.toNanos();
        while (true) {
            List<Stamp> stamps = read();
            if (stamps.size() >= count) {
                return stamps.get(count - 1);
            }
            if (System.nanoTime() > deadline) {
                throw new IOException("only " + stamps.size() + " of " + count + " programs began within "
                        + patience.toSeconds() + " s");
            }
            LockSupport.parkNanos(LOOK.toNanos());
        }
    }
}
