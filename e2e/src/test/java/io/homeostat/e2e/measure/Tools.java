package io.homeostat.e2e.measure;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;

/** Programs that a machine may have. */
public final class Tools {
    private static final Pattern SEPARATOR = Pattern.compile(Pattern.quote(File.pathSeparator));

    private Tools() {}

    /** Where a program is, by the caller's PATH. */
    public static Optional<Path> find(String name) {
        return SEPARATOR
                .splitAsStream(System.getenv().getOrDefault("PATH", ""))
                .filter(directory -> !directory.isEmpty())
                .map(directory -> Path.of(directory, name))
                .filter(Files::isExecutable)
                .findFirst();
    }
}
