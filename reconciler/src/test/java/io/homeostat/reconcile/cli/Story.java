package io.homeostat.reconcile.cli;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A test of the command line written as text: what a user types, and what the user sees.
 *
 * @param file the file in {@code stories/} that contains the story, without its ending
 */
record Story(String file, String title, ImmutableList<Line> lines) {
    /**
     * A line of a story.
     *
     * @param mark what the line is for, by the characters that it begins with
     */
    record Line(String mark, String text) {
        boolean isCommand() {
            return mark.equals("$") || mark.equals("$$");
        }

        /** Whether it says what the last command has done, and not only what it has not. */
        boolean saysWhatIsSeen() {
            return SEEN.contains(mark)
                    || mark.equals("&")
                            && SEEN_BY.contains(
                                    Splitter.on(' ').split(text).iterator().next());
        }
    }

    private static final ImmutableSet<String> SEEN = ImmutableSet.of("=", ">", ":", "::", ":-", "~", "@");
    private static final ImmutableSet<String> SEEN_BY =
            ImmutableSet.of("same", "sameResult", "await", "remember", "save", "keep");

    Story {
        Line unseen = null;
        for (Line line : lines) {
            if (unseen != null && line.isCommand()) {
                break;
            }
            unseen = line.isCommand() ? line : line.saysWhatIsSeen() ? null : unseen;
        }
        if (unseen != null) {
            throw new IllegalArgumentException(file + ": " + title + ": " + unseen.mark() + " " + unseen.text()
                    + ": nothing is said of what it does; state at least its exit status");
        }
    }

    @Override
    public String toString() {
        return file + ": " + title;
    }

    /** Reads all stories below a directory. Lines before a file's first story begin each story of that file. */
    static ImmutableList<Story> in(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(".txt"))
                    .sorted()
                    .flatMap(file -> read(file).stream())
                    .collect(ImmutableList.toImmutableList());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Story> read(Path file) {
        String name = file.getFileName().toString().replace(".txt", "");
        List<Story> stories = new ArrayList<>();
        ImmutableList.Builder<Line> common = ImmutableList.builder();
        ImmutableList.Builder<Line> lines = common;
        String title = "";
        for (String text : lines(file)) {
            if (text.startsWith("== ")) {
                addTo(stories, name, title, lines);
                title = text.substring(3);
                lines = ImmutableList.<Line>builder().addAll(common.build());
            } else if (!text.isBlank() && !text.startsWith("#")) {
                lines.add(line(text));
            }
        }
        addTo(stories, name, title, lines);
        return stories;
    }

    private static void addTo(List<Story> stories, String file, String title, ImmutableList.Builder<Line> lines) {
        if (!title.isEmpty()) {
            stories.add(new Story(file, title, lines.build()));
        }
    }

    private static Line line(String text) {
        if (text.startsWith("[")) {
            return new Line("[", text.substring(1, text.indexOf(']')));
        }
        int end = text.indexOf(' ');
        return end < 0 ? new Line(text, "") : new Line(text.substring(0, end), text.substring(end + 1));
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
