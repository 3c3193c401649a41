package io.homeostat.mutation;

import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Names of tests for people. */
final class TestNames {

    private static final Pattern PART = Pattern.compile("\\[([a-z-]+):([^\\]]*)\\]");

    private TestNames() {}

    /** Turns an id of JUnit, such as {@code [engine:e]/[class:a.b.CTest]/[method:d()]}, into {@code CTest.d()}. */
    static String shorten(String id) {
        String name = PART.matcher(id)
                .results()
                .filter(part -> !part.group(1).equals("engine"))
                .map(TestNames::part)
                .collect(Collectors.joining("."));
        return name.isEmpty() ? id : name;
    }

    private static String part(MatchResult part) {
        String value = part.group(2);
        return part.group(1).equals("class") ? value.substring(value.lastIndexOf('.') + 1) : value;
    }
}
