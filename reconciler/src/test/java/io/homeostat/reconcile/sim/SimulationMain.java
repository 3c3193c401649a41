package io.homeostat.reconcile.sim;

import java.io.PrintStream;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;

/**
 * Plays histories until it is told to stop or one fails, which is shrunk and printed. Arguments: the first seed (1), how many
 * (no end). Exits with 1 when one failed.
 */
final class SimulationMain {
    private static final long BATCH = 200;
    private static final double NANOS = 1e9;

    private SimulationMain() {}

    public static void main(String[] arguments) {
        long first = arguments.length > 0 ? Long.parseLong(arguments[0]) : 1;
        long last = arguments.length > 1 ? first + Long.parseLong(arguments[1]) - 1 : Long.MAX_VALUE;
        System.exit(play(first, last, System.out) ? 0 : 1);
    }

    private static boolean play(long first, long last, PrintStream out) {
        long began = System.nanoTime();
        AtomicLong played = new AtomicLong();
        long next = first;
        while (next <= last && next > 0) {
            long end = Math.min(last, next + BATCH - 1);
            Optional<Failure> failure = LongStream.rangeClosed(next, end)
                    .parallel()
                    .peek(seed -> played.incrementAndGet())
                    .mapToObj(seed -> Failure.of(Scenario.of(seed), Agent.REAL))
                    .flatMap(Optional::stream)
                    .findFirst();
            if (failure.isPresent()) {
                out.println(failure.get().violation().getMessage());
                out.println("shrinking ...");
                out.println(failure.get().shrunk().report());
                return false;
            }
            double seconds = (System.nanoTime() - began) / NANOS;
            out.printf("seeds %d to %d hold, %.1f a second%n", first, end, played.get() / seconds);
            next = end + 1;
        }
        return true;
    }
}
