package io.homeostat.e2e.soak;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Churns what one agent enforces for a while, looks every few seconds how much it takes of the machine, and exits with 1 when that
 * grows, or when the agent does not converge in the end.
 */
public final class Soak {
    private static final Duration USUAL = Duration.ofMinutes(2);
    private static final Duration SHORTEST = Duration.ofSeconds(30);
    private static final Pattern LENGTH = Pattern.compile("([1-9][0-9]{0,5})([smh])");
    private static final int SAMPLES = 240;
    private static final Duration MOST_OFTEN = Duration.ofSeconds(2);
    private static final Duration END = Duration.ofMinutes(2);

    private Soak() {}

    /** See README.md for the arguments. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        Duration length = arguments.length > 0 ? length(arguments[0]) : USUAL;
        long seed = arguments.length > 1 ? Long.parseLong(arguments[1]) : new Random().nextInt(1_000_000);
        if (length.compareTo(SHORTEST) < 0 || arguments.length > 2) {
            System.err.println("soak: e2e/soak [LENGTH [SEED]], such as e2e/soak 4h; at least " + SHORTEST.toSeconds()
                    + "s, for " + USUAL.toSeconds() + "s without");
            System.exit(64);
        }
        System.out.println("soak: " + length.toSeconds() + " s, seed " + seed);
        List<String> wrong = new ArrayList<>();
        List<Footprint> footprints = new ArrayList<>();
        try (Daemon daemon = new Daemon(
                Path.of(System.getProperty("homeostat.dist")), Path.of(System.getProperty("homeostat.greeter")))) {
            daemon.start();
            churn(daemon, length, new Random(seed), footprints);
            wrong.addAll(Growth.found(footprints));
            daemon.end(END).ifPresent(wrong::add);
        }
        Growth.table(footprints).forEach(System.out::println);
        wrong.forEach(reason -> System.out.println("LEAK OR WORSE: " + reason));
        System.out.println(wrong.isEmpty() ? "soak: flat" : "soak: not flat; seed " + seed);
        System.exit(wrong.isEmpty() ? 0 : 1);
    }

    private static void churn(Daemon daemon, Duration length, Random random, List<Footprint> footprints)
            throws IOException, InterruptedException {
        long start = System.nanoTime();
        long end = start + length.toNanos();
        Duration between = length.dividedBy(SAMPLES).compareTo(MOST_OFTEN) > 0 ? length.dividedBy(SAMPLES) : MOST_OFTEN;
        long due = start + between.toNanos();
        Churn churn = new Churn(daemon, random);
        while (System.nanoTime() < end) {
            churn.step();
            if (System.nanoTime() >= due) {
                footprints.add(Footprint.of(daemon, Duration.ofNanos(System.nanoTime() - start)));
                due = System.nanoTime() + between.toNanos();
            }
        }
        System.out.println("soak: " + churn.summary());
        churn.rest();
    }

    private static Duration length(String word) {
        Matcher length = LENGTH.matcher(word.toLowerCase(Locale.ROOT));
        if (!length.matches()) {
            return Duration.ZERO;
        }
        long number = Long.parseLong(length.group(1));
        return switch (length.group(2)) {
            case "s" -> Duration.ofSeconds(number);
            case "m" -> Duration.ofMinutes(number);
            default -> Duration.ofHours(number);
        };
    }
}
