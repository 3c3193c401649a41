package io.homeostat.reconcile.cli;

import com.google.common.base.Splitter;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** How much fits on the terminal. */
record TerminalSize(int rows, int columns) {
    private static final TerminalSize USUAL = new TerminalSize(24, 80);
    private static final long PATIENCE_MILLIS = 500;

    /** Asks stty(1): Java has no way of its own. */
    static TerminalSize ofControllingTerminal() throws InterruptedException {
        try {
            Process stty = new ProcessBuilder("stty", "size")
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
        List<String> words = Splitter.on(' ').omitEmptyStrings().splitToList(text.strip());
        try {
            TerminalSize size = new TerminalSize(Integer.parseInt(words.get(0)), Integer.parseInt(words.get(1)));
            return size.rows > 0 && size.columns > 0 ? size : USUAL;
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
            return USUAL;
        }
    }
}
