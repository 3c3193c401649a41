package io.homeostat.reconcile.command.output;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableMap;
import io.homeostat.observe.process.Executables;
import io.homeostat.reconcile.command.environment.Environment;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** How much fits on the terminal. */
public record TerminalSize(int rows, int columns) {
    private static final TerminalSize USUAL = new TerminalSize(24, 80);
    private static final TerminalSize UNKNOWN = new TerminalSize(0, 0);
    private static final String LINES = "LINES";
    private static final String COLUMNS = "COLUMNS";
    private static final long PATIENCE_MILLIS = 500;

    /** LINES and COLUMNS (POSIX, Environment Variables) when both are set, else the controlling terminal's. */
    public static TerminalSize of(Environment environment) throws InterruptedException {
        TerminalSize told = parse(environment.variable(LINES) + " " + environment.variable(COLUMNS), UNKNOWN);
        return told.equals(UNKNOWN) ? ofControllingTerminal() : told;
    }

    /** The variables that {@link #of} reads. */
    public static ImmutableMap<String, String> variables(int rows, int columns) {
        return ImmutableMap.of(
                LINES,
                Integer.toString(rows > 0 ? rows : USUAL.rows),
                COLUMNS,
                Integer.toString(columns > 0 ? columns : USUAL.columns));
    }

    /** Asks stty(1): Java has no way of its own. */
    private static TerminalSize ofControllingTerminal() throws InterruptedException {
        try {
            Process stty = new ProcessBuilder(
                            Executables.find("stty").map(Path::toString).orElse("stty"), "size")
                    .redirectInput(new File("/dev/tty"))
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            if (!stty.waitFor(PATIENCE_MILLIS, TimeUnit.MILLISECONDS)) {
                stty.destroyForcibly();
                return USUAL;
            }
            return parse(new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII));
        } catch (IOException e) {
            return USUAL;
        }
    }

    static TerminalSize parse(String text) {
        return parse(text, USUAL);
    }

    private static TerminalSize parse(String text, TerminalSize otherwise) {
        List<String> words = Splitter.on(' ').omitEmptyStrings().splitToList(text.strip());
        try {
            TerminalSize size = new TerminalSize(Integer.parseInt(words.get(0)), Integer.parseInt(words.get(1)));
            return size.rows > 0 && size.columns > 0 ? size : otherwise;
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
            return otherwise;
        }
    }
}
