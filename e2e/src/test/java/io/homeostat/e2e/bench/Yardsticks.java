package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.Tools;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * How fast the machine is by itself, for whoever compares two runs: a virtual one can be three times slower on one day than on another.
 */
final class Yardsticks {
    private static final String SUBJECT = "machine";
    private static final int STEPS = 50_000_000;
    private static final int LOOPS = 3;
    private static final int PROGRAMS = 20;
    private static final double NANOS_PER_MILLI = 1e6;

    private final List<Double> arithmetic = new ArrayList<>();
    private final List<Double> programs = new ArrayList<>();
    private long number = 1;

    /** Takes some values of each, in less than a second. */
    void look() throws IOException, InterruptedException {
        if (arithmetic.isEmpty()) {
            // Compiles it.
            multiply();
        }
        for (int i = 0; i < LOOPS; i++) {
            long start = System.nanoTime();
            multiply();
            arithmetic.add((System.nanoTime() - start) / NANOS_PER_MILLI);
        }
        Path nothing = Tools.find("true").orElseThrow(() -> new IOException("true is not in PATH"));
        for (int i = 0; i < PROGRAMS; i++) {
            long start = System.nanoTime();
            int exit = new ProcessBuilder(nothing.toString()).start().waitFor();
            programs.add((System.nanoTime() - start) / NANOS_PER_MILLI);
            if (exit != 0) {
                throw new IOException(nothing + " ended with exit status " + exit);
            }
        }
    }

    /** Each step has to wait for the one before. The shift keeps a compiler from making one of many, the result from leaving them out. */
    private void multiply() {
        long product = number;
        for (int i = 0; i < STEPS; i++) {
            product = (product ^ product >>> 29) * 6364136223846793005L + 1442695040888963407L;
        }
        number = product;
    }

    /** Empty before the first look. */
    List<Samples> samples() {
        return arithmetic.isEmpty()
                ? List.of()
                : List.of(
                        new Samples(Figure.YARDSTICK_ARITHMETIC, SUBJECT, arithmetic),
                        new Samples(Figure.YARDSTICK_PROGRAM, SUBJECT, programs));
    }
}
