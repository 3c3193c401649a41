package io.homeostat.observe.host;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.observe.Observation;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Which operating system this is, from the first of the two files of os-release(5) that exists. */
public final class OsRelease {
    private static final Pattern ASSIGNMENT = Pattern.compile("([A-Za-z_][A-Za-z0-9_]*)=(.*)");
    private static final Pattern ESCAPED = Pattern.compile("\\\\([\\\\\"$`'])");

    private final ImmutableList<Path> files;

    public OsRelease() {
        this(ImmutableList.of(Path.of("/etc/os-release"), Path.of("/usr/lib/os-release")));
    }

    OsRelease(ImmutableList<Path> files) {
        this.files = files;
    }

    /** All assignments in the file; none when there is no such file. */
    public Observation<ImmutableMap<String, String>> read() {
        for (Path file : files) {
            try {
                return Observation.seen(parse(Files.readAllBytes(file)));
            } catch (IOException e) {
                if (!(e instanceof NoSuchFileException)) {
                    return Observation.unseen(file + " can't be read: " + e.getMessage());
                }
            }
        }
        return Observation.seen(ImmutableMap.of());
    }

    private static ImmutableMap<String, String> parse(byte[] bytes) {
        Map<String, String> values = new LinkedHashMap<>();
        new String(bytes, StandardCharsets.UTF_8).lines().forEach(line -> {
            Matcher assignment = ASSIGNMENT.matcher(line.strip());
            if (assignment.matches()) {
                // As in a shell, the later of two assignments wins.
                values.put(assignment.group(1), unquoted(assignment.group(2)));
            }
        });
        return ImmutableMap.copyOf(values);
    }

    private static String unquoted(String value) {
        boolean quoted = value.length() >= 2
                && (value.charAt(0) == '"' || value.charAt(0) == '\'')
                && value.charAt(0) == value.charAt(value.length() - 1);
        if (!quoted) {
            return value;
        }
        String inside = value.substring(1, value.length() - 1);
        return value.charAt(0) == '\''
                ? inside
                : ESCAPED.matcher(inside).replaceAll(escaped -> Matcher.quoteReplacement(escaped.group(1)));
    }
}
