package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import com.google.common.collect.Streams;
import com.google.common.io.Resources;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.Explain;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ConfigFile;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * Says what may stand at the end of a command line. The scripts for shells ask for it at each TAB, so there is one rule for all of them:
 * what an option or parameter takes is told by its words or, when it has none, by its label. The answer is {@code :words}, followed by
 * them, each with its description after a tab, or {@code :files} or {@code :directories}, which a shell knows best itself.
 */
final class Completion {
    /** Shells for which there is a script. */
    static final ImmutableList<String> SHELLS = ImmutableList.of("bash", "zsh", "fish");

    /** What the scripts for bash and zsh have in common. */
    private static final String EXPAND = "completion.expand";

    private static final String WORDS = ":words";
    private static final String FILES = ":files";
    private static final String DIRECTORIES = ":directories";

    private final Environment environment;
    private final PrintStream out;

    /** The value of each option before the word to complete; that which is still to come is null. */
    private final Map<String, String> values = new HashMap<>();

    Completion(Environment environment, PrintStream out) {
        this.environment = environment;
        this.out = out;
    }

    /** @throws UsageException when there is none for this shell */
    static String script(String shell) {
        if (!SHELLS.contains(shell)) {
            throw new UsageException("there is no completion for '" + shell + "'; write " + String.join(", ", SHELLS));
        }
        return resource("completion." + shell).replace("#include " + EXPAND + "\n", resource(EXPAND));
    }

    private static String resource(String name) {
        try {
            return Resources.toString(Resources.getResource(Completion.class, name), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("the program is incomplete", e);
        }
    }

    /** @param words after the program's name; the last one, perhaps empty, is the one to complete */
    int complete(List<String> words) {
        List<String> before = words.isEmpty() ? words : words.subList(0, words.size() - 1);
        answer(before, Iterables.getLast(words, ""));
        return ExitStatus.OK;
    }

    private void answer(List<String> before, String current) {
        ImmutableSet<String> typed = ImmutableSet.copyOf(before);
        CommandSpec root =
                Usage.commandLine(verb -> typed.contains(verb.word())).getCommandSpec();
        CommandSpec spec = root;
        OptionSpec open = null;
        boolean more = false;
        int parameters = 0;
        for (String word : before) {
            if (open != null && (!more || !word.startsWith("-"))) {
                values.put(open.longestName(), word);
                more = open.arity().isVariable();
                open = more ? open : null;
            } else if (word.startsWith("-")) {
                open = takesValue(spec, word);
                more = false;
            } else if (spec.equals(root)) {
                if (!root.subcommands().containsKey(word)) {
                    return;
                }
                spec = root.subcommands().get(word).getCommandSpec();
            } else {
                parameters++;
            }
        }
        int equals = current.indexOf('=');
        if (open != null && (!more || !current.startsWith("-"))) {
            value(open, current);
        } else if (current.startsWith("--") && equals > 0) {
            OptionSpec option = spec.optionsMap().get(current.substring(0, equals));
            if (option != null) {
                value(option, current.substring(equals + 1));
            }
        } else if (current.startsWith("-")) {
            say(
                    current,
                    spec.options().stream().filter(option -> !option.hidden()),
                    OptionSpec::longestName,
                    ArgSpec::description);
        } else if (spec.equals(root)) {
            say(current, Arrays.stream(Verb.values()).filter(verb -> !verb.hidden()), Verb::word, Verb::description);
        } else {
            parameter(spec, parameters, current);
        }
    }

    /** The option that waits for the next word. */
    private @Nullable OptionSpec takesValue(CommandSpec spec, String word) {
        int equals = word.indexOf('=');
        OptionSpec option = spec.optionsMap().get(equals < 0 ? word : word.substring(0, equals));
        if (option == null || option.arity().max() == 0) {
            return null;
        }
        if (equals >= 0) {
            values.put(option.longestName(), word.substring(equals + 1));
            return null;
        }
        return option;
    }

    private void parameter(CommandSpec spec, int index, String current) {
        for (PositionalParamSpec parameter : spec.positionalParameters()) {
            if (parameter.index().contains(index)) {
                value(parameter, current);
                return;
            }
        }
    }

    private void value(ArgSpec argument, String current) {
        if (argument.completionCandidates() != null) {
            say(current, Streams.stream(argument.completionCandidates()), word -> word, word -> new String[0]);
            return;
        }
        switch (argument.paramLabel()) {
            case "PATH", "FILE", Usage.PROGRAM -> out.println(FILES);
            case "DIR" -> out.println(DIRECTORIES);
            case Syntax.WORKLOAD -> say(current, names().stream(), name -> name, name -> new String[0]);
            case Syntax.FIELD ->
                say(
                        current,
                        Stream.concat(
                                Explain.tops().stream(), names().stream().filter(name -> name.startsWith("driver/"))),
                        name -> name,
                        name -> new String[0]);
            case Syntax.PLUGIN ->
                say(
                        current,
                        names().stream().filter(name -> name.startsWith("plugin/")),
                        name -> name,
                        name -> new String[0]);
            default -> {
                // Only who types knows.
            }
        }
    }

    private <T> void say(String current, Stream<T> all, Function<T, String> word, Function<T, String[]> description) {
        out.println(WORDS);
        all.filter(one -> word.apply(one).startsWith(current)).forEach(one -> {
            String[] lines = description.apply(one);
            out.println(word.apply(one) + (lines.length == 0 ? "" : "\t" + lines[0]));
        });
    }

    /** Of what is declared or was launched here. Whoever has typed half a line wants no error messages. */
    private ImmutableList<String> names() {
        try {
            UserDirectories directories = new UserDirectories(environment);
            GlobalOptions typed = new GlobalOptions(
                    OutputFormat.TEXT, directory(Syntax.STATE_DIR), directory(Syntax.RUN_DIR), Optional.empty(), true);
            ConfigFile file = directories.configFile();
            Layout layout = directories.layout(typed, file, file.look());
            return StateStores.openForReading(layout).map(Completion::names).orElse(ImmutableList.of());
        } catch (CommandFailure | UsageException | StoreException | InvalidPathException e) {
            return ImmutableList.of();
        }
    }

    private static ImmutableList<String> names(StateReader reader) {
        try (StateReader open = reader) {
            return Stream.concat(
                            open.declarations().stream()
                                    .map(declaration -> declaration.workload().id()),
                            open.instances().stream().map(instance -> instance.workload()))
                    .map(Object::toString)
                    .distinct()
                    .sorted()
                    .collect(ImmutableList.toImmutableList());
        }
    }

    /** As typed: no shell has put the home directory for a tilde yet. */
    private Optional<String> directory(String option) {
        return Optional.ofNullable(values.get(option))
                .map(path -> path.startsWith("~/") ? environment.variable("HOME") + path.substring(1) : path);
    }
}
