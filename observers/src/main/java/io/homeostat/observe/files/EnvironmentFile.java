package io.homeostat.observe.files;

import com.google.common.base.CharMatcher;
import com.google.common.collect.ImmutableMap;
import io.homeostat.observe.process.ProgramVariable;
import io.homeostat.observe.process.SystemCharset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The variables of a file with a {@code KEY=VALUE} on each line. Blank lines and those that begin with # or ; say nothing. Spaces around
 * key and value don't count. A value may be in single quotes, in which all is as it stands, or in double quotes, in which a backslash takes
 * the meaning of ", \, $ and `. Nothing is expanded. Of two values the later one counts.
 *
 * @param problem the mistakes, the first few of many, as a sentence that names their lines and quotes no value; empty when there is none
 */
public record EnvironmentFile(ImmutableMap<String, String> variables, Optional<String> problem) {
    private static final CharMatcher SPACE = CharMatcher.anyOf(" \t\r");

    /** So many mistakes are told at once. */
    private static final int TOLD = 5;

    private static final String ESCAPED = "\"\\$`";

    /** A line that can't be read. Its message is a sentence that quotes no value. */
    private static final class MalformedLine extends Exception {
        private static final long serialVersionUID = 1;

        MalformedLine(String message) {
            super(message);
        }
    }

    public static EnvironmentFile of(byte[] bytes) {
        Optional<String> text = FileText.of(bytes);
        if (text.isEmpty()) {
            return malformed(FileText.NOT_UTF_8);
        }
        Map<String, String> variables = new LinkedHashMap<>();
        List<String> lines = text.get().lines().toList();
        List<String> mistakes = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            try {
                read(SPACE.trimFrom(lines.get(i)), variables);
            } catch (MalformedLine e) {
                mistakes.add("line " + (i + 1) + " of it can't be read: " + e.getMessage());
            }
        }
        return mistakes.isEmpty()
                ? new EnvironmentFile(ImmutableMap.copyOf(variables), Optional.empty())
                : malformed(String.join("; ", mistakes.subList(0, Math.min(mistakes.size(), TOLD)))
                        + (mistakes.size() > TOLD ? "; and " + (mistakes.size() - TOLD) + " more lines" : ""));
    }

    private static EnvironmentFile malformed(String problem) {
        return new EnvironmentFile(ImmutableMap.of(), Optional.of(problem));
    }

    private static void read(String line, Map<String, String> variables) throws MalformedLine {
        if (line.isEmpty() || line.startsWith("#") || line.startsWith(";")) {
            return;
        }
        int equals = line.indexOf('=');
        if (equals < 0) {
            throw new MalformedLine("it has no '='; write KEY=VALUE");
        }
        String name = SPACE.trimTrailingFrom(line.substring(0, equals));
        if (name.startsWith("export ")) {
            throw new MalformedLine("no shell reads it; leave out 'export'");
        }
        // What is before the '=' of a wrong line may be the half of a secret, so it is not quoted.
        if (!ProgramVariable.isName(name)) {
            throw new MalformedLine("what is before the '=' is not the name of an environment variable;"
                    + " letters, digits and '_' are possible");
        }
        Optional<String> misnamed = ProgramVariable.problemOfName(name);
        if (misnamed.isPresent()) {
            throw new MalformedLine(misnamed.get());
        }
        String value = value(SPACE.trimLeadingFrom(line.substring(equals + 1)));
        Optional<String> wrong = ProgramVariable.problemOfValue(name, value).or(() -> SystemCharset.problem(value));
        if (wrong.isPresent()) {
            throw new MalformedLine("the value of " + name + " " + wrong.get());
        }
        variables.put(name, value);
    }

    private static String value(String text) throws MalformedLine {
        if (!text.startsWith("'") && !text.startsWith("\"")) {
            return text;
        }
        char quote = text.charAt(0);
        StringBuilder value = new StringBuilder(text.length());
        for (int i = 1; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == quote) {
                if (i < text.length() - 1) {
                    throw new MalformedLine("there is something after the closing " + quote);
                }
                return value.toString();
            }
            boolean escapes = c == '\\' && quote == '"' && i + 1 < text.length();
            if (escapes && ESCAPED.indexOf(text.charAt(i + 1)) >= 0) {
                i++;
                value.append(text.charAt(i));
            } else {
                value.append(c);
            }
        }
        throw new MalformedLine("the closing " + quote + " is missing");
    }

    /** Without the values, which may be secret. */
    @Override
    public String toString() {
        return "EnvironmentFile" + variables.keySet() + problem;
    }
}
