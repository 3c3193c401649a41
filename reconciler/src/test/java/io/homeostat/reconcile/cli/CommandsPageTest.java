package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.reconcile.cli.Syntax.Option;
import io.homeostat.reconcile.cli.Syntax.Parameter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** docs/commands.md has a row for each command, with the options and exit statuses that help tells of. */
class CommandsPageTest {
    private static final Pattern ROW = Pattern.compile("\\| `(?<call>[^`]+)` \\| .* \\| (?<status>[^|]+) \\|");
    private static final Pattern OPTION = Pattern.compile("(?<![\\w-])--?[a-z][a-z-]*");
    private static final Pattern NUMBER = Pattern.compile("(?<![\\w-])\\d+");
    private static final String EXIT_STATUS = "Exit status: ";

    private static List<Row> rows = ImmutableList.of();

    /**
     * What the page says of a command.
     *
     * @param call how it is typed
     * @param status its exit statuses, with what each of them means
     */
    private record Row(String call, String status) {
        String command() {
            return Splitter.on(' ').splitToList(call).getFirst();
        }
    }

    @BeforeAll
    static void read() throws IOException {
        rows = Files.readAllLines(Path.of("../docs/commands.md")).stream()
                .map(ROW::matcher)
                .filter(row -> row.matches())
                .map(row -> new Row(row.group("call"), row.group("status")))
                .toList();
    }

    static Stream<Verb> commands() {
        return Arrays.stream(Verb.values()).filter(verb -> !verb.hidden());
    }

    @Test
    void eachCommandHasItsRow() {
        assertEquals(
                commands().map(Verb::word).sorted().toList(),
                rows.stream().map(Row::command).sorted().toList());
    }

    @ParameterizedTest
    @MethodSource("commands")
    void aCallHasAllThatItsCommandTakesAndNothingElse(Verb verb) {
        String call = row(verb).call();
        ImmutableSet<String> everywhere = names(Syntax.root().options().stream());
        List<Option> own = Syntax.of(verb).options().stream()
                .filter(option -> option.names().stream().noneMatch(everywhere::contains))
                .toList();

        assertEquals(
                ImmutableList.of(),
                own.stream()
                        .filter(option -> option.names().stream()
                                .noneMatch(name -> shows(call, option.isFlag() ? name : name + " " + option.label())))
                        .toList(),
                call);
        assertEquals(
                ImmutableList.of(),
                Syntax.of(verb).parameters().stream()
                        .map(Parameter::label)
                        .filter(label -> !shows(call, label))
                        .toList(),
                call);
        Set<String> unknown = new TreeSet<>(
                OPTION.matcher(call).results().map(MatchResult::group).toList());
        unknown.removeAll(names(own.stream()));
        assertEquals(Set.of(), unknown, call);
    }

    private static ImmutableSet<String> names(Stream<Option> options) {
        return options.flatMap(option -> option.names().stream()).collect(ImmutableSet.toImmutableSet());
    }

    private static boolean shows(String call, String word) {
        return Pattern.compile("(?<![\\w-])" + Pattern.quote(word) + "(?![\\w-])")
                .matcher(call)
                .find();
    }

    @ParameterizedTest
    @MethodSource("commands")
    void exitStatusesAreThoseOfTheHelp(Verb verb) {
        Arrays.stream(verb.description())
                .filter(line -> line.startsWith(EXIT_STATUS))
                .forEach(line -> assertEquals(numbers(line), numbers(row(verb).status())));
    }

    private static ImmutableSortedSet<String> numbers(String text) {
        return NUMBER.matcher(text)
                .results()
                .map(MatchResult::group)
                .collect(ImmutableSortedSet.toImmutableSortedSet(String::compareTo));
    }

    private static Row row(Verb verb) {
        return rows.stream()
                .filter(row -> row.command().equals(verb.word()))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no row for " + verb.word()));
    }
}
