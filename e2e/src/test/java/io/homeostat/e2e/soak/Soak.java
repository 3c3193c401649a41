package io.homeostat.e2e.soak;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
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

    /** What happens, one thing after the other. */
    interface Happenings {
        /** Lets one thing happen, then a moment pass. */
        void step() throws IOException, InterruptedException;

        /** Repairs what it has broken, so that the agent can converge. */
        void rest() throws IOException, InterruptedException;

        String summary();
    }

    private Soak() {}

    /** See README.md for the arguments. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        List<String> wrong = arguments.length > 1 && arguments[0].equals("--workloads")
                ? crowd(Arrays.copyOfRange(arguments, 1, arguments.length))
                : several(arguments);
        wrong.forEach(reason -> System.out.println("LEAK OR WORSE: " + reason));
        System.out.println(wrong.isEmpty() ? "soak: flat" : "soak: not flat");
        System.exit(wrong.isEmpty() ? 0 : 1);
    }

    private static Daemon daemon(String resync) throws IOException {
        return new Daemon(
                Path.of(System.getProperty("homeostat.dist")),
                Path.of(System.getProperty("homeostat.greeter")),
                resync);
    }

    /** Few workloads of all sorts. */
    private static List<String> several(String[] arguments) throws IOException, InterruptedException {
        Duration length = arguments.length > 0 ? length(arguments[0]) : USUAL;
        long seed = arguments.length > 1 ? Long.parseLong(arguments[1]) : new Random().nextInt(1_000_000);
        if (length.compareTo(SHORTEST) < 0 || arguments.length > 2) {
            System.err.println("soak: e2e/soak [LENGTH [SEED]], such as e2e/soak 4h; at least " + SHORTEST.toSeconds()
                    + "s, for " + USUAL.toSeconds() + "s without");
            System.exit(64);
        }
        System.out.println("soak: " + length.toSeconds() + " s, seed " + seed);
        List<String> wrong = new ArrayList<>();
        try (Daemon daemon = daemon("10s")) {
            daemon.start();
            wrong.addAll(churn(daemon, new Churn(daemon, new Random(seed)), length, 0));
            daemon.end(END).ifPresent(wrong::add);
        }
        return wrong;
    }

    /** Many processes, and nothing else. */
    private static List<String> crowd(String[] arguments) throws IOException, InterruptedException {
        int workloads = Integer.parseInt(arguments[0]);
        Duration length = arguments.length > 1 ? length(arguments[1]) : USUAL;
        long seed = arguments.length > 2 ? Long.parseLong(arguments[2]) : new Random().nextInt(1_000_000);
        if (workloads < 1 || length.compareTo(SHORTEST) < 0 || arguments.length > 3) {
            System.err.println(
                    "soak: e2e/soak --workloads NUMBER [LENGTH [SEED]]; at least " + SHORTEST.toSeconds() + "s");
            System.exit(64);
        }
        System.out.println("soak: " + workloads + " workloads, " + length.toSeconds() + " s, seed " + seed);
        List<String> wrong = new ArrayList<>();
        try (Daemon daemon = daemon("30s")) {
            Crowd crowd = new Crowd(daemon, workloads, new Random(seed));
            crowd.start();
            wrong.addAll(churn(daemon, crowd, length, workloads));
            crowd.end().ifPresent(wrong::add);
        }
        return wrong;
    }

    /** Returns what has grown. */
    private static List<String> churn(Daemon daemon, Happenings happenings, Duration length, int workloads)
            throws IOException, InterruptedException {
        long start = System.nanoTime();
        long end = start + length.toNanos();
        Duration between = length.dividedBy(SAMPLES).compareTo(MOST_OFTEN) > 0 ? length.dividedBy(SAMPLES) : MOST_OFTEN;
        long due = start + between.toNanos();
        Footprint last = Footprint.of(daemon);
        List<Footprint> footprints = new ArrayList<>();
        while (System.nanoTime() < end) {
            happenings.step();
            if (System.nanoTime() >= due) {
                last = last.next(daemon, Duration.ofNanos(System.nanoTime() - start));
                footprints.add(last);
                due = System.nanoTime() + between.toNanos();
            }
        }
        System.out.println("soak: " + happenings.summary());
        happenings.rest();
        Growth.table(footprints).forEach(System.out::println);
        return Growth.found(footprints, workloads);
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
