package io.homeostat.e2e;

import com.google.common.collect.ImmutableList;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * What a page says that a command prints, to be compared with what it does print. White space and what differs from one time to the
 * next are equal: times, durations, sizes, percentages, numbers of three digits or more (pids), ids of launches, which Java it is, and tokens. A line {@code ...} is any
 * number of lines.
 */
record DocOutput(ImmutableList<String> expected, ImmutableList<String> actual) {
    private static final String ANYTHING = "...";
    /** What a command says when it takes more than 10 s, which depends on how busy the machine is. */
    private static final Pattern PROGRESS = Pattern.compile("homeostat: [a-z]+: after \\d+(?:m\\d+)?s: .*");

    private static final Pattern NUMBER = Pattern.compile("(?<![\\w.])\\d{3,}(?![\\w.])");
    private static final List<Pattern> VARYING = List.of(
            Pattern.compile("(?<![\\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\\w-])"),
            Pattern.compile("\\d{4}-\\d{2}-\\d{2}[T ]\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?(?:Z|[+-]\\d{2}:?\\d{2})?"),
            Pattern.compile("(?<![\\w.])\\d+(?:\\.\\d+)? ?(?:B|[KMGT]i?B?)(?!\\w)"),
            Pattern.compile("(?<![\\w.])(?:\\d+(?:\\.\\d+)?(?:ms|d|h|m|s))+(?!\\w)"),
            Pattern.compile("(?<![\\w.])\\d+(?:\\.\\d+)? ?(?:ms|%)(?!\\w)"),
            NUMBER,
            Pattern.compile("\\(Java [^)]+\\)"),
            Pattern.compile("(?<=#token=)[\\w-]{43}"));

    static DocOutput of(List<String> expected, String actual) {
        return new DocOutput(
                withoutBlank(expected),
                withoutBlank(actual.lines()
                        .filter(line -> !PROGRESS.matcher(line).matches())
                        .toList()));
    }

    private static ImmutableList<String> withoutBlank(List<String> lines) {
        return lines.stream().filter(line -> !line.isBlank()).collect(ImmutableList.toImmutableList());
    }

    boolean matches() {
        return matches(0, 0);
    }

    /** What is done to several workloads at once is told in the order in which it was done. */
    boolean matchesInAnyOrder() {
        return sorted(expected).equals(sorted(actual));
    }

    private static List<String> sorted(List<String> lines) {
        return lines.stream().map(DocOutput::plain).sorted().toList();
    }

    private boolean matches(int i, int j) {
        if (i == expected.size()) {
            return j == actual.size();
        }
        if (expected.get(i).strip().equals(ANYTHING)) {
            return matches(i + 1, j) || j < actual.size() && matches(i, j + 1);
        }
        return j < actual.size() && plain(expected.get(i)).equals(plain(actual.get(j))) && matches(i + 1, j + 1);
    }

    private static String plain(String line) {
        String plain = line;
        for (int i = 0; i < VARYING.size(); i++) {
            plain = VARYING.get(i).matcher(plain).replaceAll("<" + "idzt%njk".charAt(i) + ">");
        }
        // Columns are as wide as what is in them.
        return plain.replaceAll("\\s+", " ").strip();
    }

    /** Notes which number of this machine each number of the page is, where a line has as many of them. */
    void learn(Map<String, String> numbers) {
        for (String line : expected) {
            List<String> theirs = numbersIn(line);
            actual.stream()
                    .filter(one -> plain(one).equals(plain(line)))
                    .map(DocOutput::numbersIn)
                    .filter(ours -> ours.size() == theirs.size())
                    .findFirst()
                    .ifPresent(ours -> {
                        for (int i = 0; i < ours.size(); i++) {
                            numbers.put(theirs.get(i), ours.get(i));
                        }
                    });
        }
    }

    private static List<String> numbersIn(String line) {
        return NUMBER.matcher(line).results().map(MatchResult::group).toList();
    }

    /**
     * A command of the page, with the numbers that this machine showed in place of the page's.
     *
     * @throws IllegalArgumentException when it kills what was not shown before: that is somebody else's
     */
    static String here(String command, Map<String, String> numbers) {
        if (command.startsWith("kill ") && !numbers.keySet().containsAll(numbersIn(command))) {
            throw new IllegalArgumentException("no output above shows the process of: " + command);
        }
        return NUMBER.matcher(command).replaceAll(number -> numbers.getOrDefault(number.group(), number.group()));
    }

    /** Both, with a sign before each line that the other does not have at that place. */
    String difference() {
        List<String> lines = new ArrayList<>();
        int common = 0;
        while (common < Math.min(expected.size(), actual.size())
                && plain(expected.get(common)).equals(plain(actual.get(common)))) {
            lines.add("  " + expected.get(common++));
        }
        expected.stream().skip(common).forEach(line -> lines.add("- " + line));
        actual.stream().skip(common).forEach(line -> lines.add("+ " + line));
        return String.join("\n", lines);
    }
}
