package io.homeostat.observe.guest;

import io.homeostat.observe.process.ProcFs;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the metrics of an agent tell that is of use here; each is empty when they don't. Kata's design documents list what they contain.
 *
 * @param scrapes how often this agent was asked for them, this time included
 * @param processorNanos what the processors of the guest have worked since its boot
 * @param memoryBytes of the guest, what is not available to who wants some more
 */
public record GuestMetrics(OptionalLong scrapes, OptionalLong processorNanos, OptionalLong memoryBytes) {
    private static final String NUMBER = "([0-9.]+(?:e[+-]?[0-9]+)?)$";
    private static final Pattern SCRAPES = Pattern.compile("(?m)^kata_agent_scrape_count " + NUMBER);
    private static final Pattern TOTAL = memory("mem_total");
    private static final Pattern AVAILABLE = memory("mem_available");

    /** In ticks. What guests of the guest take is part of these, and what its host has taken away is not its work. */
    private static final Pattern PROCESSORS = Pattern.compile(
            "(?m)^kata_guest_cpu_time\\{cpu=\"total\",item=\"(?:user|nice|system|irq|softirq)\"} " + NUMBER);

    private static final double MOST = Long.MAX_VALUE / 4.0;

    private static Pattern memory(String item) {
        return Pattern.compile("(?m)^kata_guest_meminfo\\{item=\"" + item + "\"} " + NUMBER);
    }

    /** Of Prometheus' text format, as the agent writes it. */
    static GuestMetrics parse(String text) {
        OptionalLong total = number(TOTAL, text);
        OptionalLong available = number(AVAILABLE, text);
        return new GuestMetrics(
                number(SCRAPES, text),
                processors(text),
                total.isPresent() && available.isPresent()
                        ? OptionalLong.of(Math.max(0, total.getAsLong() - available.getAsLong()))
                        : OptionalLong.empty());
    }

    private static OptionalLong processors(String text) {
        Matcher matcher = PROCESSORS.matcher(text);
        double ticks = 0;
        boolean found = false;
        while (matcher.find()) {
            OptionalLong one = whole(matcher.group(1));
            if (one.isEmpty()) {
                return one;
            }
            ticks += one.getAsLong();
            found = true;
        }
        double nanos = ticks * ProcFs.NANOS_PER_TICK;
        return found && nanos < MOST ? OptionalLong.of((long) nanos) : OptionalLong.empty();
    }

    private static OptionalLong number(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        return matcher.find() ? whole(matcher.group(1)) : OptionalLong.empty();
    }

    private static OptionalLong whole(String text) {
        try {
            double value = Double.parseDouble(text);
            return value < MOST ? OptionalLong.of((long) value) : OptionalLong.empty();
        } catch (NumberFormatException e) {
            return OptionalLong.empty();
        }
    }
}
