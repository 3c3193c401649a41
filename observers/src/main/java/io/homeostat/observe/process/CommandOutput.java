package io.homeostat.observe.process;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.desired.model.VisibleText;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a short command prints, read while it is waited for, or it would stand still once its pipe is full; the end of it is kept. No thread
 * reads, and nothing is read that is not there yet: what the command leaves running may hold its output open for ever.
 */
public final class CommandOutput {
    private static final Duration LOOK = Duration.ofMillis(20);

    /** Far more than a pipe holds: what the command itself has printed is read before it is left. */
    private static final int MOST_READ_AT_ONCE = 1 << 20;

    private static final int KEPT = 4096;

    /** Of the beginning of a line: so much that a secret of which the part to be shown has the beginning is known as one. */
    private static final int BEGINNING_KEPT = 16_384;

    private static final int LINES_SHOWN = 3;
    private static final int CHARACTERS_SHOWN = 300;
    private static final String LEFT_OUT = "...";

    /**
     * Where a word begins, or a member of a JSON object, which may be written without spaces. Not at every comma and quote: they are in
     * passwords, too.
     */
    private static final Pattern BEGINNING = Pattern.compile("(?<=\\s)|(?=[,{]\"[A-Za-z0-9_.-]{1,40}\":)");

    private final byte[] end = new byte[KEPT];
    private long length;
    private final byte[] line = new byte[BEGINNING_KEPT];
    private int lineKept;
    private boolean lineEnded;

    /**
     * Reads until the command ends, and closes the pipe. What it has started is left as it is.
     *
     * @return whether it ended in time
     */
    public boolean awaitEnd(Process process, Duration timeout) throws IOException, InterruptedException {
        Ticker ticker = Ticker.systemTicker();
        long start = ticker.read();
        byte[] buffer = new byte[1 << 14];
        InputStream out = process.getInputStream();
        // At the end of a process the JVM reads what is left, without a bound; it waits for this lock, and then finds
        // the pipe closed.
        synchronized (out) {
            try (out) {
                Duration look = LOOK;
                while (true) {
                    long left = timeout.toNanos() - (ticker.read() - start);
                    boolean ended = process.waitFor(Duration.ofNanos(Math.clamp(left, 0, look.toNanos())));
                    int read = 0;
                    while (read < MOST_READ_AT_ONCE && out.available() > 0) {
                        int count = out.read(buffer);
                        keep(buffer, count);
                        read += count;
                    }
                    // Who prints much stands still until its pipe is read again.
                    look = read > 0 ? Duration.ZERO : LOOK;
                    if (ended || left <= 0) {
                        return ended;
                    }
                }
            }
        }
    }

    /** Kills a command, if it lives, and what it has started. What an ended one has left running can't be found through it. */
    public static void kill(Process process) {
        // To look for children is to look at all processes of the machine.
        if (process.isAlive()) {
            // Children first, because they are found through their parent.
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    private void keep(byte[] bytes, int count) {
        for (int i = 0; i < count; i++) {
            end[(int) (length++ % KEPT)] = bytes[i];
            keepLine(bytes[i]);
        }
    }

    private void keepLine(byte next) {
        if (next == '\n') {
            lineEnded = true;
            return;
        }
        if (lineEnded) {
            lineKept = 0;
            lineEnded = false;
        }
        if (lineKept < BEGINNING_KEPT) {
            line[lineKept++] = next;
        }
    }

    /**
     * The same without its secrets, which are looked for before anything is cut: of a word that is longer than all that is shown, the
     * beginning is left.
     */
    public String lastLines(UnaryOperator<String> masked) {
        String words = shortened(masked.apply(words()));
        if (!words.equals(LEFT_OUT)) {
            return words;
        }
        String beginning = masked.apply(harmless(new String(line, 0, lineKept, StandardCharsets.UTF_8)));
        return beginning.length() <= CHARACTERS_SHOWN ? beginning : beginning.substring(0, CHARACTERS_SHOWN) + LEFT_OUT;
    }

    /** The same of what was read elsewhere. */
    public static String lastLines(byte[] said, UnaryOperator<String> masked) {
        CommandOutput output = new CommandOutput();
        output.keep(said, said.length);
        return output.lastLines(masked);
    }

    /** The last lines in one, not much longer than a sentence, without words that would be cut; empty when nothing was said. */
    public String lastLines() {
        return shortened(words());
    }

    private String words() {
        int kept = (int) Math.min(length, KEPT);
        byte[] bytes = new byte[kept];
        for (int i = 0; i < kept; i++) {
            bytes[i] = end[(int) ((length - kept + i) % KEPT)];
        }
        String text = new String(bytes, StandardCharsets.UTF_8);
        List<String> lines = (kept < length ? LEFT_OUT + fromNextWord(text, 1) : text)
                .lines()
                .map(CommandOutput::harmless)
                .filter(words -> !words.isEmpty())
                .toList();
        return String.join(" | ", lines.subList(Math.max(0, lines.size() - LINES_SHOWN), lines.size()));
    }

    private static String harmless(String words) {
        return VisibleText.line(words).strip();
    }

    private static String shortened(String words) {
        return words.length() <= CHARACTERS_SHOWN
                ? words
                : LEFT_OUT + fromNextWord(words, words.length() - CHARACTERS_SHOWN);
    }

    /** Without the rest of a word that is cut: a part of a secret could not be told as one, and masked. */
    private static String fromNextWord(String text, int from) {
        Matcher beginning = BEGINNING.matcher(text).region(from, text.length()).useTransparentBounds(true);
        return beginning.find() ? text.substring(beginning.start()) : "";
    }
}
