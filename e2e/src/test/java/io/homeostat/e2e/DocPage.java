package io.homeostat.e2e;

import com.google.common.base.CharMatcher;
import com.google.common.collect.ImmutableList;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A page of the documentation, as far as tests need it: fenced blocks, headings, links and code in sentences.
 *
 * @param file of the checkout
 */
record DocPage(
        Path file,
        ImmutableList<Block> blocks,
        ImmutableList<String> headings,
        ImmutableList<Link> links,
        ImmutableList<Code> code) {
    private static final Pattern FENCE =
            Pattern.compile("```\\s*(?<language>[a-z]*)(?:\\s+title=\"(?<title>[^\"]+)\")?\\s*");
    private static final Pattern HEADING = Pattern.compile("#{1,6} +(.*?)\\s*#*");
    private static final Pattern LINK = Pattern.compile("\\]\\((?<target>[^)\\s]+)(?:\\s+\"[^\"]*\")?\\)");
    private static final Pattern INLINE_CODE = Pattern.compile("`[^`]*`");

    /** It may go on in the next line. */
    private static final Pattern CODE = Pattern.compile("`([^`\n]+(?:\n[^`\n]+)?)`");

    /** Messages have a column of their own, which looks like commands and is none. */
    private static final Pattern MESSAGES = Pattern.compile("\\| Homeostat says \\|.*");

    /**
     * A fenced block.
     *
     * @param line of its fence, from 1
     * @param heading that it is below; empty when there is none
     * @param language empty when none is given
     * @param title the file that it is
     */
    record Block(int line, String heading, String language, Optional<String> title, ImmutableList<String> lines) {
        String text() {
            return lines.stream().map(line -> line + "\n").collect(Collectors.joining());
        }
    }

    /** Where a page leads to, and in which of its lines it does. */
    record Link(int line, String target) {}

    /** What stands between backquotes in a sentence or a table, and in which line it begins. */
    record Code(int line, String text) {}

    /** A command of a {@code console} block, with what it shows. */
    record Shown(int line, String command, ImmutableList<String> output) {}

    /** All pages below {@code docs/}, in the order of their names. */
    static List<DocPage> all() {
        return below("docs");
    }

    private static List<DocPage> below(String directory) {
        try (Stream<Path> files = Files.walk(Distribution.checkout().resolve(directory))) {
            return files.filter(file -> file.toString().endsWith(".md"))
                    .sorted(Comparator.comparing(Path::toString))
                    .map(DocPage::read)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What is held to the rules of the documentation: its pages, the README that leads to them, and those of the examples. */
    static List<DocPage> allWithReadmes() {
        return Stream.of(List.of(named("README.md")), all(), below("examples"))
                .flatMap(List::stream)
                .toList();
    }

    /** A page by its name from the checkout. */
    static DocPage named(String name) {
        return read(Distribution.checkout().resolve(name));
    }

    static DocPage read(Path file) {
        try {
            return parse(file, Files.readAllLines(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static DocPage parse(Path file, List<String> lines) {
        List<Block> blocks = new ArrayList<>();
        List<String> headings = new ArrayList<>();
        List<Link> links = new ArrayList<>();
        List<String> sentences = new ArrayList<>();
        boolean messages = false;
        String below = "";
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            Matcher fence = FENCE.matcher(line);
            if (line.startsWith("```")) {
                if (!fence.matches()) {
                    throw new IllegalArgumentException(
                            file + ":" + (i + 1) + ": no fence that tests understand: " + line);
                }
                int end = i + 1 + lines.subList(i + 1, lines.size()).indexOf("```");
                if (end == i) {
                    throw new IllegalArgumentException(file + ":" + (i + 1) + ": this block has no end");
                }
                blocks.add(new Block(
                        i + 1,
                        below,
                        fence.group("language"),
                        Optional.ofNullable(fence.group("title")),
                        ImmutableList.copyOf(lines.subList(i + 1, end))));
                sentences.addAll(Collections.nCopies(end + 1 - i, ""));
                i = end;
                continue;
            }
            messages = MESSAGES.matcher(line).matches() || messages && line.startsWith("|");
            sentences.add(messages ? line.replaceFirst("^\\|[^|]*", "") : line);
            Matcher heading = HEADING.matcher(line);
            if (heading.matches()) {
                below = heading.group(1);
                headings.add(slug(below));
            }
            int number = i + 1;
            LINK.matcher(INLINE_CODE.matcher(line).replaceAll(""))
                    .results()
                    .forEach(link -> links.add(new Link(number, link.group(1))));
        }
        return new DocPage(
                file,
                ImmutableList.copyOf(blocks),
                ImmutableList.copyOf(headings),
                ImmutableList.copyOf(links),
                code(String.join("\n", sentences)));
    }

    private static ImmutableList<Code> code(String sentences) {
        ImmutableList.Builder<Code> found = ImmutableList.builder();
        Matcher code = CODE.matcher(sentences);
        int line = 1;
        int counted = 0;
        while (code.find()) {
            line += CharMatcher.is('\n').countIn(sentences.substring(counted, code.start()));
            counted = code.start();
            found.add(new Code(line, code.group(1).replace('\n', ' ')));
        }
        return found.build();
    }

    /** The name of a heading in links, as forges and MkDocs make it; they agree where it has no sign between two spaces. */
    private static String slug(String heading) {
        return heading.replaceAll("\\[([^\\]]*)\\]\\([^)]*\\)", "$1")
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N}_ -]", "")
                .replace(' ', '-');
    }

    /** Its name from the checkout: {@code docs/operate.md}. */
    String name() {
        return Distribution.checkout().relativize(file).toString();
    }

    /** The first block that is the content of this file. */
    String fileShown(String title) {
        return blocks.stream()
                .filter(block -> block.title().equals(Optional.of(title)))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(name() + " does not show " + title))
                .text();
    }

    /** Whether a block has this program do something. */
    boolean starts(String program) {
        return blocks.stream()
                .filter(block -> block.language().equals("console"))
                .flatMap(block -> shown(block).stream())
                .anyMatch(shown -> shown.command().startsWith(program + " "));
    }

    /** The commands of a block with what they show; what stands before the first one is a mistake. */
    List<Shown> shown(Block block) {
        List<Shown> shown = new ArrayList<>();
        for (int i = 0; i < block.lines().size(); ) {
            int line = block.line() + 1 + i;
            String first = block.lines().get(i);
            if (!first.startsWith("$ ")) {
                throw new IllegalArgumentException(name() + ":" + line + ": output of no command: " + first);
            }
            StringBuilder command = new StringBuilder(first.substring(2));
            i++;
            for (; i < block.lines().size() && block.lines().get(i).startsWith("> "); i++) {
                command.append('\n').append(block.lines().get(i).substring(2));
            }
            int from = i;
            while (i < block.lines().size() && !block.lines().get(i).startsWith("$ ")) {
                i++;
            }
            shown.add(new Shown(line, command.toString(), block.lines().subList(from, i)));
        }
        return shown;
    }

    /** What this page says that no test sees, though tests have to: lines as {@code page:line: text}. */
    List<String> untested(Set<String> administration) {
        Pattern call = Pattern.compile("\\s*(?:\\$ )?(?:sudo )?\\S*\\bhomeostat(?: .*)?");
        return blocks.stream()
                .filter(block -> !block.language().equals("console")
                        && block.title().isEmpty()
                        && !PluginExamplesTest.runs(this, block)
                        && !UpgradeTest.runs(this, block))
                .flatMap(block -> Stream.iterate(0, i -> i < block.lines().size(), i -> i + 1)
                        .filter(i -> {
                            String line = block.lines().get(i);
                            boolean isCall = call.matcher(line).matches() || line.startsWith("$ ");
                            boolean isShell = Set.of("sh", "bash", "shell").contains(block.language());
                            return isCall
                                    || isShell
                                            && !line.isBlank()
                                            && !line.startsWith("#")
                                            && !administration.contains(line.split(" ", 2)[0]);
                        })
                        .map(i -> name() + ":" + (block.line() + 1 + i) + ": "
                                + block.lines().get(i)))
                .toList();
    }
}
