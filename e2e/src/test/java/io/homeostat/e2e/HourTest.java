package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * An hour with Homeostat as a script: mistakes that people make and tasks that they have, each with what they should see. The stories
 * are in {@code hour/*.txt}, where their form is explained. {@code -Dstory=WORDS} plays those with these words in their titles.
 */
final class HourTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    /** What a story's line asks for, by its first character. */
    private record Line(char mark, String text) {}

    private record Story(String title, List<Line> lines) {
        @Override
        public String toString() {
            return title;
        }
    }

    static Stream<Story> mistakes() {
        return stories("mistakes.txt");
    }

    static Stream<Story> tasks() {
        return stories("tasks.txt");
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource
    void mistakes(Story story) throws IOException, InterruptedException {
        play(story);
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource
    void tasks(Story story) throws IOException, InterruptedException {
        play(story);
    }

    private void play(Story story) throws IOException, InterruptedException {
        @Nullable Result last = null;
        Path file = homeostat.directory();
        for (Line line : story.lines()) {
            switch (line.mark()) {
                case '[' -> {
                    file = homeostat.directory().resolve(line.text().replace("]", ""));
                    Files.createDirectories(Objects.requireNonNull(file.getParent()));
                    Files.writeString(file, "");
                }
                case '|' -> Files.writeString(file, Files.readString(file) + line.text() + "\n");
                case '%' -> shell(line.text());
                case '$' -> last = run(line.text());
                case '=' -> said(last).exits(Integer.parseInt(line.text()));
                case '>' -> requireShown(said(last), line.text());
                case '!' -> said(last).doesNotSay(line.text());
                default -> fail("a line of " + story + " begins with " + line.mark());
            }
        }
    }

    private static Result said(@Nullable Result last) {
        return Objects.requireNonNull(last, "a story begins with a command");
    }

    /** As somebody sees it who is in the test's directory, whatever the columns of tables. */
    private void requireShown(Result last, String words) {
        String shown = (last.out() + last.err())
                .replace(homeostat.directory() + "/", "")
                .replaceAll(" +", " ");
        assertTrue(shown.contains(words), () -> "'" + words + "' is missing: " + last);
    }

    private Result run(String typed) {
        String[] words = typed.split(" ", -1);
        for (int i = 1; i < words.length; i++) {
            boolean isFile = words[i - 1].equals("-f")
                    && !words[0].equals("logs")
                    && !words[i].equals("-")
                    && !words[i].contains("://");
            words[i] = isFile ? homeostat.directory().resolve(words[i]).toString() : words[i].replace('\u00a0', ' ');
        }
        // Nobody is shown a stack trace.
        return homeostat.run(words).doesNotSay("\tat ").doesNotSay("Exception:");
    }

    private void shell(String script) throws IOException, InterruptedException {
        Process shell = new ProcessBuilder("/bin/sh", "-euc", script)
                .directory(homeostat.directory().toFile())
                .redirectErrorStream(true)
                .start();
        String said = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(shell.waitFor(Patience.LONGEST.toSeconds(), TimeUnit.SECONDS), script);
        assertEquals(0, shell.exitValue(), () -> script + "\n" + said);
    }

    private static Stream<Story> stories(String name) {
        List<Story> stories = new ArrayList<>();
        for (String line : text(name).lines().toList()) {
            if (line.startsWith("== ")) {
                stories.add(new Story(line.substring(3), new ArrayList<>()));
            } else if (!line.isBlank() && !line.startsWith("#")) {
                String rest = line.substring(1);
                stories.getLast()
                        .lines()
                        .add(new Line(line.charAt(0), rest.startsWith(" ") ? rest.substring(1) : rest));
            }
        }
        String wanted = System.getProperty("story", "");
        return stories.stream().filter(story -> story.title().contains(wanted));
    }

    private static String text(String name) {
        try (InputStream in = HourTest.class.getResourceAsStream("/hour/" + name)) {
            return new String(Objects.requireNonNull(in, name).readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
