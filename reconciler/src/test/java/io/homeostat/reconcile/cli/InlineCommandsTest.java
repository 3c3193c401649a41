package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.proto.agent.CommandRequest.CommandCase;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.ParameterException;

/**
 * Commands in sentences and tables of the documentation are such as the program takes. Those in blocks are run by tests of the built
 * program; the grammar of docs/commands.md is held to by {@link CommandsPageTest}.
 */
class InlineCommandsTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern FENCED = Pattern.compile("^```.*?^```$", Pattern.DOTALL | Pattern.MULTILINE);

    /** It may go on in the next line. */
    private static final Pattern CODE = Pattern.compile("`([^`\n]+(?:\n[^`\n]+)?)`");

    /** By the program's name, whatever stands before and after it. */
    private static final Pattern CALL = Pattern.compile("(?:^|.*[ (])(?:\\./)?homeostat (?<words>[^|()]+).*");

    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|(\\S+)");

    /** What words in capitals stand for; those that are not here are texts, and any text will do. */
    private static final ImmutableMap<String, String> PLACEHOLDERS = ImmutableMap.<String, String>builder()
            .put("KIND/NAME", "process/web")
            .put("plugin/NAME", "plugin/web")
            .put("FILE", "examples/quickstart/homeostat.yaml")
            .put("PATH", "examples/quickstart/homeostat.yaml")
            .put("DIR", "examples/quickstart")
            .put("COMMAND", "plan")
            .put("EVENT", "startup")
            .put("NUMBER", "1")
            .put("N", "1")
            .put("SHELL", "bash")
            .put("SIGNAL", "HUP")
            .buildOrThrow();

    /** Inline code, and where it begins. */
    private record Code(String place, String text) {}

    static Stream<Path> pages() throws IOException {
        try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"));
                Stream<Path> examples = Files.walk(ROOT.resolve("examples"))) {
            return Stream.of(Stream.of(ROOT.resolve("README.md")), docs, examples)
                    .flatMap(files -> files)
                    .filter(file -> file.toString().endsWith(".md"))
                    .map(ROOT::relativize)
                    .toList()
                    .stream();
        }
    }

    @ParameterizedTest
    @MethodSource("pages")
    void aCommandInASentenceIsOneThatTheProgramTakes(Path page) throws IOException {
        assertEquals(List.of(), mistakes(page, Files.readString(ROOT.resolve(page))));
    }

    @Test
    void thereAreSuchCommands() throws IOException {
        long calls = 0;
        for (Path page : pages().toList()) {
            calls += code(page, Files.readString(ROOT.resolve(page)))
                    .filter(code -> words(code.text()).isPresent())
                    .count();
        }
        assertTrue(calls > 80, calls + " commands");
    }

    @Test
    void whatTheProgramDoesNotTakeIsNamedWithItsPlace() {
        String page = """
                Try `homeostat plan -f FILE --prune`, or
                ```sh
                homeostat plan --in-a-block
                ```
                | `./homeostat plan --no-such-option` | as `source <(homeostat
                frobnicate bash)` |
                """;

        assertEquals(
                List.of(
                        "docs/a.md:5: './homeostat plan --no-such-option': Unknown option: '--no-such-option'",
                        "docs/a.md:5: 'source <(homeostat frobnicate bash)': 'frobnicate' is no command"),
                mistakes(Path.of("docs/a.md"), page));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "homeostat rolback",
                "homeostat self-train",
                "homeostat plan -f",
                "homeostat plan -f no-such-file.yaml",
                "homeostat status KIND/NAME --tail 3",
                "homeostat rollback process/web --to",
                "homeostat logs process/web --tail many",
                "homeostat pause process/web",
                "homeostat stop --timeout soon process/web",
                "homeostat stop web",
                "homeostat bundle --key FILE",
                "homeostat help rolback",
                "ssh HOST homeostat ui --close",
                "logs process/web --head 3"
            })
    void aMistakeIsFound(String text) {
        assertEquals(1, mistakes(Path.of("docs/a.md"), "`" + text + "`").size());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "homeostat rollback",
                "homeostat rollback process/web --to 1",
                "homeostat help COMMAND",
                "homeostat pause KIND/NAME --reason \"new disk\"",
                "exec -it task/clock -- sh",
                "./homeostat apply -f examples/quickstart --prune",
                "source <(homeostat completion bash)",
                "homeostat completion fish | source",
                "homeostat:latest",
                "status",
                "state: running"
            })
    void whatIsRightOrNoCommandIsNoMistake(String text) {
        assertEquals(List.of(), mistakes(Path.of("docs/a.md"), "`" + text + "`"));
    }

    private static List<String> mistakes(Path page, String text) {
        return code(page, text)
                .flatMap(code -> words(code.text())
                        .flatMap(InlineCommandsTest::mistake)
                        .map(mistake -> code.place() + ": '" + code.text() + "': " + mistake)
                        .stream())
                .toList();
    }

    private static Stream<Code> code(Path page, String text) {
        // As many lines as before.
        String sentences = FENCED.matcher(text)
                .replaceAll(block -> "\n".repeat((int)
                        block.group().chars().filter(c -> c == '\n').count()));
        return CODE.matcher(sentences)
                .results()
                .map(code -> new Code(
                        page + ":"
                                + (1
                                        + sentences
                                                .substring(0, code.start())
                                                .chars()
                                                .filter(c -> c == '\n')
                                                .count()),
                        code.group(1).replace('\n', ' ')));
    }

    /**
     * What is typed after the program's name, which sentences may leave out before a command and more. A command's grammar, and
     * settings of others ({@code restart = true}), are no calls.
     */
    private static Optional<ImmutableList<String>> words(String code) {
        Matcher call = CALL.matcher(code);
        if (call.matches()) {
            return Optional.of(split(call.group("words")));
        }
        ImmutableList<String> words = split(code);
        boolean isNoCall = code.contains("[") || code.contains("\\|") || code.contains(" = ");
        return words.size() > 1 && Verb.of(words.getFirst()).isPresent() && !isNoCall
                ? Optional.of(words)
                : Optional.empty();
    }

    private static ImmutableList<String> split(String line) {
        return WORD.matcher(line)
                .results()
                .map(word -> word.group(1) == null ? word.group(2) : word.group(1))
                .map(word -> word.endsWith("...") ? word.substring(0, word.length() - 3) : word)
                .map(word -> PLACEHOLDERS.getOrDefault(word, word))
                .map(word -> word.startsWith("examples/") ? ROOT.resolve(word).toString() : word)
                .collect(ImmutableList.toImmutableList());
    }

    /** What the program has to say to these words, which it reads and does not carry out. */
    private static Optional<String> mistake(ImmutableList<String> words) {
        boolean asksForHelp = words.getFirst().equals("help");
        ImmutableList<String> command = asksForHelp ? words.subList(1, words.size()) : words;
        Verb verb = Verb.of(command.getFirst()).filter(one -> !one.hidden()).orElse(null);
        if (verb == null) {
            return Optional.of("'" + command.getFirst() + "' is no command");
        }
        if (command.size() == 1) {
            // A sentence speaks of it, whatever else it takes.
            return Optional.empty();
        }
        try {
            Invocation invocation = new Shell(ROOT).atKeyboard("").invocation(command.toArray(String[]::new));
            if (isAskedOfAgents(verb)) {
                verb.typed(invocation);
            }
            return Optional.empty();
        } catch (ParameterException e) {
            return Optional.of(Usage.words(e));
        } catch (UsageException | CommandFailure e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /** All others look at what was typed only while they run. */
    private static boolean isAskedOfAgents(Verb verb) {
        return verb == Verb.DIFF
                || Arrays.stream(CommandCase.values())
                        .anyMatch(asked -> asked.name().equals(verb.name()));
    }
}
